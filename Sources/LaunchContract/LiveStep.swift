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
  package var toggles: [String: ContractValue]?
  /// A merge patch.
  package var values: [String: ContractValue]?
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
