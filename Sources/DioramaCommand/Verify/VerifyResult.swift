import Basics
import ControlAPI
import Foundation
import RunComparison

/// The result of `diorama verify`, as its JSON has it.
struct VerifyResult: Encodable, Sendable {
  /// A run.
  struct Run: Encodable, Sendable {
    var run: Int
    /// How it was scheduled, such as `alone, on one processor`.
    var conditions: String
    var seconds: Double
    var status: Int32
    var requests: Int
    var unmatched: Int
  }

  /// The command, as it can be typed.
  var command: String
  /// Whether all runs did the same.
  var deterministic: Bool
  /// Whether all runs succeeded.
  var ok: Bool
  var runs: [Run]
  /// The numbers of the runs that did the same.
  var groups: [[Int]]
  /// The first difference of each subject, the most likely cause first.
  var differences: [Difference]
  var notes: [String]
  /// What failed in each run, if all failed in the same way.
  var failures: [String]

  /// - Parameters:
  ///   - command: the command, as it can be typed.
  ///   - outcomes: the runs in order, at least one.
  ///   - comparison: how they differ.
  init(command: String, outcomes: [ReplayRun.Outcome], comparison: TraceComparison) {
    self.command = command
    deterministic = comparison.groups.count == 1
    ok = outcomes.allSatisfy { $0.trace.status == 0 }
    runs = outcomes.map { outcome in
      Run(
        run: outcome.conditions.run, conditions: outcome.conditions.text, seconds: outcome.seconds,
        status: outcome.trace.status, requests: outcome.report.requests.total,
        unmatched: outcome.report.requests.unmatched)
    }
    groups = comparison.groups
    differences = comparison.differences
    notes = comparison.notes
    if deterministic, let first = outcomes.first, first.report.requests.total == 0 {
      notes.append("no request reached the environment, so only the output and the exit status were compared")
    }
    if let cut = outcomes.first(where: { $0.outputSize > Trace.outputLimit }) {
      notes.append(
        "run \(cut.conditions.run) printed \(cut.outputSize) bytes; only the first \(Trace.outputLimit >> 20) MiB were "
          + "compared")
    }
    failures = []
    let undisturbed = outcomes.filter { $0.conditions.isUndisturbed }.map(\.conditions.run)
    if !deterministic, undisturbed.count > 1, undisturbed == groups.first {
      notes.append(
        "only runs beside others or under stress differ, so timing or something that runs share is the cause")
    }
    if deterministic, let first = outcomes.first, first.trace.status != 0 {
      // The same lines as in the report of a run, after its summary.
      failures = Array(ReportText(first.report).lines().dropFirst())
    }
  }

  /// The exit status: 3 if the runs differ, otherwise that of each run.
  var exitStatus: Int32 { deterministic ? runs.first?.status ?? 0 : 3 }

  /// What was found, in one line.
  var verdict: String {
    let count = counted(runs.count, "run")
    guard deterministic else { return "\(count) differ" }
    guard let status = runs.first?.status, status != 0 else { return "\(count) did the same" }
    return "\(count) failed in the same way, with status \(status)"
  }

  /// The lines for a terminal.
  ///
  /// - Parameter styled: adds a style to a text.
  /// - Returns: the lines. Only `styled` can add control characters; others are escaped.
  func lines(_ styled: Difference.Styled) -> [String] {
    let seconds = runs.reduce(0) { $0 + $1.seconds }
    let counts = Set(runs.map(\.requests)).sorted()
    let requests = counts == [1] ? "1 request" : "\(alternatives(counts.map(String.init))) requests"
    let isGood = deterministic && ok
    var lines = [
      "verify " + styled(isGood ? "ok" : "failed", isGood ? .good : .bad) + ": \(verdict), \(requests) each, "
        + String(format: "%.2f s in all", seconds)
    ]
    if !deterministic {
      lines.append(Difference.text(of: groups))
    }
    lines += Difference.lines(differences, styled)
    for run in runs.prefix(10) where !deterministic {
      lines.append(
        "run \(run.run): status \(run.status), \(counted(run.requests, "request"))"
          + (run.unmatched > 0 ? " (\(run.unmatched) not recorded)" : "") + ", \(run.conditions)")
    }
    lines += failures
    lines += notes.map { styled("note", .doubtful) + ": \($0.escapedForTerminal)" }
    return lines
  }
}
