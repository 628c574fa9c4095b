import CCurl
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What curl knows about a transfer that failed, in curl's own terms.
struct CurlFailure {
  var code: CURLcode
  /// The `errno` of a failed connect; 0: none.
  var systemError: Int
  /// The status of a proxy's answer to `CONNECT`; 0: there was none.
  var connectStatus: Int
  /// Whether a proxy was to be used.
  var throughProxy: Bool
  /// Whether this process had no descriptor left when it failed.
  var isOutOfDescriptors: Bool
  /// Curl's own words.
  var detail: String
  /// Where the authorities that are trusted stand, or could stand.
  var authorities: String

  /// The same for people: kind and one line.
  func error(for origin: Origin) -> UpstreamError {
    let (kind, what, next) = explanation
    // Curl passes on what others sent: keep it to one line.
    let words = String(decoding: detail.utf8.map { $0 < 0x20 ? 0x20 : $0 }, as: UTF8.self)
    let suffix = words.isEmpty ? "" : " (\(words))"
    return UpstreamError(kind: kind, message: "\(origin) \(what)\(suffix): \(next)")
  }

  private var explanation: (UpstreamError.Kind, what: String, next: String) {
    if connectStatus >= 300 {
      return (.proxy, "is kept from us by the proxy's \(connectStatus)", "look at the proxy variables and no_proxy")
    }
    if isOutOfDescriptors {
      return (
        .outOfDescriptors, "cannot be reached: this process has no file descriptor left",
        "raise the limit of open files ('ulimit -n')"
      )
    }
    switch code {
    case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY:
      return (.proxy, "cannot be reached through the proxy", "look at the proxy variables and no_proxy")
    case CURLE_COULDNT_RESOLVE_HOST:
      return (.unresolved, "has no address", "check the host's name and this machine's DNS")
    case CURLE_COULDNT_CONNECT where throughProxy:
      return (.proxy, "cannot be reached through the proxy", "look at the proxy variables and no_proxy")
    case CURLE_COULDNT_CONNECT:
      switch Int32(systemError) {
      case ECONNREFUSED: return (.refused, "refused the connection", "start the upstream or correct its address")
      case ETIMEDOUT: return (.timedOut, "did not answer", "check the address and the network")
      default: return (.unreachable, "cannot be reached", "check the address and the network")
      }
    case CURLE_OPERATION_TIMEDOUT:
      return (.timedOut, "did not accept a connection in time", "check the address and the network, or allow more")
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED,
      CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_CRL_BADFILE, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
      CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED:
      return (.tls, "failed at TLS", tlsAdvice)
    case CURLE_RECV_ERROR where detail.contains(" alert "), CURLE_SEND_ERROR where detail.contains(" alert "):
      // With TLS 1.3 a server looks at the client's certificate when the connection stands already.
      return (.tls, "failed at TLS", tlsAdvice)
    case CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_SEND_FAIL_REWIND,
      CURLE_HTTP2, CURLE_HTTP2_STREAM:
      return (.cut, "cut the connection before the end of its answer", "look into the upstream's own log")
    case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING:
      return (.other, "does not answer with HTTP", "correct its address or scheme")
    case CURLE_OUT_OF_MEMORY:
      return (
        .other, "cannot be answered for want of memory, or answers with a head of more than 100 KB",
        "end something, or make the head shorter"
      )
    case CURLE_BAD_FUNCTION_ARGUMENT:
      // All arguments are ours but one: a line of the head that curl was to keep as a field (RFC 9112, 2.2).
      return (.other, "answers with a head that is no HTTP", "see that none of its lines lacks a name")
    default:
      return (.other, "failed", "see curl's error \(code.rawValue) in libcurl-errors(3)")
    }
  }

  private var tlsAdvice: String {
    if code == CURLE_SSL_CACERT_BADFILE {
      return "\(authorities) cannot be read as certificates: name a file that has them in PEM"
    }
    if code == CURLE_SSL_CERTPROBLEM {
      return "mend the client certificate or its key, which has to be without a password"
    }
    if ["certificate required", "handshake failure", "bad certificate", "unknown ca"].contains(where: detail.contains) {
      return "give the upstream the client certificate that it asks for"
    }
    if detail.contains("wrong version number") { return "correct the scheme: no TLS is spoken there" }
    return "add its authority to \(authorities), or give the upstream one of its own (ca), or correct the scheme"
  }
}
