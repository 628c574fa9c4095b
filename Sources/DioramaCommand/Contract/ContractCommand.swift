import Diorama
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

  /// Reads it.
  ///
  /// - Throws: an ``EnvironmentError`` for what is no contract, or is not there.
  func read() throws(EnvironmentError) -> LaunchContract {
    if let path, !FileManager.default.fileExists(atPath: path) { throw missing }
    do throws(ContractError) {
      return try LaunchContract.read(value, source: name)
    } catch {
      throw broken(error)
    }
  }

  /// Reads it as an app does, and finds out what only an app's launch would: its time zone, credentials, backends.
  ///
  /// - Throws: an ``EnvironmentError`` for a contract that an app would refuse.
  func readAsApp() throws(EnvironmentError) -> LaunchContract {
    let contract = try read()
    do throws(ContractError) {
      _ = try contract.userDefaults()
    } catch {
      throw broken(error)
    }
    #if DEBUG || Controlled
      do {
        // The app's own code; it connects with its first report only.
        _ = try AppControls(contract) { _ in }
      } catch {
        let problem = error.description
        throw broken(
          ContractError(problem.hasPrefix(Self.prefix) ? String(problem.dropFirst(Self.prefix.count)) : problem))
      }
    #endif
    return contract
  }

  /// Its JSON, for what the contract's type no longer shows.
  func document() throws(EnvironmentError) -> JSON {
    do {
      let data = try path.map { try InputFile($0).read(atMost: WholeFiles.limit) } ?? Data(value.utf8)
      return try JSON.parse([UInt8](data))
    } catch let error as JSONError {
      throw broken(ContractError("not valid JSON, though an app on this machine takes it: \(error)"))
    } catch {
      throw EnvironmentError(.inputOutput, "cannot read \(path ?? name): \(error.systemReason)")
    }
  }

  private static let prefix = "launch contract: "

  private var missing: EnvironmentError {
    let advice =
      switch self {
      case .file: "check the path, or name none to read \(Self.variable)"
      case .variable: "\(Self.variable) names it, but its environment may have ended; start another"
      }
    return EnvironmentError(.noCassette, "there is no contract \(path ?? name); \(advice)")
  }

  private func broken(_ error: ContractError) -> EnvironmentError {
    EnvironmentError(.broken, "\(error.source.isEmpty ? ContractError(error.problem, source: path ?? name) : error)")
  }

  /// The file that it is in; nil where it is the variable itself.
  private var path: String? {
    switch self {
    case .file(let path): path
    case .variable(let value): value.hasPrefix("file:/") ? String(value.dropFirst("file:".count)) : nil
    }
  }

  private var value: String {
    switch self {
    case .file(let path): "file:" + URL(filePath: path).standardizedFileURL.path(percentEncoded: false)
    case .variable(let value): value
    }
  }
}
