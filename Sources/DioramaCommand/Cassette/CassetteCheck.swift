import Cassettes
import EnvironmentService
import Foundation

/// `diorama cassette check`: whether a cassette can be replayed, and taking up what a killed recording left.
enum CassetteCheck {
  static func run(_ arguments: [String], terminal: Terminal) throws -> Int32 {
    let options = try Options(arguments, table: table, command: command)
    if options.has("--help") {
      print(help, terminator: "")
      return 0
    }
    if let other = try comparison(options) { return try other(options, command, terminal) }
    var status: Int32 = 0
    var results: [Result] = []
    for location in try CassetteCommand.locations(options, command: command) {
      var result = Result(cassette: location.har)
      do {
        try terminal.progress("checking \(location.har)") {
          if options.has("--recover") { result.recovered = try CassetteRecovery.recover(location)?.added }
          let contents = try CassetteVerifier.verify(location)
          result.interactions = contents.interactions
          result.strings = contents.strings
          result.leftOut = contents.skipped.isEmpty ? nil : contents.skipped
          result.unusedBodies = contents.strayBodies
          result.rules = location.declaredRules
          if let path = location.declaredRules { _ = try EnvironmentSpecification.readRules(path) }
          let redaction = RedactionFiles.paths(beside: location)
          result.redaction = redaction.isEmpty ? nil : redaction
          result.shift = ShiftFiles.declared(for: location)
          do {
            for path in redaction { _ = try RedactionFiles.read(path) }
            if let path = result.shift { try ShiftFiles.check(path) }
          } catch let error as EnvironmentError where error.kind == .usage {
            // Nobody has asked for these files: they are a part of what is checked.
            throw EnvironmentError(.broken, error.message)
          }
          result.unfinished = try CassetteSealer.unfinished(location)
        }
      } catch let error as EnvironmentError {
        result.problem = error.message
        status = status == 0 ? error.kind.rawValue : status
      }
      results.append(result)
      if !options.has("--json") { result.write(to: terminal) }
    }
    if options.has("--json") { try Output.print(json: results) }
    return status
  }

  /// What to hold the cassette against, where it is to be held against something.
  private static func comparison(
    _ options: Options
  ) throws(UsageError) -> ((Options, String, Terminal) throws -> Int32)? {
    let isLive = options.has("--live")
    let isDocument = options.has("--openapi")
    guard isLive || isDocument else {
      for name in ["--upstream", "--timeout", "--values"] + accessNames where options.has(name) {
        throw UsageError("\(name) belongs to --live; add that", command: command)
      }
      return nil
    }
    guard !isLive || !isDocument else {
      throw UsageError("--live and --openapi are two checks; run one after the other", command: command)
    }
    guard !options.has("--recover") else {
      throw UsageError(
        "--recover changes the cassette; run it before \(isLive ? "--live" : "--openapi")", command: command)
    }
    if isLive { return CassetteLiveCheck.run }
    for name in ["--timeout", "--values"] + accessNames where options.has(name) {
      throw UsageError("\(name) belongs to --live, not to --openapi", command: command)
    }
    return CassetteDocumentCheck.run
  }

  private struct Result: Encodable {
    var cassette: String
    var interactions: Int?
    var strings: Int?
    /// The file of rules that holds for it.
    var rules: String?
    /// The files of what is redacted in it.
    var redaction: [String]?
    /// The file of how its dates move.
    var shift: String?
    /// What of its HAR is no interaction, and why.
    var leftOut: [String]?
    /// Files among its bodies that no interaction has.
    var unusedBodies: Int?
    /// Interactions taken over from an unfinished recording.
    var recovered: Int?
    /// Interactions of an unfinished recording that is still there.
    var unfinished: Int?
    var problem: String?

    func write(to terminal: Terminal) {
      if let recovered {
        Output.print("\(cassette): recovered \(counted(recovered, "interaction")) of an unfinished recording")
      }
      if let problem { return terminal.error(problem) }
      let rules = rules.map { ", rules in \($0)" } ?? ""
      let redaction = (redaction ?? []).map { ", redaction in \($0)" }.joined()
      let shift = shift.map { ", shift in \($0)" } ?? ""
      let holds = "\(counted(interactions ?? 0, "interaction")), \(counted(strings ?? 0, "string"))"
      Output.print("\(cassette): ok, \(holds)\(rules)\(redaction)\(shift)")
      for reason in leftOut ?? [] { terminal.line("left out: \(reason)") }
      if let unusedBodies, unusedBodies > 0 {
        let them = unusedBodies == 1 ? "is a body" : "are \(unusedBodies) bodies"
        terminal.line("beside it \(them) that no interaction has, left by something killed; --recover removes that")
      }
      if let unfinished {
        terminal.line(
          "beside it is an unfinished recording of \(counted(unfinished, "interaction")); --recover makes it the cassette"
        )
      }
    }
  }

  private static let command = "cassette check"
  private static let accessNames = ["--header"] + AccessOptions.table.map(\.name)

  private static let table: [Options.Option] =
    [
      .init("--recover", nil, "make an unfinished recording the cassette; the old one is kept as PATH.previous.har"),
      .init("--live", nil, "repeat the safe requests (GET, HEAD, OPTIONS), say what the backends answer otherwise"),
      .init(
        "--upstream", "NAME=URL",
        "with --live: where a backend is now, repeatable; else where it was\nwith --openapi: NAME, the backend that the document is of"
      ),
      .init(
        "--header", "UPSTREAM/NAME=SOURCE",
        "with --live: a header field in place of the recorded one, repeatable:\nUPSTREAM/NAME=env:VAR or =file:PATH"
      ),
    ] + AccessOptions.table.map { .init($0.name, $0.value, "with --live: " + $0.help) } + [
      .init("--timeout", "SECONDS", "with --live: how long an answer may take; default 30"),
      .init("--values", nil, "with --live: show also what changed in value alone"),
      .init("--openapi", "FILE", "hold the cassette against an OpenAPI 3.0 or 3.1 document, YAML or JSON"),
      .init("--json", nil, "as JSON"),
    ]

  private static let help = """
    usage: diorama cassette check [--recover] [--json] PATH …
           diorama cassette check --live [--upstream NAME=URL …] [--header …] [--values] [--json] PATH …
           diorama cassette check --openapi FILE [--upstream NAME …] [--json] PATH …

    Reads a cassette whole: HAR, string store, bodies, the rules, redaction and shift that hold for it. Ends with 65 when
    something is broken, 66 when nothing is there.
    With --live and --openapi it writes nothing, and ends with 1 when something changed in shape, or is not as the document
    has it; with 69 when a backend gave no answer.

    \(Options.describe(table))
    """
}
