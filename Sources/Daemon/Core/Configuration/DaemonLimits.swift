import LaunchContract

/// How much there may be of everything: beyond it a request is refused, and what there is already goes on as before.
package struct DaemonLimits: Codable, Sendable, Equatable {
  /// Environments at one time.
  package var environments = 4096
  /// Leased ports at one time, those of environments among them.
  package var leases = 12_768
  /// Bytes of a request's body.
  package var bodyBytes = 8 << 20
  /// Calls of the control API that wait at one time: for a journal to go on, as a page or a stream of events, for
  /// sleepers, for apps to apply a change.
  package var waits = 1024
  /// Questions for an environment's state that wait at one time: each app that follows its environment has one.
  package var stateWaits = 8192
  /// Seconds that a call of the control API may wait.
  package var waitSeconds = 300.0
  /// Journal entries of one environment that are kept.
  package var journalEntries = 10_000
  /// Ended environments whose reports are kept.
  package var reports = 256
  /// Bytes of those reports in all.
  package var reportBytes = 16 << 20

  package init() {}

  private enum CodingKeys: String, CodingKey, CaseIterable {
    case environments, leases, bodyBytes, waits, stateWaits, waitSeconds, journalEntries, reports, reportBytes
  }

  package init(from decoder: any Decoder) throws {
    try decoder.refuseOthers(than: CodingKeys.allCases.map(\.rawValue))
    let container = try decoder.container(keyedBy: CodingKeys.self)
    func count(_ key: CodingKeys, _ standard: Int, _ allowed: ClosedRange<Int>) throws -> Int {
      let value = try container.decodeIfPresent(Int.self, forKey: key) ?? standard
      guard allowed ~= value else {
        throw ContractError(
          "limits.\(key.rawValue): it is \(value), not between \(allowed.lowerBound) and \(allowed.upperBound)")
      }
      return value
    }
    environments = try count(.environments, environments, 1...65_536)
    leases = try count(.leases, leases, 1...65_536)
    bodyBytes = try count(.bodyBytes, bodyBytes, 1024...(1 << 30))
    waits = try count(.waits, waits, 1...65_536)
    stateWaits = try count(.stateWaits, stateWaits, 1...65_536)
    journalEntries = try count(.journalEntries, journalEntries, 1...10_000_000)
    reports = try count(.reports, reports, 1...65_536)
    reportBytes = try count(.reportBytes, reportBytes, 1024...(1 << 30))
    waitSeconds = try container.decodeIfPresent(Double.self, forKey: .waitSeconds) ?? waitSeconds
    guard 0...86_400 ~= waitSeconds else {
      throw ContractError("limits.waitSeconds: it is \(waitSeconds), not between 0 and 86400")
    }
  }
}
