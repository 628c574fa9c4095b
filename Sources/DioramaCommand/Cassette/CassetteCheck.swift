import Basics
import Cassettes
import EnvironmentService
import Foundation

/// `diorama cassette check`: verifies cassettes, and recovers the unfinished recording of a killed process.
enum CassetteCheck {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    if let other = try comparison(options) { return try other(options, name, terminal) }
    _ = try ConfigurationOptions.project(options)
    var status: Int32 = 0
    var results: [Result] = []
    let locations = try CassetteCommand.locations(options, command: name, acceptsFolders: true)
    for (index, location) in locations.enumerated() {
      var result = Result(cassette: location.har)
      var unfinished: CassetteSealer.Unfinished?
      // Whether a recording that was kept aside is newer than the cassette.
      var isNews = false
      do {
        try terminal.progress("checking \(location.har)\(locations.count > 1 ? ":" : "")") { progress in
          if locations.count > 1 { progress.show(index + 1, of: locations.count) }
          if options.has("--recover"), let recovery = try CassetteRecovery.recover(location) {
            result.recovered = recovery.added
            result.previous = recovery.previous?.har
          }
          let contents = try CassetteVerifier.verify(location)
          result.interactions = contents.interactions
          result.strings = contents.strings
          result.leftOut = contents.skipped.isEmpty ? nil : contents.skipped
          result.withoutBody = contents.incomplete.isEmpty ? nil : contents.incomplete
          result.partial = contents.cut.isEmpty ? nil : contents.cut
          result.unusedBodies = contents.strayBodies
          try location.checkForSideFiles()
          unfinished = try CassetteSealer.unfinished(location)
          result.unfinished = unfinished?.interactions
          result.failed = location.failed?.har
          let recoverable = location.recoverable
          result.kept = recoverable.map(\.har)
          isNews = recoverable.first.map { $0.modified > location.modified } ?? false
        }
      } catch let error as CodedError {
        result.problem = error.message
        status = status == 0 ? error.kind.rawValue : status
      }
      results.append(result)
      if options.has("--json") { continue }
      try result.write(isNews: isNews, to: terminal)
      if let unfinished { terminal.line(unfinished.text(location)) }
    }
    if options.has("--json") { try Output.write(json: results) }
    return status
  }

  /// The comparison to run instead of the check, if requested.
  private static func comparison(
    _ options: Options
  ) throws(CodedError) -> ((Options, String, Terminal) throws -> Int32)? {
    let isLive = options.has("--live")
    let isDocument = options.has("--openapi")
    guard isLive || isDocument else {
      for option in ["--upstream", "--timeout", "--values"] + accessNames where options.has(option) {
        throw CodedError(usage: "\(option) requires --live", command: name)
      }
      return nil
    }
    guard !isLive || !isDocument else {
      throw CodedError(usage: "--live and --openapi cannot be combined", command: name)
    }
    guard !options.has("--recover") else {
      throw CodedError(
        usage: "--recover changes the cassette; run it before \(isLive ? "--live" : "--openapi")", command: name)
    }
    if isLive { return CassetteLiveCheck.run }
    for option in ["--timeout", "--values"] + accessNames where options.has(option) {
      throw CodedError(usage: "\(option) requires --live, not --openapi", command: name)
    }
    return CassetteDocumentCheck.run
  }

  private struct Result: Encodable {
    var cassette: String
    var interactions: Int?
    var strings: Int?
    /// Entries of the HAR that aren't interactions, and why.
    var leftOut: [String]?
    /// Entries whose body was not saved and replays as empty.
    var withoutBody: [String]?
    /// Responses whose body is recorded in part.
    var partial: [String]?
    /// Body files that no interaction uses.
    var unusedBodies: Int?
    /// Interactions recovered from an unfinished or failed recording.
    var recovered: Int?
    /// The HAR that holds the cassette as it was before the recovery.
    var previous: String?
    /// Interactions of an unfinished recording.
    var unfinished: Int?
    /// The HAR of the last run that failed.
    var failed: String?
    /// The HARs of all runs that failed or were killed, beside the cassette; the newest first.
    var kept: [String]?
    var problem: String?

    func write(isNews: Bool, to terminal: Terminal) throws(CodedError) {
      if let recovered {
        let kept = previous.map { "; the old cassette is kept as \($0)" } ?? ""
        try Output.write(lines: ["\(cassette): recovered \(counted(recovered, "interaction"))\(kept)"])
      }
      if let problem { return terminal.error(problem) }
      let holds = "\(counted(interactions ?? 0, "interaction")), \(counted(strings ?? 0, "string"))"
      try Output.write(lines: ["\(cassette): ok, \(holds)"])
      for reason in leftOut ?? [] { terminal.line("left out: \(reason)") }
      for entry in withoutBody ?? [] { terminal.line("\(entry): the body was not saved and replays as empty") }
      for entry in partial ?? [] {
        terminal.line(
          "\(entry): the body is incomplete: the app or the upstream disconnected, or the recording ended first")
      }
      if let unusedBodies, unusedBodies > 0 {
        let bodies = unusedBodies == 1 ? "1 unused body" : "\(unusedBodies) unused bodies"
        terminal.line("\(bodies) beside the cassette; remove with --recover")
      }
      for (index, har) in (kept ?? []).enumerated() {
        terminal.line(
          "a run that failed or was killed recorded \(har)"
            + (index == 0 && isNews
              ? "; make it the cassette with --recover" : "; a newer one exists; remove this one unless you need it"))
      }
    }
  }

  private static let name = "cassette check"
  private static let accessNames = ["--header"] + AccessOptions.table.map(\.name)

  private static let table: [Options.Option] =
    [
      .init(
        "--recover", nil,
        "make the recording of a failed or killed run the cassette; keeps the old one as PATH.previous.har"),
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

  static let command = Command(
    name, "verify cassettes; compare them with their upstreams or a document",
    usage: [
      "cassette check [--recover] [--json] PATH|FOLDER …", "cassette check --live [option …] PATH|FOLDER …",
      "cassette check --openapi FILE [option …] PATH|FOLDER …",
    ],
    about: """
      Verifies the project file and cassettes: the HAR, string store and bodies. With
      --live or --openapi, compares a cassette with its upstreams or a document
      instead, and changes nothing. A folder stands for all cassettes in it.
      """, options: table,
    notes: """
      Exit status: 0 valid; 65 broken; 66 no cassette. With --live and --openapi: 1
      the shape has changed or contradicts the document; 69 an upstream didn't answer.
      """, operands: .files, run: run)
}
