import ControlAPI
import DaemonClient
import Foundation
import HTTPMessages
import HTTPServer
import LaunchContract
import TestSupport

/// A state folder of one test, gone with this value, and in it what a daemon would say of itself.
final class ScriptedHome: Sendable {
  let home: DaemonHome

  init() throws {
    home = DaemonHome(folder: FileManager.default.temporaryDirectory.path + "/diorama-home-" + UUID().uuidString)
    try FileManager.default.createDirectory(
      atPath: home.folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: home.folder) }

  func write(_ control: ControlFile, mode: Int = 0o600) throws {
    try write(String(decoding: try ContractJSON.encode(control), as: UTF8.self), mode: mode)
  }

  func write(_ text: String, mode: Int = 0o600) throws {
    try Data(text.utf8).write(to: URL(filePath: home.controlFile))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: home.controlFile)
  }

  /// A port of 127.0.0.1 at which nothing listens.
  static func deadURL() throws -> String {
    let (descriptor, port) = try ScriptedUpstream.listen(backlog: nil)
    close(descriptor)
    return "http://127.0.0.1:\(port)"
  }
}

/// A daemon that does what a test tells it.
final class ScriptedDaemon: Sendable {
  /// What came.
  struct Call: Sendable, Equatable {
    var line: String
    var host: String
    var isOverSocket: Bool
    var token: String
    var body: String
  }

  private struct Handler: RequestHandler {
    let calls: Guarded<[Call]>
    let greeted: @Sendable () -> Void
    let answer: @Sendable (Call) -> Response

    func respond(to request: Request) async throws -> Response {
      let call = Call(
        line: "\(request.method) \(request.target)", host: request.headers["Host"] ?? "",
        isOverSocket: request.peer != nil, token: request.headers["Authorization"] ?? "",
        body: String(decoding: try await request.body.collect(upTo: 1 << 20), as: UTF8.self))
      if call.line == "GET /v1/health" {
        greeted()
        return Self.json(200, #"{"status":"ok","version":"1","pid":1}"#)
      }
      calls.withLock { $0.append(call) }
      return answer(call)
    }

    static func json(_ status: Int, _ text: String) -> Response {
      Response(status: status, headers: ["Content-Type": "application/json"], body: .bytes(Array(text.utf8)))
    }
  }

  let control: ControlFile
  private let server: HTTPServer
  private let seen = Guarded<[Call]>([])

  /// It takes calls with any token; `answer` has status and text for each.
  ///
  /// - Throws: what the server throws.
  init(
    token: String = "t-1", socket: String = "",
    answer: @escaping @Sendable (Call) -> (Int, String) = { _ in (200, "{}") },
    greeted: @escaping @Sendable () -> Void = {}
  ) throws {
    server = try HTTPServer()
    let handler = Handler(calls: seen, greeted: greeted) { call in
      let (status, text) = answer(call)
      return Handler.json(status, text)
    }
    let port = try server.listen(handler: handler).port
    if !socket.isEmpty { try server.listen(onUnixSocket: socket, handler: handler) }
    control = ControlFile(
      control: "http://127.0.0.1:\(port)", socket: socket, token: Secret(token), pid: getpid())
  }

  var calls: [Call] { seen.withLock { $0 } }

  func stop() async { await server.stop(grace: .zero) }
}
