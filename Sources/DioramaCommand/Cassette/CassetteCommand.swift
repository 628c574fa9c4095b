import Basics
import Cassettes
import EnvironmentService
import Foundation
import HTTPMessages
import LaunchContract

/// `diorama cassette`: shows, checks, compares and converts recordings.
enum CassetteCommand {
  static let command = Command(
    "cassette", "show, check, compare and convert recordings",
    usage: [
      "cassette show|check PATH|FOLDER …", "cassette diff OLD NEW", "cassette prune PATH|FOLDER --report FILE …",
      "cassette import FILE … --to PATH", "cassette export PATH --to FILE|FOLDER --as har|wiremock",
    ],
    about: "PATH stands for PATH.har, PATH.strings.json and PATH.bodies.",
    subcommands: [
      CassetteShow.command, CassetteCheck.command, CassetteDiffCommand.command, CassettePrune.command,
      CassetteImport.command, CassetteExport.command,
    ])

  /// The cassettes named on the command line.
  ///
  /// - Parameters:
  ///   - options: the command's.
  ///   - command: the command whose help an error names.
  ///   - acceptsFolders: whether a folder stands for all cassettes in it.
  /// - Returns: at least one cassette.
  /// - Throws: ``CodedError`` for a path that cannot be a cassette's.
  static func locations(
    _ options: Options, command: String, acceptsFolders: Bool = false
  ) throws(CodedError) -> [CassetteLocation] {
    let paths = options.operands + (options.rest ?? [])
    guard !paths.isEmpty else { throw CodedError(usage: "no cassette; give its path", command: command) }
    var locations: [CassetteLocation] = []
    for path in paths {
      let location = CassetteLocation(path)
      let kind = path.isEmpty ? nil : InputFile.refusedKind(path)
      if acceptsFolders, kind == "a folder", path.hasSuffix("/") || !location.exists {
        let inside = CassetteLocation.all(inFolder: path)
        guard !inside.isEmpty else {
          throw CodedError(.noCassette, "the folder '\(path)' has no cassettes; name another folder, or a cassette")
        }
        locations += inside
      } else {
        do { try location.check() } catch { throw CodedError(usage: error.problem, command: command) }
        locations.append(location)
      }
    }
    return locations
  }
}

/// `diorama cassette show`: lists the contents of cassettes.
enum CassetteShow {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    var status: Int32 = 0
    var listings: [Listing] = []
    let locations = try CassetteCommand.locations(options, command: "cassette show", acceptsFolders: true)
    for location in locations {
      do throws(CodedError) {
        let unfinished = try CassetteSealer.unfinished(location)
        guard location.exists || unfinished == nil else {
          throw CodedError(.noCassette, unfinished?.text(location) ?? "")
        }
        let stored = try terminal.progress("reading \(location.har)") { () throws(CodedError) in
          try CassetteReader.read(location)
        }
        let listing = Listing(stored, location: location, unfinished: unfinished?.interactions)
        listings.append(listing)
        if options.has("--json") { continue }
        try Output.write(lines: listing.lines)
        if let unfinished { terminal.line(unfinished.text(location)) }
      } catch {
        terminal.error(error.message)
        status = status == 0 ? error.kind.rawValue : status
      }
    }
    if options.has("--json") {
      if locations.count > 1 {
        try Output.write(json: listings)
      } else if let listing = listings.first {
        try Output.write(json: listing)
      }
    }
    return status
  }

  static let command = Command(
    "cassette show", "list the interactions of a cassette", usage: ["cassette show [--json] PATH|FOLDER …"],
    about: """
      Prints when a cassette was recorded, its upstreams, and its interactions in
      recorded order. A folder stands for all cassettes in it.
      """,
    options: [.init("--json", nil, "print JSON; an array for several cassettes")], operands: .files, run: run)
}

/// The contents of a cassette, as a table or as JSON.
struct Listing: Encodable {
  struct Interaction: Encodable {
    var index: Int
    var upstream: String?
    var method: String
    var url: String
    var status: Int
    /// The gRPC status of a call that failed, such as `5 NOT_FOUND`.
    var grpcStatus: String?
    var contentType: String?
    /// The size of the decoded response body.
    var bytes: Int
    var milliseconds: Double
    var startedAt: String
    /// True if the test itself sent the request, to prepare something for the app.
    var setup: Bool?
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
        grpcStatus: Self.grpcStatus(of: interaction.response),
        contentType: interaction.response.headers["Content-Type"], bytes: interaction.response.body.length,
        milliseconds: interaction.milliseconds, startedAt: interaction.startedAt,
        setup: interaction.isSetup ? true : nil)
    }
    strings = stored.strings.entries.mapValues { $0.count { $0 != nil } }
    self.unfinished = unfinished
    skipped = stored.cassette.skipped
  }

  /// The names of gRPC's status codes, by code (https://grpc.io/docs/guides/status-codes/).
  private static let grpcCodes = [
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
    "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
    "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
  ]

  private static func grpcStatus(of response: RecordedResponse) -> String? {
    // A call that fails at once may have it in its header.
    guard let text = response.trailers["grpc-status"] ?? response.headers["grpc-status"], text != "0" else {
      return nil
    }
    guard let code = Int(text), grpcCodes.indices.contains(code) else { return text }
    return "\(text) \(grpcCodes[code])"
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
          String(interaction.index), interaction.method,
          String(interaction.status) + (interaction.grpcStatus.map { ", grpc-status \($0)" } ?? ""),
          String(interaction.bytes),
          String(format: "%.1f", interaction.milliseconds),
          interaction.url + (interaction.setup == true ? "  (setup)" : ""),
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
