import EnvironmentService
import Foundation
import LaunchContract

/// `diorama contract`: shows and checks launch contracts.
enum ContractCommand {
  static func run(_ arguments: [String], terminal: Terminal) throws -> Int32 {
    var arguments = arguments
    guard let name = arguments.first else {
      throw UsageError("contract needs a verb: show or check", command: "contract")
    }
    arguments.removeFirst()
    switch name {
    case "show": return try ContractShow.run(arguments, terminal: terminal)
    case "check": return try ContractCheck.run(arguments, terminal: terminal)
    case "--help", "-h", "help":
      print(help, terminator: "")
      return 0
    default:
      throw UsageError(
        "contract has no verb '\(name)'" + suggestion(for: name, among: ["show", "check"]), command: "contract")
    }
  }

  /// The contract that a verb is to work on: a file, or what this process has got from `diorama run`.
  static func source(_ options: Options, command: String) throws(UsageError) -> ContractSource {
    let words = options.operands + (options.rest ?? [])
    guard words.count <= 1 else { throw UsageError("'\(words[1])' is one word too many", command: command) }
    if let path = words.first { return .file(path) }
    guard let value = ProcessInfo.processInfo.environment[ContractSource.variable], !value.isEmpty else {
      throw UsageError("name a file; \(ContractSource.variable) is not set either", command: command)
    }
    return .variable(value)
  }

  private static let help = """
    usage: diorama contract show|check [PATH]

      show   what a launch contract holds; secrets stay hidden
      check  whether an app could read it

    PATH is a file with a contract's JSON; without it the one in DIORAMA_CONTRACT.

    """
}

/// Where a contract comes from.
enum ContractSource {
  static let variable = "DIORAMA_CONTRACT"

  case file(String)
  case variable(String)

  /// For messages and listings.
  var name: String {
    switch self {
    case .file(let path): path
    case .variable: Self.variable
    }
  }

  /// Reads it as an app would, and finds out what only an app's launch would.
  func read() throws(EnvironmentError) -> LaunchContract {
    if case .file(let path) = self, !FileManager.default.fileExists(atPath: path) {
      throw EnvironmentError(.noCassette, "there is no contract \(path)")
    }
    do throws(ContractError) {
      let contract = try LaunchContract.read(value, source: name)
      _ = try contract.userDefaults()
      return contract
    } catch {
      throw EnvironmentError(.broken, "\(error.source.isEmpty ? ContractError(error.problem, source: name) : error)")
    }
  }

  private var value: String {
    switch self {
    case .file(let path): "file:" + URL(filePath: path).standardizedFileURL.path(percentEncoded: false)
    case .variable(let value): value
    }
  }
}
