/// What `GET {control}/state` answers: the world as it is, and the steps that led to it.
package struct LiveState: Codable, Sendable, Equatable {
  /// The clock as it is now.
  package struct ClockReading: Codable, Sendable, Equatable {
    /// What an app that starts now is told.
    package var clock: LaunchContract.Clock
    /// RFC 3339: what it shows.
    package var now: String

    private enum CodingKeys: String, CodingKey {
      case now
    }

    package init(clock: LaunchContract.Clock, now: String) {
      self.clock = clock
      self.now = now
    }

    package init(from decoder: any Decoder) throws {
      clock = try LaunchContract.Clock(from: decoder)
      now = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .now)
    }

    package func encode(to encoder: any Encoder) throws {
      try clock.encode(to: encoder)
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(now, forKey: .now)
    }
  }

  /// Somebody waits until the apps have so many sleepers: each app that follows says how many it has, now and whenever
  /// that changes, until the watch is over.
  package struct Watch: Codable, Sendable, Equatable {
    /// Tells this watch from others.
    package var id: Int
    /// How many there are to be, in all apps together.
    package var sleepers: Int

    package init(id: Int, sleepers: Int) {
      self.id = id
      self.sleepers = sleepers
    }
  }

  /// The last step's number; 0 before the first.
  package var revision: Int
  /// Whether the environment has ended: nothing more will come.
  package var over = false
  /// How the network is served.
  package var mode: String?
  /// The toggles that are set.
  package var toggles: [String: ContractValue]?
  /// The values that are set.
  package var values: [String: ContractValue]?
  /// The clock.
  package var clock: ClockReading?
  /// The steps after the one that was asked for, in order; the first of them where they are many.
  package var steps: [LiveStep]
  /// Nil while nobody waits for sleepers.
  package var watch: Watch?

  package init(revision: Int, steps: [LiveStep]) {
    self.revision = revision
    self.steps = steps
  }
}
