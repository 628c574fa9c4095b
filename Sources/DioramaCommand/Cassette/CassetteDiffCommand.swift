import CassetteChecks
import Cassettes
import EnvironmentService
import Foundation
import HTTPMessages

/// `diorama cassette diff`: what became of a recording.
enum CassetteDiffCommand {
  static func run(_ arguments: [String], terminal: Terminal) throws -> Int32 {
    let options = try Options(arguments, table: table, command: command)
    if options.has("--help") {
      try Output.write(raw: help)
      return 0
    }
    let locations = try CassetteCommand.locations(options, command: command)
    guard locations.count == 2 else {
      throw UsageError("diff takes two cassettes, OLD and NEW", command: command)
    }
    let recordings = try locations.map { location in
      let stored = try terminal.progress("reading \(location.har)") { () throws(EnvironmentError) in
        try CassetteReader.read(location)
      }
      return Recording(stored.cassette) { try CassetteReader.bytes(of: $0, in: location) }
    }
    let diff = try terminal.progress("comparing") { try CassetteDiff(old: recordings[0], new: recordings[1]) }
    let result = Result(diff, locations, withValues: options.has("--values"))
    try options.has("--json") ? Output.write(json: result) : Output.write(lines: result.lines)
    return result.same ? 0 : DriftStatus.changed
  }

  private struct Result: Encodable {
    struct Entry: Encodable {
      /// `gone`, `added` or `changed`.
      var what: String
      /// Indices in the old and in the new cassette.
      var old: Int?
      var new: Int?
      var method: String
      var url: String
      var request: ChangeListing?
      var response: ChangeListing?
    }

    var old: String
    var new: String
    /// Whether nothing changed in shape.
    var same: Bool
    var interactions: [Entry]

    init(_ diff: CassetteDiff, _ locations: [CassetteLocation], withValues: Bool) {
      old = locations[0].har
      new = locations[1].har
      same = !diff.entries.contains { $0.isShape }
      interactions = diff.entries.map { entry in
        func listing(_ changes: Changes) -> ChangeListing? {
          changes.isEmpty ? nil : ChangeListing(changes, withValues: withValues)
        }
        return Entry(
          what: entry.new == nil ? "gone" : entry.old == nil ? "added" : "changed", old: entry.old, new: entry.new,
          method: entry.method, url: entry.url, request: listing(entry.request), response: listing(entry.response))
      }
    }

    var lines: [String] {
      var lines: [String] = []
      var folded = 0
      var foldedValues = 0
      for entry in interactions {
        let call = "\(entry.method) \(entry.url)"
        switch (entry.old, entry.new) {
        case (let old?, nil): lines.append("gone: interaction \(old), \(call)")
        case (nil, let new?): lines.append("added: interaction \(new), \(call)")
        case (let old?, let new?):
          let listings = [("request ", entry.request), ("", entry.response)].compactMap { title, listing in
            listing.map { (title, $0) }
          }
          // What changed in values only is the rule, not the news.
          guard listings.contains(where: { !$0.1.shape.isEmpty || $0.1.values != nil }) else {
            folded += 1
            foldedValues += listings.reduce(0) { $0 + $1.1.valueCount }
            continue
          }
          lines.append("changed: interaction \(old)\(old == new ? "" : ", now \(new)"), \(call)")
          for (title, listing) in listings { lines += listing.lines(title) }
        case (nil, nil): break
        }
      }
      if folded > 0 {
        lines.append(
          "\(counted(foldedValues, "value")) of \(counted(folded, "interaction")) changed (--values shows them)")
      }
      return lines
    }
  }

  private static let command = "cassette diff"

  private static let table: [Options.Option] = [
    .init("--values", nil, "show also what changed in value alone; else it is only counted"),
    .init("--json", nil, "as JSON"),
  ]

  private static let help = """
    usage: diorama cassette diff [--values] [--json] OLD NEW

    Says what became of a cassette: interactions gone, added and changed, one difference a line. What changed in shape
    (fields gone or new, types, statuses, content types, headers) stands apart from what only has another value.
    Ends with 0 when nothing changed in shape, with 1 when something did.

    \(Options.describe(table))
    """
}
