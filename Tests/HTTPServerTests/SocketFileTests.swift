import HTTPMessages
import HTTPServer
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Unix socket files", .timeLimit(.minutes(5)))
struct SocketFileTests {
  private let ok = TestHandler.responding(Response(status: 200))

  /// The error of listening at a path, if any.
  private func attempt(_ path: String) async throws -> ServerError? {
    let server = try HTTPServer()
    let result = Result { try server.listen(onUnixSocket: path, handler: ok) }
    await server.stop()
    guard case .failure(let error) = result else { return nil }
    return error as? ServerError
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
      #expect(error?.what == "another process listens on this path" && error?.location == path)
      #expect(try await onThread { try RawClient(path: path).exchange(.get("/")).status } == 200)
    }
  }

  @Test("are left alone if they are not sockets")
  func foreign() async throws {
    let folder = try SocketFolder()
    close(open(folder.socket, O_CREAT | O_WRONLY, 0o600))
    #expect(try await attempt(folder.socket)?.what == "a file that is not a socket exists")
    #expect(folder.mode == S_IFREG | 0o600)
  }

  @Test("have a path of limited length, and an error states the limit")
  func length() async throws {
    let folder = try SocketFolder()
    let longest = folder.socket + String(repeating: "x", count: 107 - folder.socket.utf8.count)
    #expect(try await attempt(longest) == nil)
    let error = try await attempt(longest + "x")
    #expect(error?.what == "a Unix socket's path has at most 107 bytes, and this one has 108")
    #expect(try await attempt("")?.what == "not a path for a Unix socket")
    #expect(try await attempt(folder.path + "/none/socket")?.next == "create the folder first")
  }
}
