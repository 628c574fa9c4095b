#if DEBUG || Controlled
  package import Basics
  import Foundation
  import LaunchContract

  /// Reports to the environment which toggles and recorded values the app has read, without blocking the app.
  ///
  /// The first reading is sent at once on a new thread. Later readings follow in batches some milliseconds apart, until
  /// none is left and the thread ends. The rest is sent at the process's normal exit. A failed report is repeated with the
  /// next one. It causes one warning, unless the environment may come back.
  package final class UsageReporter: Sendable {
    /// Seconds between messages.
    private static let pause = 0.02
    /// The pause after a failed message.
    private static let rest = Duration.seconds(1)
    /// The maximum number of keys in a message; the environment accepts 1 MiB.
    private static let mostKeys = 2_000

    private struct State {
      /// The readings to report.
      var pending = UsageReport()
      /// The toggles that are reported or pending.
      var toggles: Set<String> = []
      /// Whether a thread is about to send what is pending.
      var isSending = false
      /// The time of the next attempt after a failure.
      var next: ContinuousClock.Instant?
      var hasWarned = false
    }

    private let connection: ControlConnection
    private let warn: @Sendable (String) -> Void
    private let state = Guarded(State())
    /// Held while a message is sent, so that a flush waits for it.
    private let sending = NSLock()

    /// Sends nothing until a value is read.
    ///
    /// - Parameters:
    ///   - connection: a connection of its own, so that these messages do not delay a value that is being recorded.
    ///   - warn: takes one line for standard error.
    package init(_ connection: ControlConnection, warn: @escaping @Sendable (String) -> Void) {
      self.connection = connection
      self.warn = warn
      AtExit.flush(self)
    }

    /// Records the first reading of a toggle.
    ///
    /// - Parameters:
    ///   - toggle: the toggle's name.
    ///   - value: the value that the app read.
    package func didRead(toggle: String, value: JSON) {
      let starts = state.withLock { state in
        guard state.toggles.insert(toggle).inserted else { return false }
        state.pending.toggles[toggle] = value
        return Self.starts(&state)
      }
      if starts { start() }
    }

    /// Records the reading of a recorded value.
    package func didRead(key: String, ordinal: Int) {
      let starts = state.withLock { state in
        state.pending.strings[key, default: OrdinalRanges()].insert(ordinal)
        return Self.starts(&state)
      }
      if starts { start() }
    }

    /// Sends what is pending, and returns when the environment has received it or cannot be reached.
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

    /// Sends what is pending now. Later readings wait for the next batch.
    ///
    /// - Returns: whether it succeeded.
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
        warn("could not report the toggles and recorded values that the app reads; they may count as unread: \(error)")
      }
    }
  }

  extension UsageReport {
    fileprivate var isEmpty: Bool { toggles.isEmpty && strings.isEmpty }

    /// Removes the toggles and some of the strings; nil if it is empty.
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

    /// Restores a report that could not be sent. The first reading of a toggle counts.
    fileprivate mutating func formUnion(_ other: UsageReport) {
      toggles.merge(other.toggles) { _, earlier in earlier }
      strings.merge(other.strings) { later, earlier in
        var both = later
        both.formUnion(earlier)
        return both
      }
    }
  }

  /// The reporters of this process, because handlers for atexit(3) have no parameters.
  private enum AtExit {
    private struct Place {
      weak var reporter: UsageReporter?
    }

    private static let places = Guarded<[Place]>([])
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
