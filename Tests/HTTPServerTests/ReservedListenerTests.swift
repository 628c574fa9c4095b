import HTTPMessages
import HTTPServer
import TestSupport
import Testing

@Suite("Reserved ports", .timeLimit(.minutes(5)))
struct ReservedListenerTests {
  private let ok = TestHandler.responding(Response(status: 200))

  @Test("accept clients at once and respond when served")
  func waits() async throws {
    let server = try HTTPServer()
    let reserved = try server.reserve()
    let client = try RawClient(port: reserved.port)
    try client.send(.get("/"))
    let listener = try reserved.serve(handler: ok)
    #expect(listener.port == reserved.port)
    #expect(try await onThread { try client.receiveAnswer().status } == 200)
    // Neither frees the port that is being served.
    reserved.close()
    #expect(throws: ServerError.self) { try reserved.serve(handler: ok) }
    #expect(try await ask(listener.port, .get("/")).status == 200)
    await server.stop()
  }

  @Test("belong to the server until closed")
  func exclusive() async throws {
    let server = try HTTPServer()
    let reserved = try server.reserve()
    #expect(throws: ServerError.self) { try server.reserve(reserved.port) }
    #expect(throws: ServerError.self) { try server.listen(on: reserved.port, handler: ok) }
    reserved.close()
    let error = #expect(throws: ServerError.self) { try reserved.serve(handler: ok) }
    #expect(error?.next == "reserve it again")
    #expect(throws: (any Error).self) { try RawClient(port: reserved.port) }
    await server.stop()
  }

  @Test("are freed when dropped or when the server has stopped")
  func dropped() async throws {
    let server = try HTTPServer()
    let port = try server.reserve().port
    #expect(throws: (any Error).self) { try RawClient(port: port) }
    let late = try server.reserve()
    await server.stop()
    #expect(throws: ServerError.self) { try late.serve(handler: ok) }
    #expect(throws: (any Error).self) { try RawClient(port: late.port) }
  }
}
