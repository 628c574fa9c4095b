import Basics
import Cassettes
import EnvironmentService
import Foundation

/// `diorama cassette check`: verifies cassettes, and recovers the unfinished recording of a killed process.
enum CassetteCheck {
  static func run(_ arguments: [String], terminal: Terminal) throws -> Int32 {
    let options = try Options(arguments, table: table, command: command)
    if options.has("--help") {
      print(help, terminator: "")
      return 0
    }
    if let other = try comparison(options) { return try other(options, command, terminal) }
    _ = try ConfigurationOptions.project(options)
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
          try location.checkForSideFiles()
          result.unfinished = try CassetteSealer.unfinished(location)
          result.failed = location.failed?.har
        }
      } catch let error as CodedError {
        result.problem = error.message
        status = status == 0 ? error.kind.rawValue : status
      }
      results.append(result)
      if !options.has("--json") { result.write(to: terminal) }
    }
    if options.has("--json") { try Output.print(json: results) }
    return status
  }

  /// The comparison to run instead of the check, if requested.
  private static func comparison(
    _ options: Options
  ) throws(CodedError) -> ((Options, String, Terminal) throws -> Int32)? {
    let isLive = options.has("--live")
    let isDocument = options.has("--openapi")
    guard isLive || isDocument else {
      for name in ["--upstream", "--timeout", "--values"] + accessNames where options.has(name) {
        throw CodedError(usage: "\(name) requires --live", command: command)
      }
      return nil
    }
    guard !isLive || !isDocument else {
      throw CodedError(usage: "--live and --openapi exclude each other", command: command)
    }
    guard !options.has("--recover") else {
      throw CodedError(
        usage: "--recover changes the cassette; run it before \(isLive ? "--live" : "--openapi")", command: command)
    }
    if isLive { return CassetteLiveCheck.run }
    for name in ["--timeout", "--values"] + accessNames where options.has(name) {
      throw CodedError(usage: "\(name) requires --live, not --openapi", command: command)
    }
    return CassetteDocumentCheck.run
  }

  private struct Result: Encodable {
    var cassette: String
    var interactions: Int?
    var strings: Int?
    /// Entries of the HAR that aren't interactions, and why.
    var leftOut: [String]?
    /// Body files that no interaction uses.
    var unusedBodies: Int?
    /// Interactions recovered from an unfinished or failed recording.
    var recovered: Int?
    /// Interactions of an unfinished recording.
    var unfinished: Int?
    /// The HAR of the last run that failed.
    var failed: String?
    var problem: String?

    func write(to terminal: Terminal) {
      if let recovered {
        Output.print("\(cassette): recovered \(counted(recovered, "interaction"))")
      }
      if let problem { return terminal.error(problem) }
      let holds = "\(counted(interactions ?? 0, "interaction")), \(counted(strings ?? 0, "string"))"
      Output.print("\(cassette): ok, \(holds)")
      for reason in leftOut ?? [] { terminal.line("left out: \(reason)") }
      if let unusedBodies, unusedBodies > 0 {
        let bodies = unusedBodies == 1 ? "1 unused body" : "\(unusedBodies) unused bodies"
        terminal.line("\(bodies) beside the cassette; remove with --recover")
      }
      if let unfinished {
        terminal.line(
          "unfinished recording of \(counted(unfinished, "interaction")) beside the cassette; recover with --recover"
        )
      }
      if let failed {
        terminal.line("a failed run recorded \(failed); make it the cassette with --recover")
      }
    }
  }

  private static let command = "cassette check"
  private static let accessNames = ["--header"] + AccessOptions.table.map(\.name)

  private static let table: [Options.Option] =
    [
      .init("--recover", nil, "make an unfinished recording the cassette; keeps the old one as PATH.previous.har"),
      .init("--live", nil, "repeat the recorded GET, HEAD and OPTIONS requests, and report changes"),
      .init(
        "--upstream", "NAME=URL",
        "with --live: the upstream's current URL (default: as recorded);\nwith --openapi: NAME, the upstream that the document describes;\nrepeatable"
      ),
      .init(
        "--header", "UPSTREAM/NAME=SOURCE",
        "with --live: replace a recorded header field; SOURCE is env:VAR or file:PATH; repeatable"
      ),
    ] + AccessOptions.table.map { .init($0.name, $0.value, "with --live: " + $0.help) } + [
      .init("--timeout", "SECONDS", "with --live: response timeout (default: 30)"),
      .init("--values", nil, "with --live: also list changed values"),
      .init("--openapi", "FILE", "compare with an OpenAPI 3.0 or 3.1 document, in YAML or JSON"),
      .init("--json", nil, "print JSON"),
    ] + ConfigurationOptions.projectTable

  private static let help = """
    usage: diorama cassette check [--recover] [--json] PATH …
           diorama cassette check --live [option …] PATH …
           diorama cassette check --openapi FILE [option …] PATH …

    Verifies the project file and cassettes: the HAR, string store and bodies. With
    --live or --openapi, compares a cassette with its upstreams or a document
    instead, and changes nothing.

    Exit status: 0 valid; 65 broken; 66 no cassette. With --live and --openapi: 1
    the shape has changed or contradicts the document; 69 an upstream didn't answer.

    \(Options.describe(table))
    """
}
