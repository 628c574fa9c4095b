import Foundation
import LaunchContract
import TestSupport
import Testing

/// The programs of the package, beside the tests.
enum Programs {
  /// The result of a program.
  struct Outcome {
    var status: Int32
    var output: String
    var errors: String
  }

  static func start(_ name: String, _ arguments: [String], contract: LaunchContract? = nil) throws -> Child {
    let program = try #require(Bundle.main.executableURL).deletingLastPathComponent().appending(path: name).path
    var environment = ProcessInfo.processInfo.environment
    for variable in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
      environment[variable] = nil
    }
    environment["DIORAMA_CONTRACT"] = try contract.map { String(decoding: try $0.encodedDocument(), as: UTF8.self) }
    return try Child(([program] + arguments).map { Array($0.utf8) }, environment: environment)
  }

  static func clinic(_ arguments: String..., contract: LaunchContract? = nil) throws -> Outcome {
    try run("clinic", arguments, contract: contract)
  }

  static func run(_ name: String, _ arguments: [String], contract: LaunchContract? = nil) throws -> Outcome {
    let outcome = try start(name, arguments, contract: contract).finish()
    return Outcome(status: outcome.status, output: outcome.text, errors: outcome.words)
  }
}

/// A running clinic-backend.
final class Backend {
  let url: String
  private let process: Child

  init(_ arguments: String...) throws {
    process = try Programs.start("clinic-backend", arguments)
    url = try #require(try process.line().firstMatch(of: /http:\/\/127\.0\.0\.1:\d+/)).output.description
  }

  /// Terminates the backend and returns its exit status.
  func stop() -> Int32 {
    process.send(SIGTERM)
    return process.waitForEnd()
  }
}
