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
package struct AccessPolicy: Sendable {
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
    var ownPort: UInt16?
    switch way {
    case .loopback(let port):
      guard request.headers.isAddressedToLoopback(port: port) else {
        return Problem(
          403, "Host header not allowed",
          "the Host header must be 127.0.0.1:\(port) or localhost:\(port); use the URL in control.json")
      }
      ownPort = port
    case .unixSocket(let owner):
      guard let peer = request.peer, peer.uid == owner || peer.uid == 0 else {
        return Problem(
          403, "This is another user's daemon", "start one of your own: diorama serve, with a state folder of yours")
      }
    }
    guard request.headers.isFromForeignPage(port: ownPort) else { return nil }
    return Problem(403, "Cross-origin request refused", "web pages cannot use this API; send requests from a program")
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
