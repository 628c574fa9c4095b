import HTTPMessages
import LaunchContract

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Who may come in at one listener.
///
/// Over TCP anybody on the machine can connect, and so can a web page in the user's browser: the name that it called
/// us by and the page that it comes from tell the latter, the token both. A Unix socket's peer is named by the system.
package struct Gate: Sendable {
  /// How clients get here.
  package enum Way: Sendable {
    /// Over TCP, at this port of a loopback address.
    case loopback(port: UInt16)
    /// Over a Unix socket, of which the user with this id and root may be the peer.
    case unixSocket(owner: UInt32)

    /// Over a Unix socket of this process's user.
    package static var unixSocket: Way { .unixSocket(owner: geteuid()) }
  }

  private let way: Way
  private let token: [UInt8]

  init(_ way: Way, token: Secret) {
    self.way = way
    self.token = Array(token.revealed.utf8)
  }

  // MARK: Before anything is looked at

  /// Why nothing of a request is even looked at; nil where there is no reason.
  func refusal(of request: Request) -> Problem? {
    switch way {
    case .loopback(let port):
      let hosts = ["127.0.0.1", "localhost", "[::1]"]
      guard isOurs(host: request.headers.all("Host"), among: hosts, port: port) else {
        return Problem(
          403, "This is no name of the daemon",
          "the Host of a request has to be 127.0.0.1:\(port) or localhost:\(port); ask at the URL in control.json")
      }
    case .unixSocket(let owner):
      guard let peer = request.peer, peer.uid == owner || peer.uid == 0 else {
        return Problem(
          403, "This is another user's daemon", "start one of your own: diorama serve, with a state folder of yours")
      }
    }
    return pageRefusal(request.headers)
  }

  private func isOurs(host values: [String], among hosts: [String], port: UInt16) -> Bool {
    guard values.count == 1, let (host, given) = Origin.split(authority: values[0]) else { return false }
    return hosts.contains(host) && given ?? 80 == Int(port)
  }

  /// A browser names the page that a request comes from; where it leaves out `Origin`, it has `Sec-Fetch-Site`.
  private func pageRefusal(_ headers: Headers) -> Problem? {
    let isForeign = headers.all("Origin").contains { !isSame(origin: $0) }
    let isAcrossSites = headers.all("Sec-Fetch-Site").contains { !["same-origin", "none"].contains($0.lowercased()) }
    guard isForeign || isAcrossSites else { return nil }
    return Problem(
      403, "Web pages have no business here", "requests from another origin are refused; use a program, not a page")
  }

  private func isSame(origin text: String) -> Bool {
    guard case .loopback(let port) = way, let origin = try? Origin(parsing: text) else { return false }
    return origin.scheme == "http" && origin.port == Int(port)
      && ["127.0.0.1", "localhost", "[::1]"].contains(origin.host)
  }

  // MARK: The token

  /// Why a request may not do what needs the token; nil where it may.
  func lackOfToken(in request: Request) -> Problem? {
    let values = request.headers.all("Authorization")
    if values.isEmpty {
      // The system has told who it is, which is more than a token does.
      if case .unixSocket = way { return nil }
      return unauthorized("Bearer realm=\"diorama\"", "The token is missing")
    }
    guard values.count == 1, let given = bearer(values[0]), ConstantTime.areEqual(Array(given.utf8), token) else {
      return unauthorized("Bearer realm=\"diorama\", error=\"invalid_token\"", "The token is wrong")
    }
    return nil
  }

  private func bearer(_ value: String) -> Substring? {
    let parts = value.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, String(parts[0]).equalsIgnoringASCIICase("Bearer") else { return nil }
    return parts[1]
  }

  private func unauthorized(_ challenge: String, _ title: String) -> Problem {
    Problem(
      401, title, "send Authorization: Bearer with the token in control.json, in the daemon's state folder",
      headers: ["WWW-Authenticate": challenge])
  }
}
