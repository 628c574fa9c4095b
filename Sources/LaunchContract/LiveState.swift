package import Basics

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
  package var toggles: [String: JSON]?
  /// The values that are set.
  package var values: [String: JSON]?
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

/// A change of an environment while its apps run. Steps are numbered from 1 without gaps. A follower applies each once, in
/// order: toggles and values first, then the clock, so a woken sleeper sees the new ones.
package struct LiveStep: Codable, Sendable, Equatable {
  /// An exact duration.
  package struct Advance: Codable, Sendable, Equatable {
    /// Whole seconds.
    package var seconds: Int64
    /// The fraction, in 10⁻¹⁸ seconds.
    package var attoseconds: Int64

    package init(_ duration: Duration) {
      (seconds, attoseconds) = duration.components
    }

    /// The duration.
    package var duration: Duration { Duration(secondsComponent: seconds, attosecondsComponent: attoseconds) }
  }

  /// The number of the step.
  package var revision: Int
  /// A merge patch.
  package var toggles: [String: JSON]?
  /// A merge patch.
  package var values: [String: JSON]?
  /// The new clock, which replaces the old one.
  package var clock: LaunchContract.Clock?
  /// How far the clock advances.
  package var advance: Advance?
  /// The new wall time in RFC 3339.
  package var set: String?
  /// How the network is served from now on, for the app's information.
  package var mode: String?

  package init(revision: Int) {
    self.revision = revision
  }
}

/// The body of `POST {control}/acknowledge`, sent by an app that follows its environment: it has applied a step, or
/// reports its number of sleepers.
package struct Acknowledgement: Codable, Sendable, Equatable {
  /// The name that the app uses when it requests the state.
  package var follower: String
  /// The step that has been applied, including all earlier ones.
  package var revision: Int?
  /// The time of the app's clock after the step, in RFC 3339.
  package var now: String?
  /// The number of sleepers that the step woke.
  package var woken: Int?
  /// Why the step could not be applied.
  package var error: String?
  /// The watch to which `sleepers` belongs.
  package var watch: Int?
  /// The number of sleepers.
  package var sleepers: Int?

  package init(
    follower: String, revision: Int? = nil, now: String? = nil, woken: Int? = nil, error: String? = nil,
    watch: Int? = nil, sleepers: Int? = nil
  ) {
    self.follower = follower
    self.revision = revision
    self.now = now
    self.woken = woken
    self.error = error
    self.watch = watch
    self.sleepers = sleepers
  }
}

extension Acknowledgement {
  /// Whether this is a valid app name: 1 to 100 letters, digits, `.`, `_` and `-`.
  package static func isName(_ text: String) -> Bool {
    1...100 ~= text.utf8.count && text.utf8.allSatisfy(isNameByte)
  }

  /// Whether a name may contain the byte.
  package static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }
}
