import ControlAPI
import Basics
import Cassettes
import EnvironmentService
import Foundation

/// `diorama cassette prune`: removes interactions that no test has used.
enum CassettePrune {
  static func run(_ arguments: [String], terminal: Terminal) throws -> Int32 {
    let options = try Options(arguments, table: table, command: command)
    if options.has("--help") {
      try Output.write(raw: help)
      return 0
    }
    let locations = try CassetteCommand.locations(options, command: command)
    guard locations.count == 1, let location = locations.first else {
      throw CodedError(usage: "prune takes one cassette at a time", command: command)
    }
    let files = options.all("--report")
    guard !files.isEmpty else {
      throw CodedError(
        usage:
          "--report is missing; give the report of each test that replays the cassette, from: diorama run --report",
        command: command)
    }
    let usages = try files.map { file in
      CassettePruner.Usage(file: file, report: try read(file))
    }
    let cassette = try CassetteReader.read(location).cassette
    let unused = try CassettePruner.unused(of: cassette, in: location, accordingTo: usages)
    var result = Result(cassette: location.har, removed: [], interactions: cassette.interactions.count)
    for index in unused {
      let request = cassette.interactions[index].request
      result.removed.append(.init(method: request.method, url: request.url, index: index))
    }
    result.isDone = !options.has("--dry-run")
    if result.isDone, !unused.isEmpty {
      result.interactions = try CassettePruner.remove(unused, from: location)
    } else {
      result.interactions -= unused.count
    }
    try options.has("--json") ? Output.write(json: result) : Output.write(lines: result.lines)
    return 0
  }

  private static func read(_ file: String) throws -> Report {
    let bytes = try WholeFiles.read(file, acceptsPipes: true)
    do {
      return try JSONDecoder().decode(Report.self, from: Data(bytes))
    } catch {
      throw CodedError(
        .broken,
        "\(file) is not a report; give a file written by diorama run --report or diorama env report --json")
    }
  }

  private struct Result: Encodable {
    struct Removed: Encodable {
      var method: String
      var url: String
      /// The index, as in `diorama cassette show`.
      var index: Int
    }

    var cassette: String
    var removed: [Removed]
    /// The number of remaining interactions.
    var interactions: Int
    /// False after `--dry-run`.
    var isDone = true

    var lines: [String] {
      let verb = isDone ? "removed" : "would remove"
      return removed.map { "\(verb): interaction \($0.index), \($0.method) \($0.url)" }
        + ["\(cassette): \(verb) \(counted(removed.count, "interaction")), \(interactions) left"]
    }
  }

  static let command = "cassette prune"

  private static let table: [Options.Option] = [
    .init("--report", "FILE", "the report of a test that replays the cassette; repeatable"),
    .init("--dry-run", nil, "only print what would be removed"),
    .init("--json", nil, "print the result as JSON"),
  ]

  private static let help = """
    usage: diorama cassette prune PATH --report FILE … [options]

    Removes interactions that are unused in every report, with their bodies. Give
    the reports of all tests that replay the cassette; otherwise, interactions that
    the other tests need are removed.

    Exit status: 65 a report is of another recording or of a failed test; nothing is
    changed then.

    \(Options.describe(table))
    """
}
