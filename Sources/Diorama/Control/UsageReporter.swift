#if DEBUG || Controlled
  import Foundation
  package import LaunchContract

  /// Tells the environment which toggles and recorded values the app has read, without making it wait.
  ///
  /// The first reading is sent at once, on a thread of its own; what is read meanwhile follows in one message some
  /// milliseconds later, and so on until there is nothing more to tell, when the thread ends. What is left at the
  /// process's normal exit is sent then. A report that fails costs the app nothing: it is warned of once, unless the
  /// environment may come back, and what it would have told goes with the next one.
  package final class UsageReporter: Sendable {
    /// Between one message and the next.
    private static let pause = 0.02
    /// Before the next try after one that failed.
    private static let rest = Duration.seconds(1)
    /// The most keys of one message; the environment takes messages of 1 MiB.
    private static let mostKeys = 2_000

    private struct State {
      /// What the environment has yet to hear.
      var pending = UsageReport()
      /// The toggles that it has heard of, or will.
      var toggles: Set<String> = []
      /// Whether a thread will send what is pending.
      var isSending = false
      /// When to try again, after a failure.
      var next: ContinuousClock.Instant?
      var hasWarned = false
    }

    private let connection: ControlConnection
    private let warn: @Sendable (String) -> Void
    private let state = Locked(State())
    /// Held while a message is on its way, so that whoever flushes waits for it too.
    private let sending = NSLock()

    /// Sends nothing before something is read.
    ///
    /// - Parameters:
    ///   - connection: one of its own, so that a value that is being recorded does not wait behind these messages.
    ///   - warn: takes one line for standard error.
    package init(_ connection: ControlConnection, warn: @escaping @Sendable (String) -> Void) {
      self.connection = connection
      self.warn = warn
      AtExit.flush(self)
    }

    /// The app has read a toggle; only the first reading of each counts.
    ///
    /// - Parameters:
    ///   - toggle: its name.
    ///   - value: what the app got.
    package func didRead(toggle: String, value: ContractValue) {
      let starts = state.withLock { state in
        guard state.toggles.insert(toggle).inserted else { return false }
        state.pending.toggles[toggle] = value
        return Self.starts(&state)
      }
      if starts { start() }
    }

    /// The app has read a recorded value.
    package func didRead(key: String, ordinal: Int) {
      let starts = state.withLock { state in
        state.pending.strings[key, default: OrdinalRanges()].insert(ordinal)
        return Self.starts(&state)
      }
      if starts { start() }
    }

    /// Sends what is pending, and returns once the environment has it, or cannot be reached.
    package func flush() {
      _ = deliver()
    }

    private static func starts(_ state: inout State) -> Bool {
      guard !state.isSending else { return false }
      if let next = state.next, ContinuousClock.now < next { return false }
      state.isSending = true
      return true
    }

    private func start() {
      Thread.detachNewThread { [self] in
        while deliver() {
          Thread.sleep(forTimeInterval: Self.pause)
          let isOver = state.withLock { state in
            state.isSending = !state.pending.isEmpty
            return !state.isSending
          }
          if isOver { return }
        }
        state.withLock { $0.isSending = false }
      }
    }

    /// Sends what is pending now, and not what is read meanwhile: that goes together, later.
    ///
    /// - Returns: whether all went well.
    private func deliver() -> Bool {
      sending.lock()
      defer { sending.unlock() }
      var keys = state.withLock { max($0.pending.strings.count, 1) }
      while keys > 0, let report = state.withLock({ $0.pending.take(Self.mostKeys) }) {
        keys -= Self.mostKeys
        do {
          try connection.report(report)
        } catch {
          failed(report, error)
          return false
        }
      }
      state.withLock { $0.next = nil }
      return true
    }

    private func failed(_ report: UsageReport, _ error: DioramaError) {
      let isAwaited = connection.isEnvironmentWaitedFor
      let isFirst = state.withLock { state in
        state.pending.formUnion(report)
        state.next = ContinuousClock.now + Self.rest
        defer { state.hasWarned = state.hasWarned || !isAwaited }
        return !state.hasWarned && !isAwaited
      }
      if isFirst {
        warn("what the app reads (toggles, recorded values) could not be reported and may count as unread: \(error)")
      }
    }
  }

  extension UsageReport {
    fileprivate var isEmpty: Bool { toggles.isEmpty && strings.isEmpty }

    /// Takes the toggles and some of the strings out; nil when there is nothing.
    fileprivate mutating func take(_ keys: Int) -> UsageReport? {
      guard !isEmpty else { return nil }
      defer { toggles = [:] }
      guard strings.count > keys else {
        defer { strings = [:] }
        return self
      }
      let some = strings.prefix(keys)
      for (key, _) in some { strings[key] = nil }
      return UsageReport(toggles: toggles, strings: Dictionary(uniqueKeysWithValues: some.map { ($0.key, $0.value) }))
    }

    /// Puts back what could not be sent: the first reading of a toggle counts.
    fileprivate mutating func formUnion(_ other: UsageReport) {
      toggles.merge(other.toggles) { _, earlier in earlier }
      strings.merge(other.strings) { later, earlier in
        var both = later
        both.formUnion(earlier)
        return both
      }
    }
  }

  /// The reporters of this process, for atexit(3), whose handlers are handed nothing.
  private enum AtExit {
    private struct Place {
      weak var reporter: UsageReporter?
    }

    private static let places = Locked<[Place]>([])
    private static let isRegistered =
      atexit {
        for place in AtExit.places.withLock({ $0 }) { place.reporter?.flush() }
      } == 0

    static func flush(_ reporter: UsageReporter) {
      _ = isRegistered
      places.withLock { places in
        places.removeAll { $0.reporter == nil }
        places.append(Place(reporter: reporter))
      }
    }
  }
#endif
