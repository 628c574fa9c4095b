import Basics
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
  /// Days after which `once` records anew. `replay` never does, and neither does `once` where `CI` is set: they say that
  /// it is time to.
  package var recordsAnewAfterDays: Double?
  /// What about interactions that a replay has not used; they are listed in the report in any case.
  package var unused = Severity.warn

  package init() {}

  /// Days that may be given: up to a century.
  package static let days = 0.01...36_525.0

  /// - Throws: a ``CodedError`` of kind `usage` for a number of days that is none; it names the member.
  func check() throws(CodedError) {
    for (name, days) in [("expiresAfterDays", expiresAfterDays), ("recordsAnewAfterDays", recordsAnewAfterDays)] {
      guard let days, !Self.days.contains(days) else { continue }
      throw CodedError(.usage, "policies.\(name): \(days) is not between 0.01 and 36525 days")
    }
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
  /// What the policies make of a recording that is there: whether it is recorded anew, and what is to be said.
  ///
  /// - Parameters:
  ///   - mode: that of the environment, with `once` being what it means here.
  ///   - recordedAt: RFC 3339, as the cassette says.
  ///   - now: the machine's time.
  ///   - upstreams: the cassette's own.
  /// - Returns: whether it is recorded anew, and what is to be said; nil for nothing.
  /// - Throws: a ``CodedError`` of kind `broken` for a recording that has expired, where that is to fail.
  func verdict(
    in mode: Mode, recordedAt: String?, now: Date, upstreams: [(name: String, url: String)]
  ) throws(CodedError) -> (recordsAnew: Bool, note: String?) {
    let policies = policies ?? CassettePolicies()
    guard policies.expiresAfterDays != nil || policies.recordsAnewAfterDays != nil else { return (false, nil) }
    let har = cassette?.har ?? ""
    let advice = "re-record it: \(recordAdvice(.record, upstreams: upstreams))"
    let known = RecordingAge(recordedAt: recordedAt, now: now)
    guard let age = known, !age.isToCome else {
      let why =
        known == nil
        ? "does not say when it was recorded" : "says that it was recorded at \(recordedAt ?? ""), a time to come"
      let problem = "\(har) \(why), so nobody knows whether it has expired"
      if policies.expiresAfterDays != nil, policies.expired == .fail {
        throw CodedError(.broken, "\(problem); \(advice)")
      }
      return (false, "\(problem); \(advice)")
    }
    if age.exceeds(policies.recordsAnewAfterDays) {
      let limit = policies.recordsAnewAfterDays.map(Self.dayText) ?? ""
      if self.mode == .once, !isContinuousIntegration {
        return (true, "\(har) \(age.text), more than \(limit): recording it anew")
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
