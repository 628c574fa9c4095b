import Basics
import EventLoops
import Foundation
import HTTPMessages
import HTTPServer
import TestSupport
import Testing

@testable import Interception

/// A delegate that records what happens.
final class TestDelegate: InterceptionDelegate {
  struct State {
    var events: [InterceptionEvent] = []
    var destinations: [Destination] = []
    /// The destinations and protocols of connections that are not HTTP.
    var others: [String] = []
    var silent = 0
    var refusesSilent = false
  }

  let state = Monitor(State())
  private let handler: any RequestHandler
  private let target: RelayTarget?

  /// - Parameters:
  ///   - handler: answers the requests.
  ///   - target: what is not HTTP goes there.
  init(_ handler: any RequestHandler, relayingTo target: RelayTarget? = nil) {
    self.handler = handler
    self.target = target
  }

  func handler(for destination: Destination) -> any RequestHandler {
    state.withLock { $0.destinations.append(destination) }
    return handler
  }

  func relay(for destination: Destination, protocol name: String) -> RelayTarget? {
    state.withLock { $0.others.append("\(destination) \(destination.isTLS) \(name)") }
    return target
  }

  func relayOfSilentClient(for destination: Destination) -> RelayTarget? {
    state.withLock { $0.silent += 1 }
    return target
  }

  func refusesSilentClient(for destination: Destination) -> Bool { state.withLock { $0.refusesSilent } }

  func noticed(_ event: InterceptionEvent) { state.withLock { $0.events.append(event) } }
}

/// A handler made of a closure.
struct TestHandler: RequestHandler {
  var respond: @Sendable (Request) async throws -> Response

  func respond(to request: Request) async throws -> Response { try await respond(request) }

  /// Responds with the method, the target, the host and the body's size.
  static let mirror = TestHandler { request in
    var count = 0
    switch request.body {
    case .stream(let pipe, _): while let piece = try await pipe.read() { count += piece.count }
    default: count = try await request.body.collect(upTo: 1 << 24).count
    }
    let text = "\(request.method) \(request.target) \(request.headers["Host"] ?? "") \(count)"
    return Response(status: 200, body: .bytes(Array(text.utf8)))
  }
}

/// An interceptor with a listener on 127.0.0.1.
struct Setting: Sendable {
  let port: UInt16
  let names: NameTable
  let delegate: TestDelegate
  let interceptor: Interceptor
  /// The file with the authority's certificate.
  let authority: String
  let server: HTTPServer

  /// The arguments of curl for a request to `name` at the interceptor.
  func curl(_ name: String, _ path: String = "/", _ arguments: [String] = []) -> [String] {
    [
      "curl", "-sS", "--noproxy", "*", "--max-time", "120", "--cacert", authority, "--connect-to",
      "\(name):443:127.0.0.1:\(port)",
    ] + arguments + ["https://\(name)\(path)"]
  }
}

/// Runs a test with an interceptor, and stops it at the end.
func withInterceptor(
  _ delegate: TestDelegate = TestDelegate(TestHandler.mirror), server configuration: HTTPServer.Configuration = .init(),
  nameServers: [Int32] = [], settings: Interceptor.Configuration = .init(),
  destination: @escaping @Sendable (Int32) -> Destination? = { Destination(localAddressOf: $0) },
  _ body: (Setting) async throws -> Void
) async throws {
  let folder = FileManager.default.temporaryDirectory.appending(path: "diorama-wire-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  let authority = try CertificateAuthority(environment: "test", dates: [.now])
  let file = folder.appending(path: "ca.pem")
  try Data(authority.pem.utf8).write(to: file)
  let server = try HTTPServer(configuration)
  let interceptor = try Interceptor(
    server: server, authority: authority, delegate: delegate, configuration: settings)
  let (listener, port) = try tcpListener()
  try interceptor.start(listener: listener, nameServers: nameServers, destination: destination)
  let setting = Setting(
    port: port, names: interceptor.core.names, delegate: delegate, interceptor: interceptor, authority: file.path,
    server: server)
  let result: Result<Void, any Error>
  do { result = .success(try await body(setting)) } catch { result = .failure(error) }
  await interceptor.stop()
  await server.stop(grace: .zero)
  try result.get()
}

/// A listening socket on 127.0.0.1.
func tcpListener() throws -> (descriptor: Int32, port: UInt16) { try bound(SOCK_STREAM) }

/// A socket bound to a free port of 127.0.0.1.
func bound(_ kind: __socket_type) throws -> (descriptor: Int32, port: UInt16) {
  let descriptor = socket(AF_INET, Int32(kind.rawValue | SOCK_CLOEXEC.rawValue), 0)
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  let isBound = withUnsafeMutablePointer(to: &address) { address in
    address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      bind(descriptor, $0, length) == 0 && (kind != SOCK_STREAM || listen(descriptor, 1024) == 0)
        && getsockname(descriptor, $0, &length) == 0
    }
  }
  try #require(isBound)
  return (descriptor, UInt16(bigEndian: address.sin_port))
}

/// Runs a program to its end.
func run(_ arguments: [String], input: Child.Input = .nothing) async throws -> Child.Outcome {
  try await onThread {
    try Child(
      arguments.map { Array($0.utf8) }, environment: ProcessInfo.processInfo.environment, input: input
    ).finish()
  }
}
