extension TestEnvironment {
  /// The process in which a test's environment lives.
  ///
  /// If left out, the variable `DIORAMA_DAEMON` decides; if that is not set either, it is the test process. A daemon is
  /// only used on request, never because one happens to run.
  ///
  /// ```swift
  /// @Suite(.environment(upstreams: ["api": "https://dev.api1.com"], host: .daemon))
  /// struct BookingTests { … }
  /// ```
  public struct Host: Sendable, Equatable {
    enum Place: Sendable, Equatable {
      case embedded
      /// The state folder; nil for the user's own.
      case daemon(String?)
    }

    let place: Place

    /// The test process itself.
    public static let embedded = Host(place: .embedded)
    /// The user's daemon; one is started where none runs and the command `diorama` is to be found.
    public static let daemon = Host(place: .daemon(nil))

    /// The daemon of a state folder.
    ///
    /// - Parameter stateFolder: its path.
    /// - Returns: the host.
    public static func daemon(stateFolder: String) -> Host { Host(place: .daemon(stateFolder)) }
  }
}
