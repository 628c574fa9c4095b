import Dispatch
import HTTPMessages
import HTTPServer
import TestSupport

/// A handler made of closures.
struct TestHandler: RequestHandler {
  var fast: @Sendable (borrowing RequestView) -> PreparedResponse? = { _ in nil }
  var isBrief = false
  var slow: @Sendable (Request) async throws -> Response = { _ in Response(status: 404) }

  func answer(_ request: borrowing RequestView) -> PreparedResponse? { fast(request) }
  func respond(to request: Request) async throws -> Response { try await slow(request) }

  /// Sends this response to all requests.
  static func responding(_ response: Response) -> TestHandler { TestHandler(slow: { _ in response }) }

  /// Responds with the method, target, headers and body of the request, one per line.
  static let mirror = TestHandler(slow: { request in
    var text = "\(request.method) \(request.target)\n"
    for field in request.headers.fields { text += "\(field.name): \(field.value)\n" }
    let body = try await request.body.collect(upTo: 1 << 24)
    return Response(status: 200, body: .bytes(Array(text.utf8) + body))
  })
}

/// Runs a server with one listener, and stops it at the end.
func withServer<Value: Sendable>(
  _ configuration: HTTPServer.Configuration = .init(), _ handler: any RequestHandler,
  _ body: (UInt16) async throws -> Value
) async throws -> Value {
  let server = try HTTPServer(configuration)
  let listener = try server.listen(handler: handler)
  do {
    let value = try await body(listener.port)
    await server.stop(grace: .seconds(2))
    return value
  } catch {
    await server.stop(grace: .zero)
    throw error
  }
}

/// Waits for another thread.
func waitForAnotherThread() async {
  await withCheckedContinuation { continuation in
    DispatchQueue.global().async { continuation.resume() }
  }
}

/// Sends one request as text on its own connection and reads the response.
func ask(_ port: UInt16, _ request: String) async throws -> RawClient.Answer {
  try await onThread { try RawClient(port: port).exchange(request) }
}

extension String {
  /// A request without a body.
  static func get(_ target: String, _ method: String = "GET") -> String {
    "\(method) \(target) HTTP/1.1\r\nHost: test\r\n\r\n"
  }
}
