import Basics
import HTTPMessages
import HTTPServer
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

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
    #expect(throws: CodedError.self) { try reserved.serve(handler: ok) }
    #expect(try await ask(listener.port, .get("/")).status == 200)
    await server.stop()
  }

  @Test("belong to the server until closed")
  func exclusive() async throws {
    let server = try HTTPServer()
    let reserved = try server.reserve()
    #expect(throws: CodedError.self) { try server.reserve(reserved.port) }
    #expect(throws: CodedError.self) { try server.listen(on: reserved.port, handler: ok) }
    reserved.close()
    let error = #expect(throws: CodedError.self) { try reserved.serve(handler: ok) }
    #expect(error?.problem.hasSuffix("; reserve it again") == true)
    #expect(soon { (try? RawClient(port: reserved.port)) == nil ? true : nil } == true)
    await server.stop()
  }

  @Test("are freed when dropped or when the server has stopped")
  func dropped() async throws {
    let server = try HTTPServer()
    let port = try server.reserve().port
    #expect(soon { (try? RawClient(port: port)) == nil ? true : nil } == true)
    let late = try server.reserve()
    await server.stop()
    #expect(throws: CodedError.self) { try late.serve(handler: ok) }
    #expect(soon { (try? RawClient(port: late.port)) == nil ? true : nil } == true)
  }
}

@Suite("Inherited sockets", .timeLimit(.minutes(5)))
struct InheritedSocketTests {
  private let ok = TestHandler.responding(Response(status: 200))

  private func make(_ type: __socket_type = SOCK_STREAM, address: UInt32 = 0x7F00_0001, listening: Bool = true) -> Int32
  {
    let descriptor = socket(AF_INET, Int32(type.rawValue), 0)
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_addr.s_addr = address.bigEndian
    withUnsafeBytes(of: name) { bytes in
      _ = bind(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
    if listening { listen(descriptor, 10) }
    return descriptor
  }

  @Test("serves an inherited TCP socket and makes it close-on-exec and non-blocking")
  func port() async throws {
    let server = try HTTPServer()
    let descriptor = make()
    let listener = try server.listen(descriptor: descriptor, handler: ok)
    #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0 && fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0)
    #expect(try await ask(listener.port, .get("/")).status == 200)
    listener.close()
    #expect(throws: (any Error).self) { try RawClient(port: listener.port) }
    await server.stop()
  }

  @Test("serves an inherited Unix socket, reports the peer and keeps the file")
  func path() async throws {
    let folder = try SocketFolder()
    let server = try HTTPServer()
    let handler = TestHandler(slow: { Response(status: $0.peer?.uid == getuid() ? 200 : 500) })
    let listener = try server.listen(descriptor: folder.bind(listening: true), handler: handler)
    #expect(listener.path == folder.socket)
    #expect(try await onThread { try RawClient(path: folder.socket).exchange(.get("/")).status } == 200)
    await server.stop()
    #expect(folder.mode != nil)
  }

  @Test("rejects sockets that do not listen on this machine only, and leaves them open")
  func refused() async throws {
    let server = try HTTPServer()
    let others: [(Int32, String)] = [
      (open("/dev/null", O_RDONLY | O_CLOEXEC), "not a listening socket"),
      (make(listening: false), "not a listening socket"),
      (make(SOCK_DGRAM, listening: false), "not a listening socket"),
      (make(address: 0), "the socket can be reached from other machines"),
    ]
    for (descriptor, what) in others {
      let error = #expect(throws: CodedError.self) { try server.listen(descriptor: descriptor, handler: ok) }
      #expect(error?.problem.hasPrefix("\(what); ") == true)
      #expect(fcntl(descriptor, F_GETFD) >= 0)
      close(descriptor)
    }
    #expect(throws: CodedError.self) { try server.listen(descriptor: -1, handler: ok) }
    await server.stop()
  }
}
