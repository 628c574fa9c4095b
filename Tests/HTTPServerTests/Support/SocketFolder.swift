import HTTPServer
import TestSupport

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

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
