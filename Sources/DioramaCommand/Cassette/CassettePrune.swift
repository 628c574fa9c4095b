import ControlAPI
import DaemonClient
import Basics
import Cassettes
import EnvironmentService
import Foundation

/// `diorama cassette prune`: removes interactions that no test has used.
enum CassettePrune {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let locations = try CassetteCommand.locations(options, command: name, acceptsFolders: true)
    let files = options.all("--report")
    let days = try options.number("--from-fleet", 1...3650, command: name)
    guard days == nil || files.isEmpty else {
      throw CodedError(usage: "--report and --from-fleet cannot be combined", command: name)
    }
    if let days { return try finish(try fleetPlans(locations, days: days, options), locations, options) }
    guard !files.isEmpty else {
      throw CodedError(
        usage:
          "--report is missing; give the report of each test that replays the cassette, from: diorama run --report; or "
          + "--from-fleet DAYS",
        command: name)
    }
    let usages = try files.map { file in
      CassettePruner.Usage(file: file, report: try read(file))
    }
    if locations.count > 1,
      let other = usages.first(where: { usage in
        !locations.contains { $0.har == usage.report.cassette }
      })
    {
      throw CodedError(
        .broken, "\(other.file) is for \(other.report.cassette ?? "no cassette"), which is not one of these cassettes")
    }
    // Of several cassettes, those without a report are left alone.
    let plans = try locations.compactMap { location in
      let own = locations.count == 1 ? usages : usages.filter { $0.report.cassette == location.har }
      return own.isEmpty ? nil : try Plan(location, accordingTo: own)
    }
    return try finish(plans, locations, options)
  }

  /// What no run of the fleet has used. Of several cassettes, those that it does not know are left alone.
  private static func fleetPlans(
    _ locations: [CassetteLocation], days: Int, _ options: Options
  ) throws -> [Plan] {
    let access = DaemonAccess(local: options)
    return try locations.compactMap { location in
      let cassette = try CassetteReader.read(location).cassette
      guard let recordedAt = cassette.header.recordedAt else {
        Terminal().line("skipped \(location.har): it has no recording date")
        return nil
      }
      let file = (location.har as NSString).lastPathComponent
      do throws(DaemonClientError) {
        let usage = try access.ask { client throws(DaemonClientError) in
          try await client.usage(of: file, recordedAt: recordedAt, days: days)
        }
        guard usage.interactions == cassette.interactions.count else {
          Terminal().line("skipped \(location.har): the replays were of another version of it")
          return nil
        }
        return Plan(location: location, cassette: cassette, unused: usage.unused)
      } catch {
        guard locations.count > 1, error.exitStatus == CodedError.Kind.noCassette.rawValue else { throw error }
        Terminal().line("skipped \(location.har): \(error.message)")
        return nil
      }
    }
  }

  private static func finish(_ plans: [Plan], _ locations: [CassetteLocation], _ options: Options) throws -> Int32 {
    let results = try plans.map { plan in
      var result = Result(plan, isDone: !options.has("--dry-run"))
      guard result.isDone, !plan.unused.isEmpty else { return result }
      result.previous = try CassettePruner.remove(plan.unused, from: plan.location).previous.har
      return result
    }
    if options.has("--json") {
      try locations.count == 1 && results.count == 1 ? Output.write(json: results[0]) : Output.write(json: results)
    } else {
      try Output.write(lines: results.flatMap(\.lines))
    }
    return 0
  }

  /// What to remove from a cassette.
  private struct Plan {
    let location: CassetteLocation
    let cassette: Cassette
    let unused: [Int]

    init(location: CassetteLocation, cassette: Cassette, unused: [Int]) {
      self.location = location
      self.cassette = cassette
      self.unused = unused
    }

    init(_ location: CassetteLocation, accordingTo usages: [CassettePruner.Usage]) throws(CodedError) {
      self.location = location
      cassette = try CassetteReader.read(location).cassette
      unused = try CassettePruner.unused(of: cassette, in: location, accordingTo: usages)
    }
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
    /// The HAR of the previous cassette.
    var previous: String?
    /// False after `--dry-run`.
    var isDone: Bool

    init(_ plan: Plan, isDone: Bool) {
      cassette = plan.location.har
      removed = plan.unused.map { index in
        let request = plan.cassette.interactions[index].request
        return Removed(method: request.method, url: request.url, index: index)
      }
      interactions = plan.cassette.interactions.count - plan.unused.count
      self.isDone = isDone
    }

    var lines: [String] {
      if removed.isEmpty {
        return ["\(cassette): nothing to remove, since all \(counted(interactions, "interaction")) were used"]
      }
      let verb = isDone ? "removed" : "would remove"
      return removed.map { "\(verb): interaction \($0.index), \($0.method) \($0.url)" }
        + ["\(cassette): \(verb) \(counted(removed.count, "interaction")), \(interactions) left"]
        + (previous.map { ["previous cassette: \($0)"] } ?? [])
    }
  }

  private static let name = "cassette prune"

  private static let table: [Options.Option] = [
    .init("--report", "FILE", "the report of a test that replays the cassette; repeatable"),
    .init(
      "--from-fleet", "DAYS",
      "in place of reports: remove what no successful replay in a daemon has used in the last DAYS, on any host; replays of diorama run do not count"
    ),
    DaemonAccess.option,
    .init("--dry-run", nil, "only print what would be removed"),
    .init("--json", nil, "print the result as JSON"),
  ]

  static let command = Command(
    name, "remove interactions that no test has used",
    usage: [
      "cassette prune PATH|FOLDER --report FILE … [option …]",
      "cassette prune PATH|FOLDER --from-fleet DAYS [option …]",
    ],
    about: """
      Removes interactions that are unused in every report, with their bodies. Give
      the reports of all tests that replay the cassette; otherwise, interactions that
      the other tests need are removed. The old cassette is kept as PATH.previous.har.
      In a folder, only cassettes that have a report are pruned.
      """, options: table,
    notes: """
      Exit status: 65 a report is of another recording or of a failed test; 66 the
      fleet knows no replay of the cassette. Nothing is changed then.
      """, operands: .files, run: run)
}
