#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A configuration with the environment's variables resolved: read once, since `getenv` is no friend of threads, and
/// handed to curl so that it looks up nothing itself.
struct Settings: Sendable {
  let connectMilliseconds: Int
  let stallNanoseconds: UInt64
  /// The proxies' URLs; empty: none.
  let httpProxy: String
  let httpsProxy: String
  let noProxy: String
  let authoritiesFile: String?
  let authoritiesFolder: String?
  /// Where a person would add an authority.
  let authoritiesPlace: String
  let unixSocket: String?

  init(_ configuration: HTTPClient.Configuration) {
    let lookUp: (String) -> String? = { name in
      let value = configuration.environment.map { $0[name] } ?? getenv(name).map { String(cString: $0) }
      return value.flatMap { $0.isEmpty ? nil : $0 }
    }
    let first: ([String]) -> String = { names in names.lazy.compactMap(lookUp).first ?? "" }
    // In curl's order; HTTP_PROXY is left out on purpose, since a CGI server sets it from a request's header
    // (curl's manual, "Environment").
    httpProxy = first(["http_proxy", "all_proxy", "ALL_PROXY"])
    httpsProxy = first(["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])
    noProxy = first(["no_proxy", "NO_PROXY"])
    // Libcurl knows none of these; this is the order of the command curl.
    if let file = configuration.certificateAuthorities ?? lookUp("CURL_CA_BUNDLE") {
      authoritiesFile = file
      authoritiesFolder = nil
      authoritiesPlace = configuration.certificateAuthorities == nil ? "\(file), which CURL_CA_BUNDLE names" : file
    } else {
      authoritiesPlace =
        lookUp("SSL_CERT_FILE").map { "\($0), which SSL_CERT_FILE names" } ?? "a file that SSL_CERT_FILE names"
      authoritiesFile = lookUp("SSL_CERT_FILE")
      authoritiesFolder = lookUp("SSL_CERT_DIR")
    }
    unixSocket = configuration.unixSocket
    connectMilliseconds = Int(Self.sensible(configuration.connectSeconds) * 1000)
    stallNanoseconds = UInt64(Self.sensible(configuration.stallSeconds) * 1e9)
  }

  /// The proxy for a scheme; empty: none.
  func proxy(for scheme: String) -> String {
    scheme == "https" ? httpsProxy : httpProxy
  }

  /// A millisecond to about eleven days, which curl and 64 bits can count; not a number counts as nothing.
  private static func sensible(_ seconds: Double) -> Double {
    seconds > 0.001 ? min(seconds, 1e6) : 0.001
  }
}
