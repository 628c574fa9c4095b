import Basics
import Foundation
import HTTPMessages
import HTTPServer
import TestSupport
import Testing

/// Runs the built command.
enum Diorama {
  /// Starts diorama with these arguments and additional variables (nil: unset).
  static func start(
    _ arguments: [String], variables: [String: String?] = [:], input: Child.Input = .nothing,
    errors: Child.Errors = .kept, folder: String? = nil, extra: [(ours: Int32, theirs: Int32)] = []
  ) throws -> Child {
    // posix_spawn(3) can change the folder only on newer systems; a shell can everywhere.
    let inFolder = folder.map { ["sh", "-c", "cd \"$0\" && exec \"$@\"", $0].map { Array($0.utf8) } } ?? []
    return try Child(
      inFolder + words(arguments), environment: environment(variables), input: input, errors: errors, extra: extra)
  }

  /// Starts diorama as the session leader of a terminal.
  static func start(
    _ arguments: [String], variables: [String: String?] = [:], terminal: borrowing PseudoTerminal
  ) throws -> Child {
    try Child(words(arguments), environment: environment(variables), terminal: terminal)
  }

  /// Runs diorama to its end.
  static func run(
    _ arguments: String..., variables: [String: String?] = [:], input: Child.Input = .nothing,
    errors: Child.Errors = .kept, folder: String? = nil
  ) async throws -> Child.Outcome {
    try await run(arguments, variables: variables, input: input, errors: errors, folder: folder)
  }

  static func run(
    _ arguments: [String], variables: [String: String?] = [:], input: Child.Input = .nothing,
    errors: Child.Errors = .kept, folder: String? = nil
  ) async throws -> Child.Outcome {
    try await onThread {
      try start(arguments, variables: variables, input: input, errors: errors, folder: folder).finish()
    }
  }

  static func words(_ arguments: [String]) throws -> [[UInt8]] {
    let folder = try #require(Bundle.main.executableURL).deletingLastPathComponent()
    return ([folder.appending(path: "diorama").path] + arguments).map { Array($0.utf8) }
  }

  /// This process's variables, except those that would affect tests.
  static func environment(_ variables: [String: String?] = [:]) -> [String: String] {
    var environment = ProcessInfo.processInfo.environment.filter { name, _ in
      !name.lowercased().hasSuffix("_proxy") && !name.hasPrefix("DIORAMA_") && !name.hasPrefix("LISTEN_")
        && !["CI", "NO_COLOR", "TERM", "TZ"].contains(name)
    }
    for (name, value) in variables { environment[name] = value }
    return environment
  }
}

/// Expects exactly one line on standard error, as for every error of the command.
func expectOneLine(
  _ outcome: Child.Outcome, status: Int32, naming texts: String..., location: SourceLocation = #_sourceLocation
) {
  #expect(outcome.status == status, "\(outcome.words)", sourceLocation: location)
  #expect(outcome.lines.count == 1, "\(outcome.words)", sourceLocation: location)
  #expect(outcome.words.hasPrefix("diorama: "), "\(outcome.words)", sourceLocation: location)
  #expect(outcome.words.hasSuffix("\n"), "\(outcome.words)", sourceLocation: location)
  #expect(outcome.text.isEmpty, "\(outcome.text)", sourceLocation: location)
  for text in texts { #expect(outcome.words.contains(text), sourceLocation: location) }
}

/// A temporary folder, removed when deallocated.
final class Folder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/diorama-command-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of a file in the folder.
  func file(_ name: String) -> String { "\(path)/\(name)" }

  func write(_ text: String, to name: String, mode: Int = 0o644) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file(name))
  }

  /// Writes a script. Another process writes it, since a child that a concurrent test is forking could hold our
  /// descriptor, which would make exec fail (ETXTBSY).
  func writeScript(_ text: String, to name: String) throws {
    let words = ["sh", "-c", "printf %s \"$1\" >\"$2\"; chmod +x \"$2\"", "sh", text, file(name)]
    _ = try Child(words.map { Array($0.utf8) }, environment: Diorama.environment()).finish()
  }

  func read(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(fileURLWithPath: file(name))), as: UTF8.self)
  }

  func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: file(name)) }

  /// The names of all files in the folder.
  var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }

  /// Reads a file as a JSON object.
  func json(_ name: String) throws -> [String: Any] { try object(read(name)) }
}

/// Parses a JSON object.
func object(_ text: String) throws -> [String: Any] {
  try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
}

/// An in-process upstream that answers with the path and the number of the request.
final class Upstream: Sendable {
  private struct Handler: RequestHandler {
    let calls: Guarded<Int>

    func respond(to request: Request) async throws -> Response {
      let number = calls.withLock { calls in
        calls += 1
        return calls
      }
      return Response(
        status: 200, headers: ["Content-Type": "text/plain"], body: .bytes(Array("\(request.target) \(number)".utf8)))
    }
  }

  let url: String
  private let server: HTTPServer
  private let count = Guarded(0)

  init() throws {
    server = try HTTPServer()
    url = "http://127.0.0.1:\(try server.listen(handler: Handler(calls: count)).port)"
  }

  /// The number of requests received.
  var calls: Int { count.withLock { $0 } }

  func stop() async { await server.stop(grace: .seconds(2)) }
}

/// Commands to run inside an environment.
enum Program {
  /// A Python interpreter without the user's modules, which starts in about 20 ms.
  static var python: [String] {
    // A version manager's python3 in PATH starts several times slower.
    let system = "/usr/bin/python3"
    return [FileManager.default.isExecutableFile(atPath: system) ? system : "python3", "-I", "-S", "-u"]
  }

  /// Requests these paths from the endpoint `api`, and prints the status and body of each response on a line.
  static func get(_ paths: String...) -> [String] {
    python + ["-c", client] + paths
  }

  private static let client = """
    import http.client, os, sys
    connection = http.client.HTTPConnection(os.environ["DIORAMA_ENDPOINT_API"].split("//")[1], timeout=240)
    for path in sys.argv[1:]:
        connection.request("GET", path)
        response = connection.getresponse()
        print(response.status, response.read().decode().splitlines()[0])
    """
}
