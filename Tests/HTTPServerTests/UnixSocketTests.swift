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

@Suite("Unix sockets", .timeLimit(.minutes(5)))
struct UnixSocketTests {
  private let ok = TestHandler.responding(Response(status: 200))

  @Test("serve successive requests and report the client process")
  func peer() async throws {
    let handler = TestHandler(slow: { request in
      let text = request.peer.map { "\($0.uid) \($0.pid)" } ?? "nobody"
      return Response(status: 200, body: .bytes(Array(text.utf8)))
    })
    let texts = try await withUnixServer(.init(), handler) { path in
      try await onThread {
        let client = try RawClient(path: path)
        return try [client.exchange(.get("/")).text, client.exchange(.get("/")).text]
      }
    }
    #expect(texts == Array(repeating: "\(getuid()) \(getpid())", count: 2))
    let overTCP = try await withServer(.init(), handler) { try await ask($0, .get("/")).text }
    #expect(overTCP == "nobody")
  }

  @Test("carry large bodies in both directions")
  func bodies() async throws {
    let text = try await withUnixServer(.init(), TestHandler.mirror) { path in
      try await onThread {
        let client = try RawClient(path: path)
        try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n")
        try client.send([UInt8](repeating: 65, count: 3_000_000))
        return try client.receiveAnswer().text
      }
    }
    #expect(text.hasSuffix(String(repeating: "A", count: 3_000_000)))
  }

  @Test("cancel a handler whose client has disconnected")
  func departure() async throws {
    let started = Event()
    let cancelled = Event()
    let handler = TestHandler(slow: { _ in
      started.happen()
      defer { cancelled.happen() }
      try await waitForCancellation()
      return Response(status: 200)
    })
    try await withUnixServer(.init(), handler) { path in
      let client = try RawClient(path: path)
      try client.send(.get("/"))
      try await started.wait()
      client.close()
      try await cancelled.wait()
    }
  }

  @Test("make clients wait above the connection limit")
  func connectionLimit() async throws {
    try await withUnixServer(.init(maximumConnections: 1), ok) { path in
      let statuses = try await onThread {
        let first = try RawClient(path: path)
        let before = try first.exchange(.get("/")).status
        let second = try RawClient(path: path)
        try second.send(.get("/"))
        first.close()
        return try [before, second.receiveAnswer().status]
      }
      #expect(statuses == [200, 200])
    }
  }

  @Test("close connections whose first or later head arrives too slowly", arguments: [false, true])
  func slowHead(isLater: Bool) async throws {
    try await withUnixServer(.init(idleSeconds: 30, headSeconds: 1), ok) { path in
      let sent = try await onThread {
        let client = try RawClient(path: path)
        if isLater { _ = try client.exchange(.get("/")) }
        for (index, byte) in "GET / HTTP/1.1\r\nX: \(String(repeating: "x", count: 300))".utf8.enumerated() {
          guard client.sendSome([byte]) == 1 else { return index }
          // Paces the sender and waits for the server to close.
          var waiting = pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0)
          if poll(&waiting, 1, 50) > 0 { return index }
        }
        return 300
      }
      #expect(sent < 200)
    }
  }

  @Test("apply only the idle timeout after a response")
  func keepAlive() async throws {
    try await withUnixServer(.init(idleSeconds: 30, headSeconds: 1), ok) { path in
      let statuses = try await onThread {
        let client = try RawClient(path: path)
        // The second response comes after the server has checked the silence following the first.
        let first = try client.exchange(.get("/")).status
        var waiting = pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, 1200) == 0 else { return [first] }
        let second = try client.exchange(.get("/")).status
        guard poll(&waiting, 1, 2500) == 0 else { return [first, second] }
        return try [first, second, client.exchange(.get("/")).status]
      }
      #expect(statuses == [200, 200, 200])
    }
  }

  @Test("close idle connections when the server stops, and let a running request finish")
  func stopping() async throws {
    let folder = try SocketFolder()
    let started = Event()
    let release = Event()
    let handler = TestHandler(slow: { request in
      guard request.target == "/slow" else { return Response(status: 200) }
      started.happen()
      try await release.wait()
      return Response(status: 200)
    })
    let server = try HTTPServer()
    try server.listen(onUnixSocket: folder.socket, handler: handler)
    let (idle, running) = try await onThread {
      let idle = try RawClient(path: folder.socket)
      _ = try idle.exchange(.get("/"))
      let running = try RawClient(path: folder.socket)
      try running.send(.get("/slow"))
      return (idle, running)
    }
    try await started.wait()
    async let stopped: Void = server.stop(grace: .seconds(3_600))
    #expect(try await onThread { try idle.receiveAll() }.isEmpty)
    release.happen()
    #expect(try await onThread { try running.receiveAnswer().status } == 200)
    await stopped
    #expect(folder.mode == nil)
  }
}

@Suite("Unix socket files", .timeLimit(.minutes(5)))
struct SocketFileTests {
  private let ok = TestHandler.responding(Response(status: 200))

