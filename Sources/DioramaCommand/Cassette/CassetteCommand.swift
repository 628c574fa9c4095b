import Basics
import Cassettes
import EnvironmentService
import Foundation
import HTTPMessages
import LaunchContract

/// `diorama cassette`: shows, checks, compares and converts recordings.
enum CassetteCommand {
  static func run(_ arguments: [String], terminal: Terminal) throws -> Int32 {
    var arguments = arguments
    guard let name = arguments.first else {
      throw CodedError(
        usage: "missing subcommand; choose from \(verbs.dropLast().joined(separator: ", ")) or \(verbs.last ?? "")",
        command: "cassette"
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
      throw CodedError(
        usage: "unknown subcommand 'cassette \(name)'" + suggestion(for: name, among: verbs), command: "cassette")
    }
  }

  private static let verbs = ["show", "check", "diff", "prune", "import", "export"]

  /// The cassettes named on the command line.
  static func locations(_ options: Options, command: String) throws(CodedError) -> [CassetteLocation] {
    let paths = options.operands + (options.rest ?? [])
    guard !paths.isEmpty else { throw CodedError(usage: "no cassette; give its path", command: command) }
    return paths.map(CassetteLocation.init)
  }

  private static let help = """
    usage: diorama cassette show|check PATH …
           diorama cassette diff OLD NEW
           diorama cassette prune PATH --report FILE …
           diorama cassette import FILE … --to PATH
           diorama cassette export PATH --to FILE|FOLDER --as har|wiremock

      show    list the interactions of a cassette
      check   verify that a cassette can be replayed; compare it with its
              upstreams (--live) or an OpenAPI document (--openapi)
      diff    compare two cassettes
      prune   remove interactions that no test has used
      import  convert recordings of other tools to a cassette
      export  convert a cassette to a HAR for other tools, or to WireMock mappings

    PATH stands for PATH.har, PATH.strings.json and PATH.bodies.

    """
}

/// `diorama cassette show`: lists the contents of cassettes.
enum CassetteShow {
  static func run(_ arguments: [String], terminal: Terminal) throws -> Int32 {
    let options = try Options(arguments, table: table, command: "cassette show")
    if options.has("--help") {
      print(help, terminator: "")
      return 0
    }
    var status: Int32 = 0
    var listings: [Listing] = []
    let locations = try CassetteCommand.locations(options, command: "cassette show")
    for location in locations {
      do throws(CodedError) {
        let unfinished = try CassetteSealer.unfinished(location)
        guard location.exists || unfinished == nil else {
          throw CodedError(.noCassette, unfinishedText(location, unfinished ?? 0))
        }
        let stored = try terminal.progress("reading \(location.har)") { () throws(CodedError) in
          try CassetteReader.read(location)
        }
        let listing = Listing(stored, location: location, unfinished: unfinished)
        listings.append(listing)
        if options.has("--json") { continue }
        for line in listing.lines { Output.print(line) }
        if let unfinished { terminal.line(unfinishedText(location, unfinished)) }
      } catch {
        terminal.error(error.message)
        status = status == 0 ? error.kind.rawValue : status
      }
    }
    if options.has("--json") {
      if locations.count > 1 {
        try Output.print(json: listings)
      } else if let listing = listings.first {
        try Output.print(json: listing)
      }
    }
    return status
  }

  private static func unfinishedText(_ location: CassetteLocation, _ count: Int) -> String {
    "\(location.partial) is an unfinished recording of \(counted(count, "interaction")); "
      + "recover it with: diorama cassette check --recover \(location)"
  }

  private static let table: [Options.Option] = [.init("--json", nil, "print JSON; an array for several cassettes")]

  private static let help = """
    usage: diorama cassette show [--json] PATH …

    Prints when a cassette was recorded, its upstreams, and its interactions in
    recorded order.

    \(Options.describe(table))
    """
}

/// The contents of a cassette, as a table or as JSON.
struct Listing: Encodable {
  struct Interaction: Encodable {
    var index: Int
    var upstream: String?
    var method: String
    var url: String
    var status: Int
    var contentType: String?
    /// The size of the decoded response body.
    var bytes: Int
    var milliseconds: Double
    var startedAt: String
  }

  var cassette: String
  var recording: String?
  var recordedAt: String?
  var timeZone: String?
  var locale: String?
  var seed: String?
  var upstreams: [String: String]
  var interactions: [Interaction]
  /// The number of recorded strings by key.
  var strings: [String: Int]
  /// Interactions of an unfinished recording beside the cassette, if any.
  var unfinished: Int?
  /// Entries of another tool's HAR that can't be replayed, and why.
  var skipped: [String]

  init(_ stored: StoredCassette, location: CassetteLocation, unfinished: Int?) {
    let header = stored.cassette.header
    cassette = location.har
    recording = header.recording
    recordedAt = header.recordedAt
    timeZone = header.timeZone
    locale = header.locale
    seed = header.seed
    upstreams = Dictionary(header.upstreams.map { ($0.name, $0.origin.description) }) { first, _ in first }
    interactions = stored.cassette.interactions.enumerated().map { index, interaction in
      Interaction(
        index: index, upstream: interaction.upstream, method: interaction.request.method,
        url: interaction.request.url, status: interaction.response.status,
        contentType: interaction.response.headers["Content-Type"], bytes: interaction.response.body.length,
        milliseconds: interaction.milliseconds, startedAt: interaction.startedAt)
    }
    strings = stored.strings.entries.mapValues { $0.count { $0 != nil } }
    self.unfinished = unfinished
    skipped = stored.cassette.skipped
  }

  var lines: [String] {
    let recorded = recordedAt.map { ", recorded \($0)" } ?? ""
    var lines = ["\(cassette): \(counted(interactions.count, "interaction"))" + recorded]
    let place = [timeZone, locale].compactMap { $0 }
    if !place.isEmpty { lines.append("  " + place.joined(separator: ", ")) }
    for (name, origin) in upstreams.sorted(by: { $0.key < $1.key }) { lines.append("  upstream \(name) = \(origin)") }
    for (key, count) in strings.sorted(by: { $0.key < $1.key }) {
      lines.append("  string \(key): \(counted(count, "value"))")
    }
    for reason in skipped { lines.append("  left out: \(reason)") }
    if !interactions.isEmpty {
      let rows = interactions.map { interaction in
        [
          String(interaction.index), interaction.method, String(interaction.status), String(interaction.bytes),
          String(format: "%.1f", interaction.milliseconds), interaction.url,
        ]
      }
      lines.append("")
      lines +=
        Table(header: ["#", "method", "status", "bytes", "ms", "url"], rows: rows, rightAligned: [0, 3, 4]).lines
    }
    return lines
  }
}

/// A text table.
struct Table {
  var header: [String]
  var rows: [[String]]
  /// Indices of numeric columns.
  var rightAligned: Set<Int>

  var lines: [String] {
    // Escaped before the widths are computed.
    let all = ([header] + rows).map { $0.map(\.escapedForTerminal) }
    let widths = header.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
    return all.map { row in
      let cells = row.enumerated().map { column, cell in
        let padding = String(repeating: " ", count: widths[column] - cell.count)
        if rightAligned.contains(column) { return padding + cell }
        return column == row.count - 1 ? cell : cell + padding
      }
      return cells.joined(separator: "  ")
    }
  }
}
