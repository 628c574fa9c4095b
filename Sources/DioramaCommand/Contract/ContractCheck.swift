import EnvironmentService
import LaunchContract

/// `diorama contract check`: whether an app could read a contract.
enum ContractCheck {
  static func run(_ arguments: [String], terminal: Terminal) throws -> Int32 {
    let options = try Options(arguments, table: table, command: "contract check")
    if options.has("--help") {
      print(help, terminator: "")
      return 0
    }
    let source = try ContractCommand.source(options, command: "contract check")
    var result = Result(contract: source.name)
    var status: Int32 = 0
    do throws(EnvironmentError) {
      let contract = try source.readAsApp()
      result.version = contract.version
      result.unknownFields = contract.unknownFields
      result.notes = ContractNotes.of(contract, document: try source.document())
    } catch {
      result.problem = error.message
      status = error.kind.rawValue
    }
    if options.has("--json") {
      try Output.print(json: result)
    } else {
      result.write(to: terminal)
    }
    return status
  }

  private struct Result: Encodable {
    var contract: String
    var version: Int?
    /// Members that an app would not know, and would warn of.
    var unknownFields: [String] = []
    /// What an app would pass over in silence.
    var notes: [String] = []
    var problem: String?

    func write(to terminal: Terminal) {
      if let problem { return terminal.error(problem) }
      Output.print("\(contract): ok, version \(version ?? 0)")
      if !unknownFields.isEmpty {
        terminal.line("these members are not known: \(unknownFields.joined(separator: ", "))")
      }
      for note in notes { terminal.line(note) }
    }
  }

  private static let table: [Options.Option] = [.init("--json", nil, "as JSON")]

  private static let help = """
    usage: diorama contract check [--json] [PATH]

    Reads a launch contract as an app does at its launch, and names what an app would refuse, not know or pass over.
    Ends with 65 when something is broken, 66 when nothing is there. Without PATH it reads DIORAMA_CONTRACT.

    \(Options.describe(table))
    """
}
