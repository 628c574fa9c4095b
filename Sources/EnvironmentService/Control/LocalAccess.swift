import HTTPMessages

/// Who may use Diorama's own paths: programs that know the address, and no web page.
///
/// A page may send requests to any address, and a name of its own may lead to this machine (DNS rebinding). A browser
/// says so in `Host`, `Origin` and `Sec-Fetch-Site`, which no page can change.
enum LocalAccess {
  /// - Parameters:
  ///   - headers: of the request.
  ///   - port: on which it came.
  /// - Throws: a ``Problem`` for a host that is not this machine's, and for a page of another origin.
  static func check(_ headers: Headers, port: UInt16) throws {
    guard headers.isAddressedToLoopback(port: port) else {
      let host = headers.all("Host").joined(separator: ", ")
      throw Problem(
        status: 403, title: "Host header not allowed",
        detail: "'\(host)' is not 127.0.0.1:\(port); use the URL in DIORAMA_CONTROL")
    }
    guard headers.isFromForeignPage(port: port) else { return }
    throw Problem(
      status: 403, title: "Cross-origin request refused",
      detail: "web pages cannot use this API; send requests from a program")
  }
}
