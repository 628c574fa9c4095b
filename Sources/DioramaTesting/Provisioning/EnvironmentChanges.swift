import Basics
public import Foundation
import HTTPMessages
import LaunchContract

extension TestEnvironment {
  /// The clock of an environment and of every app in it.
  ///
  /// ```swift
  /// try await TestEnvironment.current.clock.advance(by: .seconds(900), afterSleepers: 1)
  /// ```
  public struct Clock: Sendable {
    /// The result of a move.
    public struct Move: Sendable, Equatable {
      /// The app's time after the move.
      public let now: Date
      /// The number of sleepers woken, in all apps.
      public let woken: Int
    }

    let environment: TestEnvironment

    /// The environment's current time. In a daemon it includes moves by other processes.
    ///
    /// - Throws: ``DioramaTestingError`` if the daemon does not respond, or the environment has ended there.
    public var now: Date {
      get async throws(DioramaTestingError) {
        do { return try await environment.backend.now } catch {
          throw environment.failure(error)
        }
      }
    }

    /// Advances wall time and monotonic time, and wakes the sleepers that are due. Returns when every app has applied
    /// the move.
    ///
    /// - Parameters:
    ///   - duration: the duration of the move.
    ///   - sleepers: the number of sleepers to wait for first, in all apps, so that the move is not too early; nil to
    ///     move at once.
    ///   - timeout: the time limit, in real time.
    /// - Returns: the new time and the number of sleepers woken.
    /// - Throws: ``DioramaTestingError`` if the clock cannot be moved (a system clock, or backward), or at the time
    ///   limit, with the reason and the last lines of the applications' output.
    @discardableResult
    public func advance(
      by duration: Duration, afterSleepers sleepers: Int? = nil, timeout: Duration = .seconds(30)
    ) async throws -> Move {
      try await move(.advance(duration), sleepers, timeout)
    }

    /// Sets wall time. Moving forward also advances monotonic time; moving backward changes only wall time. Returns
    /// when every app has applied the move.
    ///
    /// - Parameters:
    ///   - date: the new time.
    ///   - sleepers: the number of sleepers to wait for first, in all apps; nil to move at once.
    ///   - timeout: the time limit, in real time.
    /// - Returns: the new time and the number of sleepers woken.
    /// - Throws: ``DioramaTestingError``, as ``advance(by:afterSleepers:timeout:)`` does.
    @discardableResult
    public func set(
      to date: Date, afterSleepers sleepers: Int? = nil, timeout: Duration = .seconds(30)
    ) async throws -> Move {
      try await move(.set(date), sleepers, timeout)
    }

    /// Sets wall time to an instant in RFC 3339 format, such as `"2018-10-08T09:00:00Z"`.
    ///
    /// - Parameters:
    ///   - instant: the new time.
    ///   - sleepers: the number of sleepers to wait for first, in all apps; nil to move at once.
    ///   - timeout: the time limit, in real time.
    /// - Returns: the new time and the number of sleepers woken.
    /// - Throws: ``DioramaTestingError``, as ``advance(by:afterSleepers:timeout:)`` does, and for an invalid instant.
    @discardableResult
    public func set(
      to instant: ClockSettings.Instant, afterSleepers sleepers: Int? = nil,
      timeout: Duration = .seconds(30)
    ) async throws -> Move {
      try await move(.set(try instant.date()), sleepers, timeout)
    }

    private func move(
      _ move: ClockMove, _ sleepers: Int?, _ timeout: Duration
    ) async throws(DioramaTestingError) -> Move {
      do {
        let moved = try await environment.backend.move(move, afterSleepers: sleepers, timeout: timeout)
        return Move(now: moved.now, woken: moved.woken)
      } catch {
        throw environment.failure(error)
      }
    }
  }

  /// The environment's clock.
  public var clock: Clock { Clock(environment: self) }

  /// Changes toggles, values, clock and mode while the app runs, in one step. Returns when every app has applied it.
  ///
  /// ```swift
  /// try await TestEnvironment.current.update(toggles: ["new-calendar": true, "beta": nil])
  /// ```
  ///
  /// - Parameters:
  ///   - toggles: toggles to change; nil removes a toggle, and objects are merged (RFC 7396).
  ///   - values: values to change, in the same way.
  ///   - clock: a new clock; omitted settings keep their values.
  ///   - mode: the mode; an environment of mode `extend` can change to `replay` and back.
  ///   - timeout: the time limit.
  /// - Throws: ``DioramaTestingError`` if the change is invalid (nothing is changed then), or if an app did not apply
  ///   it in time, with the last lines of the applications' output.
  public func update(
    toggles: [String: Value?] = [:], values: [String: Value?] = [:], clock: ClockSettings? = nil,
    mode: Mode? = nil,
    timeout: Duration = .seconds(30)
  ) async throws {
    let change = EnvironmentChange(
      toggles: try toggles.contractPatch("toggle"), values: try values.contractPatch("value"),
      clock: try clock?.patch(), mode: mode)
    try await apply(change, timeout: timeout)
  }

  func apply(_ change: EnvironmentChange, timeout: Duration) async throws {
    do { try await backend.update(change, timeout: timeout) } catch {
      throw failure(error)
    }
  }

  /// Adds a credential to the store of each app that is launched from now on, or replaces the one with the same
  /// service, account and group.
  ///
  /// ```swift
  /// let user: Registration = try await environment.client("api").post("/users", body: ["name": "Ann"])
  /// try environment.add(.init(service: "clinic", account: "auth-token", secret: user.token))
  /// ```
  ///
  /// In recordings, the environment redacts the credentials in its configuration wherever they occur. It redacts this
  /// one only where its rules apply, such as in `Authorization` and in fields named `token`.
  ///
  /// - Parameter credential: the credential.
  /// - Throws: ``DioramaTestingError`` if the environment has ended.
  public func add(_ credential: Credential) throws(DioramaTestingError) {
    try checkIsAlive("add credentials")
    keep(
      .init(
        service: credential.service, account: credential.account, group: credential.group,
        secret: Data(credential.secret)))
  }

  /// The test's error for an environment error, with the applications' output if one of them did not respond.
  private func failure(_ error: CodedError) -> DioramaTestingError {
    guard error.kind == .unanswered else {
      return DioramaTestingError(error.kind == .usage ? .usage : .environment, error.message)
    }
    let tails = applications.map { "\n\($0.name): \($0.state.text)\($0.process?.tail() ?? "")" }
      .joined()
    return DioramaTestingError(.timedOut, error.message + tails)
  }
}

extension TestEnvironment.ClockSettings {
  /// A change of a running clock; omitted settings keep their values.
  fileprivate func patch() throws(DioramaTestingError) -> EnvironmentChange.Clock {
    EnvironmentChange.Clock(
      kind: kind, start: try start?.date(), rate: kind == .scaled ? rate : nil, timeZone: timeZone,
      locale: locale)
  }
}

extension [String: TestEnvironment.Value?] {
  /// A merge patch; nil removes a member.
  fileprivate func contractPatch(_ what: String) throws(DioramaTestingError) -> [String:
    JSON?]
  {
    let changed = try compactMapValues { $0 }.contractValues(what)
    var patch: [String: JSON?] = [:]
    // Assigning nil by subscript would remove the member.
    for name in keys { patch.updateValue(changed[name], forKey: name) }
    return patch
  }
}
