import Basics
import EnvironmentConfiguration
import Foundation
import LaunchContract

/// What happens to old recordings, unused interactions, and runs that fail.
///
/// Age is counted from the recording date to the machine's date; the environment's clock does not affect it.
package struct CassettePolicies: Sendable, Codable, Equatable {
  /// How to report something that need not be an error.
  package enum Severity: String, Sendable, Codable, CaseIterable {
    /// Print a warning; the environment remains valid.
    case warn
    /// Fail: the environment is not provisioned, or its report is not ok.
    case fail
  }

  /// Days after which a replayed recording expires; nil for never.
  package var expiresAfterDays: Double?
  /// How to report an expired recording.
  package var expired = Severity.fail
  /// Days after which `once` re-records; nil for never. `replay`, and `once` if `CI` is set, print a note instead.
  package var rerecordAfterDays: Double?
  /// How to report interactions that a replay did not use. The report always lists them.
  package var unused = Severity.warn
  /// Whether the recording of a failed run replaces the cassette. Otherwise, it is saved beside the cassette.
  package var replacesAfterFailure: Bool?
  /// Whether a program may make no requests even if upstreams are declared.
  package var allowsNoRequests: Bool?
  /// Whether a recording may succeed even if an upstream failed, a request was for an undeclared host, or the app
  /// cancelled a response.
  package var allowsUpstreamFailures: Bool?

  package init() {}

  /// Converts a configuration's policies.
  ///
  /// - Parameter policies: the checked settings.
  init(_ policies: EnvironmentConfiguration.Policies) {
    expiresAfterDays = policies.expiresAfterDays
    rerecordAfterDays = policies.rerecordAfterDays
    expired = policies.expired.flatMap(Severity.init(rawValue:)) ?? .fail
    unused = policies.unused.flatMap(Severity.init(rawValue:)) ?? .warn
    replacesAfterFailure = policies.failedRecording == "replace"
    allowsNoRequests = policies.allowNoRequests
    allowsUpstreamFailures = policies.allowUpstreamFailures
  }
}

/// The age of a recording.
struct RecordingAge {
  /// The recording date in RFC 3339 format, as in the cassette.
  private let recordedAt: String
  private let days: Double

  /// Nil if the cassette has no valid recording date.
  init?(recordedAt: String?, now: Date) {
    guard let recordedAt, let date = RFC3339.parse(recordedAt) else { return nil }
    self.recordedAt = recordedAt
    days = now.timeIntervalSince(date) / 86_400
  }

  /// Whether the recording date is in the future, as after recording with a frozen clock. One day is allowed for
  /// differences between the clocks and time zones of two machines.
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
  ///   - mode: the environment's mode, with `once` resolved.
  ///   - recordedAt: the recording date in RFC 3339 format, as in the cassette.
  ///   - now: the machine's time.
  ///   - upstreams: the cassette's upstreams.
  /// - Returns: whether to re-record, and a note for the user, if any.
  /// - Throws: a ``CodedError`` of kind `broken` if the recording has expired, or its age is unknown, and the
  ///   policy is to fail.
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
