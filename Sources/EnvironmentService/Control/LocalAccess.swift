import HTTPMessages

/// Who may ask for Diorama's own paths: programs that know the address, and no web page.
///
/// A page may send requests to any address, and a name of its own may lead to this machine (DNS rebinding). A browser
/// says so in `Host` and `Origin`, which no page can change.
enum LocalAccess {
  /// - Parameters:
  ///   - headers: of the request.
  ///   - port: on which it came.
  /// - Throws: a ``Problem`` for a host that is not this machine's, and for another's origin.
  static func check(_ headers: Headers, port: UInt16) throws {
    let authorities = ["127.0.0.1:\(port)", "localhost:\(port)"]
    let hosts = headers.all("Host").map { $0.lowercased() }
    guard hosts.count == 1, authorities.contains(hosts[0]) else {
      throw Problem(
        status: 403, title: "The host is not this environment's",
        detail: "'\(hosts.joined(separator: ", "))' is not \(authorities[0]); ask at the URL in DIORAMA_CONTROL")
    }
    let own = authorities.map { "http://\($0)" }
    for origin in headers.all("Origin") where !own.contains(origin.lowercased()) {
      throw Problem(
        status: 403, title: "No web page may ask this", detail: "the origin '\(origin)' is not \(own[0])")
    }
  }
}
