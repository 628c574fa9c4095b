/// Finds a daemon, or starts one that leaves again when it is idle.
package struct DaemonStarter: Sendable {
  /// How long a daemon may take until it is ready, and how long another may take to start one.
  private static let patience = Duration.seconds(30)

  /// Where the daemon is found.
  package let home: DaemonHome
  /// The path of the command `diorama`, absolute or to be found in PATH; nil where there is none.
  package let program: String?

  package init(home: DaemonHome, program: String?) {
    self.home = home
    self.program = program
  }

  /// Finds the daemon, and starts it if there is none. Who asks at the same time, in whatever process, gets the same.
  ///
  /// - Returns: a client of it.
  /// - Throws: ``DaemonClientError``.
  package func connect() async throws(DaemonClientError) -> DaemonClient {
    do throws(DaemonClientError) {
      return try await DaemonClient.connect(to: home)
    } catch {
      guard error.isNobody, program != nil else { throw error }
    }
    let lock = try await onOwnThread { [home] () throws(DaemonClientError) in
      try StartLock(home, patience: Self.patience)
    }
    defer { withExtendedLifetime(lock) {} }
    // Somebody may have started it while we waited.
    do throws(DaemonClientError) {
      return try await DaemonClient.connect(to: home)
    } catch {
      guard error.isNobody, let program else { throw error }
      try await start(program)
    }
    return try await DaemonClient.connect(to: home)
  }

  private func start(_ program: String) async throws(DaemonClientError) {
    let launch = DaemonLaunch(home: home, program: program)
    do throws(DaemonClientError) {
      try await onOwnThread { () throws(DaemonClientError) in try launch.run(patience: Self.patience) }
    } catch {
      // One that was started by hand at the same moment will do.
      guard (try? await DaemonClient.connect(to: home)) != nil else { throw error }
    }
  }
}

extension DaemonClientError {
  /// Whether there is no daemon, so that one may be started.
  fileprivate var isNobody: Bool { kind == .noDaemon || kind == .dead }
}
