extension TestEnvironment {
  /// The process that runs a test's environment.
  ///
  /// The default is set by the variable `DIORAMA_DAEMON`; without it, the environment runs in the test process. A
  /// daemon is used only if requested, even if one is already running. On platforms where the test process cannot run
  /// environments, such as iOS, the default is the daemon.
  ///
  /// ```swift
  /// @Suite(.environment(upstreams: ["api": "https://dev.api1.com"], host: .daemon))
  /// struct BookingTests { … }
  /// ```
  public struct Host: Sendable, Equatable {
    enum Place: Sendable, Equatable {
      case embedded
      /// The state folder; nil for the user's default.
      case daemon(String?)
    }

    let place: Place

    /// The test process. Provisioning fails on platforms where it cannot run environments, such as iOS.
    public static let embedded = Host(place: .embedded)
    /// The user's daemon. If none is running, it is started with the command `diorama`, beside the tests or in `PATH`.
    public static let daemon = Host(place: .daemon(nil))

    /// The daemon with another state folder.
    ///
    /// - Parameter stateFolder: the folder's path.
    /// - Returns: the host.
    public static func daemon(stateFolder: String) -> Host { Host(place: .daemon(stateFolder)) }
  }
}
