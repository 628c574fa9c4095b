import Basics
import HTTPMessages
import LaunchContract

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Decides which clients may use a listener of the control API.
///
/// Any program on the machine can connect over TCP, and so can web pages in the user's browser. The `Host`, `Origin`
/// and `Sec-Fetch-Site` headers reveal web pages; the token keeps out other users. On a Unix socket, the kernel reports
/// the peer's user.
package struct AccessPolicy: Sendable {
  /// The kind of listener.
  package enum Way: Sendable {
    /// TCP, at this port of a loopback address.
    case loopback(port: UInt16)
    /// A Unix socket. Its peer must be this user or root.
    case unixSocket(owner: UInt32)
    /// TLS, from this address of another machine.
    case remote(RemoteAccess, peer: String)

    /// A Unix socket of this process's user.
    package static var unixSocket: Way { .unixSocket(owner: geteuid()) }
  }

  private let way: Way
  private let token: [UInt8]

  init(_ way: Way, token: Secret) {
    self.way = way
    self.token = Array(token.revealed.utf8)
  }

  /// Returns why a request is refused before its path is read, or nil.
  func refusal(of request: Request) -> DaemonError? {
    var ownPort: UInt16?
    switch way {
    case .loopback(let port):
      guard request.headers.isAddressedToLoopback(port: port) else {
        return DaemonError(
          403, "Host header not allowed",
          "the Host header must be 127.0.0.1:\(port) or localhost:\(port); use the URL in control.json")
      }
      ownPort = port
    case .unixSocket(let owner):
      guard let peer = request.peer, peer.uid == owner || peer.uid == 0 else {
        return DaemonError(
          403, "Daemon of another user", "start your own with: diorama serve")
      }
    // Web pages don't have a token. Clients may use any name that leads here.
    case .remote: break
    }
    guard request.headers.isFromForeignPage(port: ownPort) else { return nil }
    return DaemonError(
      403, "Cross-origin request refused", "web pages cannot use this API; send requests from a program")
  }

  /// Returns which program on another machine sends a request.
  ///
  /// - Returns: nil for a program on this machine.
  /// - Throws: ``DaemonError``: 401 or 429 for one on another machine without a valid token.
  func client(of request: Request) throws(DaemonError) -> RemoteClient? {
    guard case .remote(let access, let peer) = way else { return nil }
    let values = request.headers.all("Authorization")
    return try access.client(
      bearing: values.count == 1 ? bearer(values[0]).map(String.init) ?? "" : values.isEmpty ? nil : "", from: peer)
  }

  /// Whether the token of a client is still valid.
  func isValid(_ client: RemoteClient) -> Bool {
    guard case .remote(let access, _) = way else { return true }
    return access.isValid(client)
  }

  /// Returns why a request lacks the token, or nil if it doesn't.
  func lackOfToken(in request: Request) -> DaemonError? {
    // Each request has a token of its own, which is checked already.
    if case .remote = way { return nil }
    let values = request.headers.all("Authorization")
    if values.isEmpty {
      // The kernel has identified the peer, which is stronger than a token.
      if case .unixSocket = way { return nil }
      return unauthorized("Bearer realm=\"diorama\"", "Token missing")
    }
    guard values.count == 1, let given = bearer(values[0]), ConstantTime.areEqual(Array(given.utf8), token) else {
      return unauthorized("Bearer realm=\"diorama\", error=\"invalid_token\"", "Token invalid")
    }
    return nil
  }

  private func bearer(_ value: String) -> Substring? {
    let parts = value.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, String(parts[0]).equalsIgnoringASCIICase("Bearer") else { return nil }
    return parts[1]
  }

  private func unauthorized(_ challenge: String, _ title: String) -> DaemonError {
    DaemonError(
      401, title, "send Authorization: Bearer with the token in control.json, in the daemon's state folder",
      headers: ["WWW-Authenticate": challenge])
  }
}
