import HTTPMessages
import HTTPServer
import TestSupport

@testable import HTTP2Echo

/// A handler made of a closure.
struct TestHandler: RequestHandler {
  var isBrief = false
  let body: @Sendable (Request) async throws -> Response

  init(isBrief: Bool = false, _ body: @escaping @Sendable (Request) async throws -> Response) {
    self.isBrief = isBrief
    self.body = body
  }

  func respond(to request: Request) async throws -> Response { try await body(request) }

  static func responding(_ response: Response) -> TestHandler { TestHandler { _ in response } }
}

/// Runs a server, and ends it.
func withServer<Value>(
  _ handler: any RequestHandler = EchoHandler(), _ limits: HTTP2Limits = .init(), sendBuffer: Int32? = nil,
  _ body: (PlainServer) async throws -> Value
) async throws -> Value {
  let server = try PlainServer(handler, limits: limits, sendBuffer: sendBuffer)
  defer { server.stop() }
  return try await body(server)
}

/// Runs a server and a client.
func withClient<Value: Sendable>(
  _ handler: any RequestHandler = EchoHandler(), _ limits: HTTP2Limits = .init(), window: Int32? = nil,
  _ body: @escaping @Sendable (TestClient) throws -> Value
) async throws -> Value {
  try await withServer(handler, limits) { server in
    let port = server.port
    return try await onThread { try body(TestClient(port: port, window: window)) }
  }
}
