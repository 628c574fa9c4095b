import Basics
import ChildProcesses
import Daemon
import DaemonClient
import EnvironmentService
import Foundation

/// The `diorama` command: runs a subcommand and exits with its status.
@main
struct Main {
  static func main() {
    StandardDescriptors.open()
    OpenFiles.raiseLimit()
    let terminal = Terminal()
    let arguments = Array(CommandLine.arguments.dropFirst())
    do {
      try RawWords.checkEncoding()
      exit(try command.run(arguments.first == "--version" ? ["version"] : arguments, terminal: terminal))
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

  /// `diorama`, with all commands.
  static let command: Command = Command(
    "", "give every test an environment of its own", usage: ["COMMAND …", "help COMMAND …"],
    about: """
      Gives every test an environment of its own: recorded network, fixed clock,
      random values that repeat.
      """,
    notes: """
      To begin, run this: the first run records, later ones replay:

        diorama run --cassette Cassettes/first \\
          --upstream api=https://api.example.com -- ./my-test
      """,
    subcommands: [
      RunCommand.command, VerifyCommand.command, MockCommand.command, EnvironmentCommand.command, PortCommand.command,
      PoolCommand.command, LeaseCommand.command, FleetCommand.command, TokenCommand.command,
      CassetteCommand.command,
      RulesCommand.command, ContractCommand.command, FeaturesCommand.command, ServeCommand.command,
      StringsCommand.command, DoctorCommand.command,
      CompletionCommand.command,
      VersionCommand.command, HelpCommand.command,
    ])
}
