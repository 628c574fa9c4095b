#if DEBUG || Controlled
  import Foundation
  import LaunchContract

  #if canImport(Darwin)
    import Darwin
  #else
    import Glibc
  #endif

  /// The live link: the app follows its environment while it runs.
  ///
  /// One thread asks for what is new, applies each step, and acknowledges it. It asks for the next before it applies
  /// the last, so that the environment can tell at any time that the app is still there: the connection is open.
  ///
  /// The thread ends with the environment. Then, or when the environment is lost, waits that only a test could end fail.
  /// One that is away is not lost for ``Patience/again``: the thread asks until it is back, and says nothing of it.
  final class EnvironmentLink: @unchecked Sendable {
    /// What the steps change.
    struct Controls: Sendable {
      var timeline: Timeline
      var toggles: @Sendable ([String: ContractValue]) -> Void
      var values: @Sendable ([String: ContractValue]) -> Void
    }

    /// Seconds that a question waits for something new.
    private static let wait = 25

    private let controls: Controls
    private let acknowledgements: ControlConnection
    private let reports: SleeperReports
    private let reporter: UsageReporter?
    private let follower: String
    private let warn: @Sendable (String) -> Void

    // Only for the thread that starts it, and then for its own.
    private var questions: StateQuestions
    private var revision: Int
    private var toggles: [String: ContractValue]
    private var values: [String: ContractValue]
    private var watch = 0

    /// - Parameters:
    ///   - contract: what the environment is at first.
    ///   - address: where the environment is.
    ///   - revision: the last step that the contract has in it.
    ///   - controls: what the steps change.
    ///   - reporter: tells what the app has read, before a step is acknowledged.
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
      questions = StateQuestions(address, follower: follower)
      acknowledgements = ControlConnection(address)
      reports = SleeperReports(controls.timeline, acknowledgements, reporter, follower: follower)
    }

    /// Follows from here on.
    ///
    /// When it returns, the environment knows of the app, and what has changed since the contract was made is applied.
    ///
    /// - Throws: ``DioramaError`` of kind `control` when the environment does not answer: it has ended, most likely.
    func start() throws(DioramaError) {
      guard try follow(wait: 0) else {
        throw DioramaError(.control, "the environment of this launch contract has ended; launch the app with a new one")
      }
      let thread = Thread { [self] in run() }
      thread.name = "diorama-link"
      // Room for values that lie deep in each other, also with a sanitizer.
      thread.stackSize = 4 << 20
      thread.start()
    }

    private func run() {
      // The app's signals are the app's.
      var signals = sigset_t()
      sigfillset(&signals)
      pthread_sigmask(SIG_BLOCK, &signals, nil)
      do throws(DioramaError) {
        while try follow(wait: Self.wait) {}
        lose(DioramaError(.control, "the environment has ended: nobody moves the app's clock any more"))
      } catch {
        warn("\(error.description); toggles, values and the clock stay as they are")
        lose(error)
      }
    }

    private func lose(_ error: DioramaError) {
      reports.begin(0)
      controls.timeline.fail(error)
    }

    /// One question, and all that follows from its answer.
    ///
    /// - Returns: false when the environment has ended.
    private func follow(wait: Int) throws(DioramaError) -> Bool {
      let state = try questions.answer(to: .init(after: revision, watch: watch, wait: wait))
      let steps = state.steps
      for (index, step) in steps.enumerated() where step.revision != revision + 1 + index {
        throw DioramaError(
          .control, "the environment named revision \(step.revision) after \(revision + index); is it another one?")
      }
      let newWatch = state.watch?.id ?? 0
      if !state.over {
        questions.ask(.init(after: revision + steps.count, watch: newWatch, wait: Self.wait))
      }
      for step in steps {
        let acknowledgement = apply(step)
        revision = step.revision
        // First, so that a report that is taken once the step is acknowledged has all that was read until then.
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
          guard let date = RFC3339.parse(text) else { throw DioramaError(.control, "set: '\(text)' is no instant") }
          answer.woken = try controls.timeline.set(to: date)
        }
      } catch {
        answer.error = error.description
      }
      answer.now = RFC3339.formatExactly(controls.timeline.now)
      return answer
    }

    /// For messages: which program, which process, and something random, since a process may have several.
    private static func name() -> String {
      let program = String(
        decoding: ProcessInfo.processInfo.processName.utf8.filter(Acknowledgement.isNameByte).prefix(40), as: UTF8.self)
      let random = String(UInt32.random(in: 0x1000_0000...0xFFFF_FFFF), radix: 16)
      return [program.isEmpty ? "app" : program, String(getpid()), random].joined(separator: "-")
    }
  }
#endif
