import CCurl
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// An upstream's failure to deliver a complete response, described in one line.
package struct UpstreamError: Error, CustomStringConvertible {
  /// The cause, as far as callers need to distinguish it.
  package enum Kind: Sendable, Equatable {
    /// The host name cannot be resolved.
    case unresolved
    /// The connection was refused.
    case refused
    /// The host cannot be reached.
    case unreachable
    /// No connection within `connectSeconds`, or no data for `stallSeconds`.
    case timedOut
    /// TLS failed, for example because of an untrusted certificate.
    case tls
    /// The connection ended before the response was complete.
    case cut
    /// The proxy configured in the environment failed or refused.
    case proxy
    /// This process has no file descriptors left.
    case outOfDescriptors
    /// Other errors: an invalid request, a response that is not HTTP, a client that was shut down.
    case other
  }

  /// The cause.
  package let kind: Kind
  /// The message to show.
  package let message: String

  /// - Parameters:
  ///   - kind: the cause.
  ///   - message: what happened, where, and what to do next, in one line.
  package init(kind: Kind, message: String) {
    self.kind = kind
    self.message = message
  }

  package var description: String { message }

  static func shutDown(_ origin: Origin) -> UpstreamError {
    UpstreamError(kind: .other, message: "\(origin): the client has been shut down: create a new one")
  }

  static func stalled(_ origin: Origin, after nanoseconds: UInt64) -> UpstreamError {
    let seconds = Double(nanoseconds / 1_000_000) / 1000
    return UpstreamError(
      kind: .timedOut,
      message: "\(origin) transferred no data for \(seconds) s: check why it hangs, or raise the timeout")
  }

  static func cut(_ origin: Origin, _ detail: String = "") -> UpstreamError {
    let suffix = detail.isEmpty ? "" : " (\(detail))"
    return UpstreamError(
      kind: .cut,
      message: "\(origin) closed the connection before the end of its response\(suffix): check the upstream's log")
  }

  static func invalid(_ origin: Origin, _ what: String) -> UpstreamError {
    UpstreamError(kind: .other, message: "\(origin): \(what): correct the request")
  }
}

/// The details of a failed transfer, in curl's terms.
struct CurlFailure {
  var code: CURLcode
  /// The `errno` of a failed connect; 0 if none.
  var systemError: Int
  /// The status of a proxy's response to `CONNECT`; 0 if none.
  var connectStatus: Int
  /// Whether a proxy was used.
  var throughProxy: Bool
  /// Whether this process had no descriptors left.
  var isOutOfDescriptors: Bool
  /// Curl's error message.
  var detail: String
  /// Where trusted authorities are, or could be, stored.
  var authorities: String

  /// The error to report.
  func error(for origin: Origin) -> UpstreamError {
    let (kind, what, next) = explanation
    // Curl's message may contain text from the upstream: keep it to one line.
    let words = String(decoding: detail.utf8.map { $0 < 0x20 ? 0x20 : $0 }, as: UTF8.self)
    let suffix = words.isEmpty ? "" : " (\(words))"
    return UpstreamError(kind: kind, message: "\(origin) \(what)\(suffix): \(next)")
  }

  private var explanation: (UpstreamError.Kind, what: String, next: String) {
    if connectStatus >= 300 {
      return (.proxy, "is blocked by the proxy with status \(connectStatus)", "check the proxy variables and no_proxy")
    }
    if isOutOfDescriptors {
      return (
        .outOfDescriptors, "cannot be reached: this process has no file descriptors left",
        "raise the limit of open files ('ulimit -n')"
      )
    }
    switch code {
    case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY:
      return (.proxy, "cannot be reached through the proxy", "check the proxy variables and no_proxy")
    case CURLE_COULDNT_RESOLVE_HOST:
      return (.unresolved, "has no address", "check the host's name and this machine's DNS")
    case CURLE_COULDNT_CONNECT where throughProxy:
      return (.proxy, "cannot be reached through the proxy", "check the proxy variables and no_proxy")
    case CURLE_COULDNT_CONNECT:
      switch Int32(systemError) {
      case ECONNREFUSED: return (.refused, "refused the connection", "start the upstream or correct its address")
      case ETIMEDOUT: return (.timedOut, "did not answer", "check the address and the network")
      default: return (.unreachable, "cannot be reached", "check the address and the network")
      }
    case CURLE_OPERATION_TIMEDOUT:
      return (.timedOut, "did not accept a connection in time", "check address and network, or raise the timeout")
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED,
      CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_CRL_BADFILE, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
      CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED:
      return (.tls, "failed at TLS", tlsAdvice)
    case CURLE_RECV_ERROR where detail.contains(" alert "), CURLE_SEND_ERROR where detail.contains(" alert "):
      // With TLS 1.3, a server checks the client's certificate after the handshake is complete for the client.
      return (.tls, "failed at TLS", tlsAdvice)
    case CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_SEND_FAIL_REWIND:
      return (.cut, "closed the connection before the end of its response", "check the upstream's log")
    case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING:
      return (.other, "does not answer with HTTP", "correct its address or scheme")
    case CURLE_OUT_OF_MEMORY:
      return (
        .other, "failed because of memory shortage or a response head of more than 100 KB",
        "free memory, or shorten the head"
      )
    case CURLE_BAD_FUNCTION_ARGUMENT:
      // All arguments are ours, except a line of the head that curl was to parse as a field (RFC 9112, 2.2).
      return (.other, "sent a response head that is not HTTP", "check that every line has a name")
    default:
      return (.other, "failed", "see curl's error \(code.rawValue) in libcurl-errors(3)")
    }
  }

  private var tlsAdvice: String {
    if code == CURLE_SSL_CACERT_BADFILE {
      return "\(authorities) cannot be read as certificates: use a PEM file"
    }
    if code == CURLE_SSL_CERTPROBLEM {
      return "fix the client certificate or its key, which must not have a password"
    }
    if ["certificate required", "handshake failure", "bad certificate", "unknown ca"].contains(where: detail.contains) {
      return "configure the client certificate that the upstream requires"
    }
    if detail.contains("wrong version number") { return "correct the scheme: the port does not use TLS" }
    return "add its authority to \(authorities), or set a CA for this upstream (ca), or correct the scheme"
  }
}
