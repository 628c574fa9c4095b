/// One change of an environment while its apps run. Steps are numbered from 1 without a gap; whoever follows applies
/// each once, in order: toggles and values first, then the clock, so that whoever is woken finds the new ones.
package struct LiveStep: Codable, Sendable, Equatable {
  /// A duration, exactly.
  package struct Advance: Codable, Sendable, Equatable {
    /// Whole seconds.
    package var seconds: Int64
    /// The rest, in 10⁻¹⁸ seconds.
    package var attoseconds: Int64

    package init(_ duration: Duration) {
      (seconds, attoseconds) = duration.components
    }

    /// Both together.
    package var duration: Duration { Duration(secondsComponent: seconds, attosecondsComponent: attoseconds) }
  }

  /// Which change it is.
  package var revision: Int
  /// A merge patch.
  package var toggles: [String: ContractValue]?
  /// A merge patch.
  package var values: [String: ContractValue]?
  /// The whole of the clock that takes the place of the old one.
  package var clock: LaunchContract.Clock?
  /// So far the clock moves on.
  package var advance: Advance?
  /// RFC 3339: what wall time is set to.
  package var set: String?
  /// How the network is served from now on, for the app's information.
  package var mode: String?

  package init(revision: Int) {
    self.revision = revision
  }
}
