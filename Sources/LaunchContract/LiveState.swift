/// The response to `GET {control}/state`: the environment's current state and the steps that led to it.
package struct LiveState: Codable, Sendable, Equatable {
  /// The state of the clock.
  package struct ClockReading: Codable, Sendable, Equatable {
    /// The clock of an app that starts now.
    package var clock: LaunchContract.Clock
    /// The current time of the clock in RFC 3339.
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

  /// A wait for a number of sleepers: each following app reports its number now and whenever it changes, until the watch
  /// ends.
  package struct Watch: Codable, Sendable, Equatable {
    /// Distinguishes this watch from others.
    package var id: Int
    /// The required number of sleepers in all apps together.
    package var sleepers: Int

    package init(id: Int, sleepers: Int) {
      self.id = id
      self.sleepers = sleepers
    }
  }

  /// The number of the last step; 0 before the first.
  package var revision: Int
  /// Whether the environment has ended, so no more steps follow.
  package var over = false
  /// How the network is served.
  package var mode: String?
  /// The toggles that are set.
  package var toggles: [String: ContractValue]?
  /// The values that are set.
  package var values: [String: ContractValue]?
  /// The clock.
  package var clock: ClockReading?
  /// The steps after the requested one, in order; possibly only the first of many.
  package var steps: [LiveStep]
  /// The current watch, if any.
  package var watch: Watch?

  package init(revision: Int, steps: [LiveStep]) {
    self.revision = revision
    self.steps = steps
  }
}
