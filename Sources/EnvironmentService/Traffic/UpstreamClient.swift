import Basics
import HTTPClient
import HTTPMessages

/// Sends requests to upstreams. The HTTP client is created with the first request, so a service that only replays never
/// has one.
final class UpstreamClient: Sendable {
  private struct State {
    var client: HTTPClient?
    var isOver = false
  }

  private let state = Guarded(State())

  func send(_ request: Request, to origin: Origin, by access: ReadyAccess) async throws -> Response {
    var sent = access.sent(request)
    let destination = access.destination ?? origin
    // What a client has negotiated for https says nothing about a plain server in its place, but gRPC needs HTTP/2.
    if destination.scheme == "http", origin.scheme == "https", !request.isCall { sent.isHTTP2 = false }
    return try await client().send(sent, to: destination, trust: access.trust)
  }

  /// Like ``HTTPClient/send(_:to:trust:_:)``. Does not add the header fields of `access`.
  func send(
    _ request: RawRequest, to origin: Origin, by access: ReadyAccess, _ receiver: any RawReceiver
  ) -> RawTransfer? {
    guard let client = try? client() else { return nil }
    return client.send(request, to: access.destination ?? origin, trust: access.trust, receiver)
  }

  func upgrade(
    _ request: Request, to token: String, at origin: Origin, by access: ReadyAccess
  ) async throws -> (Response, UpgradedConnection?) {
    try await client().upgrade(
      access.sent(request), to: token, at: access.destination ?? origin, trust: access.trust)
  }

  private func client() throws -> HTTPClient {
    try state.withLock { state in
      guard !state.isOver else { throw CancellationError() }
      if let client = state.client { return client }
      let new = try HTTPClient()
      state.client = new
      return new
    }
  }

  func shutdown() {
    let client = state.withLock { state in
      state.isOver = true
      return state.client.take()
    }
    client?.shutdown()
  }
}
