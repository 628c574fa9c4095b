import EnvironmentService
import Foundation

/// `diorama env`: environments that live in the daemon, for any program on the machine.
enum EnvironmentCommand {
  static func run(_ arguments: [String], terminal: Terminal) throws -> Int32 {
    guard let name = arguments.first else {
      throw UsageError("env needs a verb: " + verbs.joined(separator: ", "), command: "env")
    }
    let rest = Array(arguments.dropFirst())
    switch name {
    case "list": return try EnvironmentTable.run(rest)
    case "show": return try EnvironmentShow.run(rest)
    case "create": return try EnvironmentCreate.run(rest, terminal: terminal)
    case "update": return try EnvironmentUpdate.run(rest)
    case "report": return try EnvironmentReport.show(rest)
    case "delete": return try EnvironmentReport.end(rest)
    case "--help", "-h", "help":
      try Output.write(raw: help)
      return 0
    default:
      throw UsageError("env has no verb '\(name)'" + suggestion(for: name, among: verbs), command: "env")
    }
  }

  /// The environment that a verb is for: a word, or the one that this process lives in.
  static func id(_ options: Options, command: String) throws(UsageError) -> String {
    let words = options.operands + (options.rest ?? [])
    guard words.count <= 1 else { throw UsageError("'\(words[1])' is one word too many", command: command) }
    if let id = words.first ?? ProcessInfo.processInfo.environment["DIORAMA_ENVIRONMENT"], !id.isEmpty { return id }
    throw UsageError("name an environment by its id; DIORAMA_ENVIRONMENT is not set either", command: command)
  }

  private static let verbs = ["list", "show", "create", "update", "report", "delete"]

  private static let help = """
    usage: diorama env list|show|create|update|report|delete

      list    the environments that live in the daemon
      show    one of them: its cassette, endpoints and ports
      create  make one; with --shell: print what a shell takes by eval
      update  change toggles, values, mode or clock while its apps run, or move the clock
      report  what has happened in it so far
      delete  end it and print its report

    An environment is named by its id; where that is left out, by DIORAMA_ENVIRONMENT, which create --shell sets.

    """
}
