package import Foundation
package import PortLeases

/// Until when an environment lives if nobody ends it: its owner's end, an instant, or whichever comes first.
package struct Lifetime: Codable, Sendable, Equatable {
  /// Seconds that something lives for which nobody gave an owner or a time.
  static let standardSeconds = 3600.0
  /// A year: longer than anybody looks after a test.
  static let longestSeconds = 31_536_000.0

  package var owner: PortOwner?
  package var endsAt: Date?

  package init(owner: PortOwner? = nil, endsAt: Date? = nil) {
    self.owner = owner
    self.endsAt = endsAt
  }

  /// - Parameters:
  ///   - owner: a process; nil for none.
  ///   - seconds: how long from now.
  ///   - now: the time.
  /// - Throws: a ``DaemonError`` 422 for an owner that does not exist, and for a time that is none.
  package init(owner: Int32?, seconds: Double?, now: Date) throws(DaemonError) {
    if let owner {
      guard owner > 0, let found = PortOwner(pid: owner) else {
        throw DaemonError(
          422, "There is no such owner", "owner.pid: there is no process \(owner); give the id of one that runs")
      }
      self.owner = found
    }
    if let seconds {
      guard seconds > 0, seconds <= Self.longestSeconds else {
        throw DaemonError(
          422, "There is no such time to live",
          "ttlSeconds: it is \(seconds); give more than 0 and at most \(Int(Self.longestSeconds))")
      }
    }
    endsAt = (seconds ?? (owner == nil ? Self.standardSeconds : nil)).map { now.addingTimeInterval($0) }
  }

  /// Why it ends now; nil while it does not.
  func cause(at now: Date, isGone: (PortOwner) -> Bool) -> EndCause? {
    if let owner, isGone(owner) { return .owner }
    if let endsAt, endsAt <= now { return .time }
    return nil
  }
}

/// Why an environment ends.
package enum EndCause: String, Codable, CaseIterable, Sendable {
  /// Somebody asked for it.
  case request
  /// Its owner is gone.
  case owner
  /// Its time is over.
  case time
  /// The daemon ends.
  case stop
  /// It could not come back after a restart.
  case lost
}
