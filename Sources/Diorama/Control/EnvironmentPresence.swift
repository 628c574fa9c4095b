#if DEBUG || Controlled
  import Foundation

  /// For how long an environment that does not answer is asked again.
  package struct Patience: Sendable {
    /// With one that has never answered: there is none, most likely.
    package var first = Duration.seconds(2)
    /// With one that has: a daemon that was killed brings back all that it had before it answers again.
    package var again = Duration.seconds(30)

    package init() {}
  }

  /// Whether the environment is there, as far as any of the app's lines to it knows.
  ///
  /// They share one, so that the time that one of them has waited in vain is not waited by the next again.
  package final class EnvironmentPresence: Sendable {
    private struct State {
      var hasAnswered = false
      var awaySince: ContinuousClock.Instant?
      var isOver = false
    }

    private let patience: Patience
    private let state = Locked(State())

    init(_ patience: Patience) { self.patience = patience }

    /// Whether it was there, is away, and may come back.
    var isWaitedFor: Bool { state.withLock { $0.hasAnswered && $0.awaySince != nil } && missed() }

    /// It has answered.
    func answered() {
      state.withLock { state in
        state.hasAnswered = true
        state.awaySince = nil
      }
    }

    /// It has ended, and does not come back.
    func end() { state.withLock { $0.isOver = true } }

    /// It has not answered.
    ///
    /// - Returns: whether it is to be asked again.
    func missed(at now: ContinuousClock.Instant = .now) -> Bool {
      state.withLock { state in
        guard !state.isOver else { return false }
        let since = state.awaySince ?? now
        state.awaySince = since
        return since.duration(to: now) < (state.hasAnswered ? patience.again : patience.first)
      }
    }
  }

  /// The tries to reach an environment that is away: often at first, then twice a second.
  struct Tries {
    private static let longest = 0.5
    private var pause = 0.02
    private var hasFailed = false
    private let presence: EnvironmentPresence
    private let isPatient: Bool

    /// - Parameters:
    ///   - presence: what is known of it.
    ///   - isPatient: whether there is to be more than one try at all.
    init(_ presence: EnvironmentPresence, isPatient: Bool = true) {
      self.presence = presence
      self.isPatient = isPatient
    }

    /// Waits a little after a try that has failed.
    ///
    /// - Returns: false where another one makes no sense: it is there and answers nonsense, or too slowly, or it has
    ///   been away for too long.
    mutating func goOn(after error: any Error) -> Bool {
      // One that is coming back takes connections before it has the time for them.
      guard hasFailed || error.tellsOfAbsence, presence.missed(), isPatient else { return false }
      hasFailed = true
      Thread.sleep(forTimeInterval: pause)
      pause = min(2 * pause, Self.longest)
      return true
    }
  }

  extension Error {
    /// Whether nobody was there, or was no more before the answer was whole.
    fileprivate var tellsOfAbsence: Bool {
      switch self {
      case let failure as SocketFailure: !failure.isTimeOut
      case let malformed as HTTPAnswer.Malformed: malformed.isCutOff
      default: false
      }
    }
  }
#endif
