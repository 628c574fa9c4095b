#if DEBUG || Controlled
  import Basics
  import Dispatch
  import Foundation
  import LaunchContract
  import LocalHTTP

  #if canImport(Darwin)
    import Darwin
  #else
    import Glibc
  #endif

  /// The live link, by which the app follows changes of its environment.
  ///
  /// A thread polls the environment for new steps, applies each, and acknowledges it. It sends the next poll before it
  /// applies the steps of the last one, so that the connection stays open as a sign that the app is running.
  ///
  /// The thread ends with the environment. Then, or when the connection to the environment is lost, waits that only a test
  /// can end fail. If the environment stops responding, the thread retries silently for ``Patience/again``.
  final class EnvironmentLink: @unchecked Sendable {
    /// The controls that steps change.
    struct Controls: Sendable {
      var timeline: Timeline
      var toggles: @Sendable ([String: JSON]) -> Void
      var values: @Sendable ([String: JSON]) -> Void
    }

    /// The seconds that the environment may hold a poll.
    private static let wait = 25

    private let controls: Controls
    private let acknowledgements: ControlConnection
    private let reports: SleeperReports
    private let reporter: UsageReporter?
    private let follower: String
    private let warn: @Sendable (String) -> Void

    // Only used by the thread that starts the link, then by the link's own thread.
    private var poller: StatePoller
    private var revision: Int
    private var toggles: [String: JSON]
    private var values: [String: JSON]
    private var watch = 0

    /// - Parameters:
    ///   - contract: the initial state of the environment.
    ///   - address: the address of the environment.
    ///   - revision: the last step included in the contract.
    ///   - controls: the controls that steps change.
    ///   - reporter: reports what the app has read before a step is acknowledged.
    ///   - warn: takes one line for standard error.
    init(
      _ contract: LaunchContract, _ address: ControlAddress, revision: Int, controls: Controls,
      reporter: UsageReporter?, warn: @escaping @Sendable (String) -> Void
    ) {
      self.controls = controls
      self.revision = revision
      self.reporter = reporter
      self.warn = warn
      toggles = contract.toggles
      values = contract.values
      follower = Self.name()
      poller = StatePoller(address, follower: follower)
      acknowledgements = ControlConnection(address)
      reports = SleeperReports(controls.timeline, acknowledgements, reporter, follower: follower)
    }

    /// Starts following.
    ///
    /// When it returns, the environment knows the app, and all changes since the contract are applied.
    ///
    /// - Throws: ``DioramaError`` of kind `control` if the environment does not respond, probably because it has ended.
    func start() throws(DioramaError) {
      guard try follow(wait: 0) else {
        throw DioramaError(.control, "the environment of this launch contract has ended; launch the app with a new one")
      }
      let thread = Thread { [self] in run() }
      thread.name = "diorama-link"
      // Enough for deeply nested values, also with a sanitizer.
      thread.stackSize = 4 << 20
      thread.start()
    }

    private func run() {
      // Leave all signals to the app's own threads.
      var signals = sigset_t()
      sigfillset(&signals)
      pthread_sigmask(SIG_BLOCK, &signals, nil)
      do {
        while try follow(wait: Self.wait) {}
        lose(DioramaError(.control, "the environment has ended: nothing moves the app's clock any more"))
      } catch {
        warn("\(error.description); toggles, values and the clock keep their current state")
        lose(error)
      }
    }

    private func lose(_ error: DioramaError) {
      reports.begin(0)
      controls.timeline.fail(error)
    }

    /// Polls once and applies the response.
    ///
    /// - Returns: false when the environment has ended.
    private func follow(wait: Int) throws(DioramaError) -> Bool {
      let state = try poller.response(to: .init(after: revision, watch: watch, wait: wait))
      let steps = state.steps
      for (index, step) in steps.enumerated() where step.revision != revision + 1 + index {
        throw DioramaError(
          .control, "the environment sent revision \(step.revision) after \(revision + index); is it a different one?")
      }
      let newWatch = state.watch?.id ?? 0
      if !state.over {
        poller.send(.init(after: revision + steps.count, watch: newWatch, wait: Self.wait))
      }
      for step in steps {
        let acknowledgement = apply(step)
        revision = step.revision
        // Before the acknowledgement, so that a report requested after it includes all earlier readings.
        reporter?.flush()
        try acknowledgements.acknowledge(acknowledgement)
      }
      if newWatch != watch {
        watch = newWatch
        reports.begin(newWatch)
      }
      return !state.over
    }

    private func apply(_ step: LiveStep) -> Acknowledgement {
      var answer = Acknowledgement(follower: follower, revision: step.revision)
      if let patch = step.toggles {
        toggles.merge(patch: patch)
        controls.toggles(toggles)
      }
      if let patch = step.values {
        values.merge(patch: patch)
        controls.values(values)
      }
      do throws(DioramaError) {
        if let clock = step.clock { try controls.timeline.change(to: clock) }
        if let advance = step.advance { answer.woken = try controls.timeline.advance(by: advance.duration) }
        if let text = step.set {
          guard let date = RFC3339.parse(text) else { throw DioramaError(.control, "set: '\(text)' is not a date") }
          answer.woken = try controls.timeline.set(to: date)
        }
      } catch {
        answer.error = error.description
      }
      answer.now = RFC3339.format(controls.timeline.now, exactly: true)
      return answer
    }

    /// A name for messages: the program, the process, and a random number because a process may have several links.
    private static func name() -> String {
      let program = String(
        decoding: ProcessInfo.processInfo.processName.utf8.filter(Acknowledgement.isNameByte).prefix(40), as: UTF8.self)
      let random = String(UInt32.random(in: 0x1000_0000...0xFFFF_FFFF), radix: 16)
      return [program.isEmpty ? "app" : program, String(getpid()), random].joined(separator: "-")
    }
  }

  /// Polls for the environment's state, one at a time, on a persistent connection.
  ///
  /// An interrupted poll is repeated on a new connection while the environment may come back. This is safe: steps are
  /// numbered, and a poll changes nothing.
  struct StatePoller: ~Copyable {
    struct Poll {
      /// The last known revision.
      var after: Int
      /// The known watch; 0 for none.
      var watch: Int
      /// The seconds that the environment may hold the poll.
      var wait: Int
    }

    /// The time for a response beyond the poll's wait.
    private static let grace = Duration.seconds(10)

    private let address: ControlAddress
    private let follower: String
    private var socket: LocalSocket?
    /// A poll without a response yet.
    private var sent: Poll?

    /// - Parameters:
    ///   - address: the address of the environment.
    ///   - follower: the app's name in the environment.
    init(_ address: ControlAddress, follower: String) {
      self.address = address
      self.follower = follower
    }

    /// Sends a poll ahead of ``response(to:)``, if there is a connection.
    mutating func send(_ poll: Poll) {
      guard let socket = socket.take() else { return }
      // If sending fails, `response(to:)` sends the poll again on a new connection.
      guard (try? socket.send(request(poll), by: .now + Self.grace)) != nil else { return }
      self.socket = consume socket
      sent = poll
    }

    /// Returns the response to a poll, and sends the poll first if necessary.
    ///
    /// - Throws: ``DioramaError`` of kind `control` if the environment refuses, or has disappeared.
    mutating func response(to poll: Poll) throws(DioramaError) -> LiveState {
      var retries = Retries(address.presence)
      while true {
        let answer: HTTPResponse
        do { answer = try receive(poll, by: .now + .seconds(poll.wait) + Self.grace) } catch {
          socket = nil
          sent = nil
          guard retries.shouldRetry(after: error) else { throw failure("\(error)") }
          continue
        }
        guard answer.status == 200 else { throw failure(answer.refusal) }
        let state: LiveState
        do { state = try JSON.decode(LiveState.self, from: Data(answer.body), source: "") } catch {
          throw failure("cannot decode its response: \(error.problem)")
        }
        address.presence.answered()
        if state.over { address.presence.end() }
        return state
      }
    }

    private mutating func receive(_ poll: Poll, by deadline: ContinuousClock.Instant) throws -> HTTPResponse {
      if sent == nil {
        if socket == nil { socket = try address.connect(by: deadline) }
        try socket?.send(request(poll), by: deadline)
      }
      sent = nil
      guard let socket = socket.take() else { throw CodedError(.noUpstream, "no connection") }
      let answer = try socket.receiveResponse(by: deadline)
      if answer.keepsAlive { self.socket = consume socket }
      return answer
    }

    private func request(_ poll: Poll) -> [UInt8] {
      address.request(
        "GET",
        "/state?after=\(poll.after)&wait=\(poll.wait)&watch=\(poll.watch)&follower=\(follower)&only=steps"
          + "&connection=kept")
    }

    private func failure(_ problem: String) -> DioramaError {
      DioramaError(.control, "the app has lost its environment at \(address.url): \(problem)")
    }
  }

  /// Reports the number of sleepers to the environment while a test waits for some: at once, and after each change.
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
    private let state = Guarded(State())

    /// - Parameters:
    ///   - timeline: the timeline of the sleepers.
    ///   - connection: the connection to the environment.
    ///   - reporter: reports what the app read before it went to sleep.
    ///   - follower: the app's name in the environment.
    init(_ timeline: Timeline, _ connection: ControlConnection, _ reporter: UsageReporter?, follower: String) {
      self.timeline = timeline
      self.connection = connection
      self.reporter = reporter
      self.follower = follower
    }

    /// Starts reports to a watch, in place of an earlier one; 0 stops them.
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
      // A failure needs no handling here: the poller finds out that the environment is lost.
      try? connection.acknowledge(Acknowledgement(follower: follower, watch: watch, sleepers: count))
      let wait = timeline.whenSleeperCount(isNot: count) { [weak self] in
        // Not on the current thread, which is the app's and is about to sleep.
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
