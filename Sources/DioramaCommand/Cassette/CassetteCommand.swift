import EnvironmentService
import Foundation

/// `diorama cassette`: shows, checks, compares and converts recordings.
enum CassetteCommand {
  static func run(_ arguments: [String], terminal: Terminal) throws -> Int32 {
    var arguments = arguments
    guard let name = arguments.first else {
      throw UsageError(
        "cassette needs a verb: \(verbs.dropLast().joined(separator: ", ")) or \(verbs.last ?? "")", command: "cassette"
      )
    }
    arguments.removeFirst()
    switch name {
    case "show": return try CassetteShow.run(arguments, terminal: terminal)
    case "check": return try CassetteCheck.run(arguments, terminal: terminal)
    case "prune": return try CassettePrune.run(arguments, terminal: terminal)
    case "diff": return try CassetteDiffCommand.run(arguments, terminal: terminal)
    case "import": return try CassetteImport.run(arguments, terminal: terminal)
    case "export": return try CassetteExport.run(arguments, terminal: terminal)
    case "--help", "-h", "help":
      print(help, terminator: "")
      return 0
    default:
      throw UsageError(
        "cassette has no verb '\(name)'" + suggestion(for: name, among: verbs), command: "cassette")
    }
  }

  private static let verbs = ["show", "check", "diff", "prune", "import", "export"]

  /// The cassettes that a verb is to work on.
  static func locations(_ options: Options, command: String) throws(UsageError) -> [CassetteLocation] {
    let paths = options.operands + (options.rest ?? [])
    guard !paths.isEmpty else { throw UsageError("name a cassette", command: command) }
    return paths.map(CassetteLocation.init)
  }

  private static let help = """
    usage: diorama cassette show|check PATH …
           diorama cassette diff OLD NEW
           diorama cassette prune PATH --report FILE …
           diorama cassette import FILE … --to PATH
           diorama cassette export PATH --to FILE|FOLDER --as har|wiremock

      show    what a cassette holds, one interaction a line
      check   whether it can be replayed; with --recover: take up an unfinished recording;
              with --live or --openapi: whether the backends, or a document, still agree with it
      diff    what became of a cassette: shape apart from values
      prune   take out what no test has used, according to their reports
      import  make a cassette of a HAR, or of what Vinyl, DVR, VCR or vcrpy have recorded
      export  write a cassette as a HAR for other tools, or as stub mappings for WireMock

    PATH is without ending: PATH.har, PATH.strings.json, PATH.bodies.

    """
}
