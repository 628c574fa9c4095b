import HTTPMessages

/// Protects Diorama's own paths from web pages.
///
/// A page may send requests to any address, and its host name may resolve to this machine (DNS rebinding). The browser
/// reveals that in `Host`, `Origin` and `Sec-Fetch-Site`, which pages cannot change.
enum LocalAccess {
  /// - Parameters:
  ///   - headers: the request's headers.
  ///   - port: the port that received the request.
  ///   - host: the name or address by which programs reach the environment.
  /// - Throws: a ``Problem`` if the request names another host or comes from a page of another origin.
  static func check(_ headers: Headers, port: UInt16, host: String) throws {
    guard headers.isAddressedToLoopback(port: port) || headers.isAddressed(to: host, port: port) else {
      let given = headers.all("Host").joined(separator: ", ")
      throw Problem(
        status: 403, title: "Host header not allowed",
        detail: "'\(given)' is not \(host):\(port); use the URL in DIORAMA_CONTROL")
    }
    guard headers.isFromForeignPage(port: port) else { return }
    throw Problem(
      status: 403, title: "Cross-origin request refused",
      detail: "web pages cannot use this API; send requests from a program")
  }
}
