import Basics
import CassetteChecks
import Cassettes
import EnvironmentService
import Foundation

/// `diorama cassette diff`: compares two cassettes.
enum CassetteDiffCommand {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let locations = try CassetteCommand.locations(options, command: name)
    guard locations.count == 2 else {
      throw CodedError(usage: "diff takes two cassettes, OLD and NEW", command: name)
    }
    let recordings = try locations.map { location in
      let stored = try terminal.progress("reading \(location.har)") { () throws(CodedError) in
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
      /// Indices in the old and the new cassette.
      var old: Int?
      var new: Int?
      var method: String
      var url: String
      var request: ChangeListing?
      var response: ChangeListing?
    }

    var old: String
    var new: String
    /// Whether the shape is unchanged.
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
          // Changed values alone are common, so they are only counted.
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

  private static let name = "cassette diff"

  private static let table: [Options.Option] = [
    .init("--values", nil, "also list changed values, which are only counted by default"),
    .init("--json", nil, "print JSON"),
  ]

  static let command = Command(
    name, "compare two cassettes", usage: ["cassette diff [--values] [--json] OLD NEW"],
    about: """
      Lists interactions that are gone, added or changed, one difference a line.
      Changes of shape (fields, types, statuses, content types, headers) are listed
      separately from changed values.
      """, options: table, notes: "Exit status: 0 the shape is unchanged; 1 it has changed.", operands: .files, run: run
  )
}

/// Exit statuses of comparisons, as in diff(1).
enum DriftStatus {
  /// The shape has changed, or contradicts the document.
  static let changed: Int32 = 1
}

/// Changes as JSON and as text.
struct ChangeListing: Encodable {
  struct Item: Encodable {
    /// `gone`, `added`, `type`, `status`, `contentType` or `value`.
    var what: String
    var place: String
    var was: String?
    var now: String?
    /// The text line.
    var text: String

    init(_ change: Change) {
      what = change.kind.rawValue
      place = change.place
      was = change.was
      now = change.now
      text = change.description
    }
  }

  var shape: [Item]
  /// How many values have changed.
  var valueCount: Int
  /// Nil unless requested.
  var values: [Item]?

  init(_ changes: Changes, withValues: Bool) {
    shape = changes.shape.map(Item.init)
    valueCount = changes.valueCount
    values = withValues ? changes.values.map(Item.init) : nil
  }

  /// The text lines, with changes of shape first.
  ///
  /// - Parameter title: a prefix such as `request `.
  /// - Returns: indented lines.
  func lines(_ title: String = "") -> [String] {
    var lines = shape.map { "  \(title)\($0.text)" }
    guard valueCount > 0 else { return lines }
    guard let values else {
      return lines + ["  \(title)\(counted(valueCount, "value")) changed (--values shows them)"]
    }
    lines += values.map { "  \(title)value: \($0.text)" }
    if values.count < valueCount { lines.append("  \(title)\(counted(valueCount - values.count, "more value"))") }
    return lines
  }
}
