import Basics
import EnvironmentConfiguration
import Foundation
import LaunchContract

/// What is to become of a recording that has grown old, and of interactions that a replay leaves unused.
///
/// Age is counted from the recording date to now, both of the real environment: a frozen clock does not keep a recording young.
package struct CassettePolicies: Sendable, Codable, Equatable {
  /// What to do about something that need not be wrong.
  package enum Severity: String, Sendable, Codable, CaseIterable {
    /// Say so; the environment holds nevertheless.
    case warn
    /// The environment is not provisioned, or its report is not ok.
    case fail
  }

  /// Days after which a recording that is replayed has expired; nil: it never does.
  package var expiresAfterDays: Double?
  /// What then.
  package var expired = Severity.fail
  /// Days after which `once` re-records. `replay` never does, nor does `once` if `CI` is set: they print a note
  /// instead.
  package var rerecordAfterDays: Double?
  /// What about interactions that a replay has not used; they are listed in the report in any case.
  package var unused = Severity.warn

  package init() {}

  /// - Parameter policies: as a configuration has them, checked.
  init(_ policies: EnvironmentConfiguration.Policies) {
    expiresAfterDays = policies.expiresAfterDays
    rerecordAfterDays = policies.rerecordAfterDays
    expired = policies.expired.flatMap(Severity.init(rawValue:)) ?? .fail
    unused = policies.unused.flatMap(Severity.init(rawValue:)) ?? .warn
  }
}

/// How old a recording is.
struct RecordingAge {
  /// RFC 3339, as the cassette says.
  private let recordedAt: String
  private let days: Double

  /// Nil where the cassette does not say when it was recorded.
  init?(recordedAt: String?, now: Date) {
    guard let recordedAt, let date = RFC3339.parse(recordedAt) else { return nil }
    self.recordedAt = recordedAt
    days = now.timeIntervalSince(date) / 86_400
  }

  /// A frozen clock can have been set to any date; a day is what the clocks and zones of two machines may differ by.
  var isToCome: Bool { days < -1 }

  func exceeds(_ limit: Double?) -> Bool { limit.map { days > $0 } ?? false }

  /// `was recorded 45 days ago (2018-10-08)`.
  var text: String {
    let whole = Int(days.rounded(.down))
    let ago = whole < 1 ? "less than a day ago" : "\(counted(whole, "day")) ago"
    return "was recorded \(ago) (\(recordedAt.prefix(10)))"
  }
}

extension EnvironmentSpecification {
  /// Applies the policies to an existing recording: whether to re-record it, and what to report.
  ///
  /// - Parameters:
  ///   - mode: that of the environment, with `once` being what it means here.
  ///   - recordedAt: RFC 3339, as the cassette says.
  ///   - now: the machine's time.
  ///   - upstreams: the cassette's own.
  /// - Returns: whether to re-record, and a note; nil for none.
  /// - Throws: a ``CodedError`` of kind `broken` for a recording that has expired, where that is to fail.
  func verdict(
    in mode: Mode, recordedAt: String?, now: Date, upstreams: [(name: String, url: String)]
  ) throws(CodedError) -> (rerecords: Bool, note: String?) {
    let policies = policies ?? CassettePolicies()
    guard policies.expiresAfterDays != nil || policies.rerecordAfterDays != nil else { return (false, nil) }
    let har = cassette?.har ?? ""
    let advice = "re-record it: \(recordAdvice(.record, upstreams: upstreams))"
    let known = RecordingAge(recordedAt: recordedAt, now: now)
    guard let age = known, !age.isToCome else {
      let why =
        known == nil
        ? "does not say when it was recorded" : "says that it was recorded at \(recordedAt ?? ""), in the future"
      let problem = "\(har) \(why), so its age is unknown"
      if policies.expiresAfterDays != nil, policies.expired == .fail {
        throw CodedError(.broken, "\(problem); \(advice)")
      }
      return (false, "\(problem); \(advice)")
    }
    if age.exceeds(policies.rerecordAfterDays) {
      let limit = policies.rerecordAfterDays.map(Self.dayText) ?? ""
      if self.mode == .once, !isContinuousIntegration {
        return (true, "\(har) \(age.text), more than \(limit): re-recording it")
      }
      if !age.exceeds(policies.expiresAfterDays) {
        return (false, "\(har) \(age.text), more than \(limit); \(advice)")
      }
    }
    guard age.exceeds(policies.expiresAfterDays), let limit = policies.expiresAfterDays else { return (false, nil) }
    let problem = "\(har) \(age.text) and expires after \(Self.dayText(limit)); \(advice)"
    if policies.expired == .fail { throw CodedError(.broken, problem) }
    return (false, problem)
  }

  private static func dayText(_ days: Double) -> String {
    days == days.rounded() ? counted(Int(days), "day") : "\(days) days"
  }
}
