#if DEBUG || Controlled
  import Dispatch
  import LaunchContract

  /// Tells the environment how many sleepers there are, while somebody waits for some: at once, and whenever it changes.
  final class SleeperReports: Sendable {
    private struct State {
      var watch = 0
      var wait: SleeperWait?
    }

    private let timeline: Timeline
    private let connection: ControlConnection
    private let reporter: UsageReporter?
    private let follower: String
    private let queue = DispatchQueue(label: "diorama.sleepers")
    private let state = Locked(State())

    /// - Parameters:
    ///   - timeline: whose sleepers are counted.
    ///   - connection: the line to the environment.
    ///   - reporter: tells what the app has read, before the sleepers: who sleeps has read what it was to read before.
    ///   - follower: the app's name.
    init(_ timeline: Timeline, _ connection: ControlConnection, _ reporter: UsageReporter?, follower: String) {
      self.timeline = timeline
      self.connection = connection
      self.reporter = reporter
      self.follower = follower
    }

    /// Reports to this watch from now on; to none for 0.
    func begin(_ watch: Int) {
      let old = state.withLock { state in
        state.watch = watch
        return state.wait.take()
      }
      old?.cancel()
      if watch != 0 { report(watch) }
    }

    private func report(_ watch: Int) {
      guard state.withLock({ $0.watch == watch }) else { return }
      let count = timeline.sleeperCount
      reporter?.flush()
      // One that fails is missed by nobody: whoever asks for the state learns that the environment is lost.
      try? connection.acknowledge(Acknowledgement(follower: follower, watch: watch, sleepers: count))
      let wait = timeline.whenSleeperCount(isNot: count) { [weak self] in
        // Not here, on the thread of an app that wants to sleep.
        guard let self else { return }
        queue.async { self.report(watch) }
      }
      let unused = state.withLock { state in
        guard state.watch == watch else { return Optional(wait) }
        state.wait = wait
        return nil
      }
      unused?.cancel()
    }
  }
#endif
