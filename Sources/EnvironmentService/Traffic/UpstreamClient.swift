import HTTPClient
import HTTPMessages

/// The way to the backends. The client behind it begins with the first request, so that a service which only
/// replays never has one.
final class UpstreamClient: Sendable {
  private struct State {
    var client: HTTPClient?
    var isOver = false
  }

  private let state = Guarded(State())

  func send(_ request: Request, to origin: Origin) async throws -> Response {
    try await client().send(request, to: origin)
  }

  func upgrade(_ request: Request, to token: String, at origin: Origin) async throws -> (Response, UpgradedConnection?)
  {
    try await client().upgrade(request, to: token, at: origin)
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