  /// The error of listening at a path, if any.
  private func attempt(_ path: String) async throws -> CodedError? {
    let server = try HTTPServer()
    let result = Result { try server.listen(onUnixSocket: path, handler: ok) }
    await server.stop()
    guard case .failure(let error) = result else { return nil }
    return error as? CodedError
  }

  @Test("are accessible to this user only, whatever the umask")
  func mode() async {
    // In a separate process, because of its umask.
    await #expect(processExitsWith: .success) {
      umask(0)
      let folder = try SocketFolder()
      let server = try HTTPServer()
      try server.listen(onUnixSocket: folder.socket, handler: TestHandler.mirror)
      let isPrivate = folder.mode == S_IFSOCK | 0o600
      await server.stop()
      // Skips all teardown.
      rmdir(folder.path)
      exit(isPrivate ? 0 : 1)
    }
  }

  @Test("are removed when the listener closes")
  func removed() async throws {
    let folder = try SocketFolder()
    let server = try HTTPServer()
    let listener = try server.listen(onUnixSocket: folder.socket, handler: ok)
    #expect(listener.path == folder.socket && listener.port == 0 && folder.mode != nil)
    listener.close()
    #expect(folder.mode == nil)
    await server.stop()
  }

  @Test("are kept if they were replaced")
  func replaced() async throws {
    let folder = try SocketFolder()
    let server = try HTTPServer()
    let listener = try server.listen(onUnixSocket: folder.socket, handler: ok)
    unlink(folder.socket)
    let other = try folder.bind(listening: false)
    defer { close(other) }
    listener.close()
    #expect(folder.mode != nil)
    await server.stop()
  }

  @Test("are replaced if no process listens on them")
  func stale() async throws {
    let folder = try SocketFolder()
    close(try folder.bind(listening: true))
    let server = try HTTPServer()
    try server.listen(onUnixSocket: folder.socket, handler: ok)
    #expect(try await onThread { try RawClient(path: folder.socket).exchange(.get("/")).status } == 200)
    await server.stop()
  }

  @Test("are left alone if another process listens on them")
  func taken() async throws {
    try await withUnixServer(.init(), ok) { path in
      let error = try await attempt(path)
      #expect(error?.problem.hasPrefix("another process listens on this path; ") == true && error?.place == path)
      #expect(try await onThread { try RawClient(path: path).exchange(.get("/")).status } == 200)
    }
  }

  @Test("are left alone if they are not sockets")
  func foreign() async throws {
    let folder = try SocketFolder()
    close(open(folder.socket, O_CREAT | O_WRONLY, 0o600))
    #expect(try await attempt(folder.socket)?.problem.hasPrefix("a file that is not a socket exists; ") == true)
    #expect(folder.mode == S_IFREG | 0o600)
  }

  @Test("have a path of limited length, and an error states the limit")
  func length() async throws {
    let folder = try SocketFolder()
    let longest = folder.socket + String(repeating: "x", count: 107 - folder.socket.utf8.count)
    #expect(try await attempt(longest) == nil)
    let error = try await attempt(longest + "x")
    #expect(error?.problem.hasPrefix("a Unix socket's path has at most 107 bytes, and this one has 108; ") == true)
    #expect(try await attempt("")?.problem.hasPrefix("not a path for a Unix socket; ") == true)
    #expect(try await attempt(folder.path + "/none/socket")?.problem.hasSuffix("; create the folder first") == true)
  }
}

/// A folder with a short path, removed with its content.
final class SocketFolder: Sendable {
  let path: String
  /// A path for a socket in the folder.
  var socket: String { path + "/socket" }

  init() throws {
    var template = Array("/tmp/diorama-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw RawClient.Failure(description: "no folder") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    unlink(socket)
    rmdir(path)
  }

  /// The mode and type of the file at ``socket``; nil if there is no file.
  var mode: mode_t? {
    var status = stat()
    return lstat(socket, &status) == 0 ? status.st_mode : nil
  }

  /// Binds a socket to ``socket``, listening or not.
  func bind(listening: Bool) throws -> Int32 {
    let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: socket.utf8) }
    let isBound = withUnsafeBytes(of: address) { bytes in
      Glibc.bind(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) == 0
    }
    guard isBound, !listening || listen(descriptor, 10) == 0 else {
      throw RawClient.Failure(description: "cannot bind \(socket)")
    }
    return descriptor
  }
}

/// Runs a server with one Unix socket, and stops it at the end.
func withUnixServer<Value: Sendable>(
  _ configuration: HTTPServer.Configuration = .init(), _ handler: any RequestHandler,
  _ body: (String) async throws -> Value
) async throws -> Value {
  let folder = try SocketFolder()
  let server = try HTTPServer(configuration)
  try server.listen(onUnixSocket: folder.socket, handler: handler)
  do {
    let value = try await body(folder.socket)
    await server.stop(grace: .seconds(2))
    return value
  } catch {
    await server.stop(grace: .zero)
    throw error
  }
}
