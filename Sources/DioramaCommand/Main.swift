import Basics
import ChildProcesses
import Daemon
import DaemonClient
import EnvironmentService
import Foundation

/// The `diorama` command: runs a subcommand and exits with its status.
@main
struct Main {
  static let version = "0.1.0"

  static func main() {
    StandardDescriptors.open()
    OpenFiles.raiseLimit()
    let terminal = Terminal()
    var arguments = Array(CommandLine.arguments.dropFirst())
    do {
      exit(try run(&arguments, terminal: terminal))
    } catch let error as CodedError {
      terminal.error(error.message)
      exit(error.kind.rawValue)
    } catch let error as DaemonClientError {
      terminal.error(error.message)
      exit(error.exitStatus)
    } catch let error as NotStarted {
      terminal.error(error.message)
      exit(error.status)
    } catch {
      terminal.error("\(error)")
      exit(CodedError.Kind.inputOutput.rawValue)
    }
  }

  private static func run(_ arguments: inout [String], terminal: Terminal) throws -> Int32 {
    guard let name = arguments.first else {
      throw CodedError(usage: "no command; choose from \(commands.dropLast().joined(separator: ", "))")
    }
    arguments.removeFirst()
    switch name {
    case "run": return try RunCommand.run(arguments, terminal: terminal)
    case "strings": return try StringsCommand.run(arguments)
    case "cassette": return try CassetteCommand.run(arguments, terminal: terminal)
    case "contract": return try ContractCommand.run(arguments, terminal: terminal)
    case "serve": return try ServeCommand.run(arguments, terminal: terminal)
    case "port": return try PortCommand.run(arguments, terminal: terminal)
    case "env": return try EnvironmentCommand.run(arguments, terminal: terminal)
    case "version", "--version": return try printVersion(arguments)
    case "help", "--help", "-h":
      print(help, terminator: "")
      return 0
    default:
      throw CodedError(usage: "unknown command '\(name)'" + suggestion(for: name, among: commands))
    }
  }

  private static func printVersion(_ arguments: [String]) throws(CodedError) -> Int32 {
    let options = try Options(arguments, table: [], command: "version")
    if let extra = options.operands.first ?? options.rest?.first {
      throw CodedError(usage: "unexpected argument '\(extra)'", command: "version")
    }
    print(options.has("--help") ? "usage: diorama version\n\nPrints the version." : "diorama \(version)")
    return 0
  }

  private static let commands = ["run", "env", "port", "serve", "cassette", "contract", "strings", "version", "help"]

  private static let help = """
    Gives every test its own environment: recorded network, fixed clock, random
    values that repeat.

    usage: diorama COMMAND …

      run       run a command in an environment of its own
      env       manage environments in the daemon, for any program
      port      lease free ports
      cassette  show, check, compare and convert recordings
      contract  show and check launch contracts
      serve     run the daemon
      strings   print values of the string algorithm uuid5-v1
      version   print the version

    Every command has --help. To begin, run this: the first run records, later ones
    replay:

      diorama run --cassette Cassettes/first \\
        --upstream api=https://api.example.com -- ./my-test

    """
}
