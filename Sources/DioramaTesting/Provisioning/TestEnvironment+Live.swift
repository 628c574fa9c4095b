import EnvironmentService
public import Foundation
import HTTPMessages
import LaunchContract

extension TestEnvironment {
  /// Moves the time of an environment, and with it that of every app that lives in it.
  ///
  /// ```swift
  /// try await TestEnvironment.current.clock.advance(by: .seconds(900), afterSleepers: 1)
  /// ```
  public struct Clock: Sendable {
    /// What a move came to.
    public struct Move: Sendable, Equatable {
      /// What the app's clock shows after it.
      public let now: Date
      /// How many sleepers were woken, in all apps together.
      public let woken: Int
    }

    let environment: TestEnvironment

    /// What the environment's clock shows, also after another process has moved it: a daemon is asked for it.
    ///
    /// - Throws: ``DioramaTestingError`` where the daemon cannot be asked, or the environment has ended there.
    public var now: Date {
      get async throws(DioramaTestingError) {
        do throws(EnvironmentError) {
          return try await environment.backend.now
        } catch {
          throw environment.failure(error)
        }
      }
    }

    /// Moves wall time and monotonic time on, and wakes whoever slept no longer than that. Returns once every app has
    /// applied it.
    ///
    /// - Parameters:
    ///   - duration: how far.
    ///   - sleepers: how many are to be asleep first, in all apps together: no move is lost because the app had not come
    ///     to its sleep yet. Nil moves at once.
    ///   - timeout: how long all of it may take, in real time.
    /// - Returns: the new time and how many woke.
    /// - Throws: ``DioramaTestingError``: the clock cannot be moved (the machine's own, or backwards), or the time is
    ///   over, with what was missing and the last lines of the applications' output.
    @discardableResult
    public func advance(
      by duration: Duration, afterSleepers sleepers: Int? = nil, timeout: Duration = .seconds(30)
    ) async throws -> Move {
      try await move(.advance(duration), sleepers, timeout)
    }

    /// Sets wall time; forward it moves monotonic time as far, backwards it moves wall time alone. Returns once every app
    /// has applied it.
    ///
    /// - Parameters:
    ///   - date: the instant.
    ///   - sleepers: how many are to be asleep first, in all apps together; nil moves at once.
    ///   - timeout: how long all of it may take, in real time.
    /// - Returns: the new time and how many woke.
    /// - Throws: ``DioramaTestingError``, as for ``advance(by:afterSleepers:timeout:)``.
    @discardableResult
    public func set(
      to date: Date, afterSleepers sleepers: Int? = nil, timeout: Duration = .seconds(30)
    ) async throws -> Move {
      try await move(.set(date), sleepers, timeout)
    }

    /// Sets wall time to an instant that is written as RFC 3339 has it, such as `"2018-10-08T09:00:00Z"`.
    ///
    /// - Parameters:
    ///   - instant: the instant.
    ///   - sleepers: how many are to be asleep first, in all apps together; nil moves at once.
    ///   - timeout: how long all of it may take, in real time.
    /// - Returns: the new time and how many woke.
    /// - Throws: ``DioramaTestingError``, as for ``advance(by:afterSleepers:timeout:)``, and for a text that is no
    ///   instant.
    @discardableResult
    public func set(
      to instant: ClockSettings.Instant, afterSleepers sleepers: Int? = nil,
      timeout: Duration = .seconds(30)
    ) async throws -> Move {
      try await move(.set(try instant.date()), sleepers, timeout)
    }

    private func move(
      _ move: Environment.ClockMove, _ sleepers: Int?, _ timeout: Duration
    ) async throws(DioramaTestingError) -> Move {
      do throws(EnvironmentError) {
        let moved = try await environment.backend.move(move, afterSleepers: sleepers, timeout: timeout)
        return Move(now: moved.now, woken: moved.woken)
      } catch {
        throw environment.failure(error)
      }
    }
  }

  /// The environment's time.
  public var clock: Clock { Clock(environment: self) }

  /// Changes toggles, values, clock and mode while the app runs, all in one step. Returns once every app has applied it.
  ///
  /// ```swift
  /// try await TestEnvironment.current.update(toggles: ["new-calendar": true, "beta": nil])
  /// ```
  ///
  /// - Parameters:
  ///   - toggles: what changes: nil takes a toggle away, an object is merged into the old one (RFC 7396).
  ///   - values: what changes of the app's own keys, likewise.
  ///   - clock: another clock; what it leaves out goes on as it is.
  ///   - mode: an environment of mode `extend` can go over to `replay` and back.
  ///   - timeout: how long it may take.
  /// - Throws: ``DioramaTestingError``: it cannot be, and nothing has changed then, or an app did not apply it in time,
  ///   with the last lines of the applications' output.
  public func update(
    toggles: [String: Value?] = [:], values: [String: Value?] = [:], clock: ClockSettings? = nil,
    mode: Mode? = nil,
    timeout: Duration = .seconds(30)
  ) async throws {
    let change = EnvironmentChange(
      toggles: try toggles.contractPatch("toggle"), values: try values.contractPatch("value"),
      clock: try clock?.patch(), mode: mode.map { .init($0) })
    do throws(EnvironmentError) {
      try await backend.update(change, timeout: timeout)
    } catch {
      throw failure(error)
    }
  }

  /// In the test's terms, with what the applications said last where one of them is what is missing.
  private func failure(_ error: EnvironmentError) -> DioramaTestingError {
    guard error.kind == .unanswered else {
      return DioramaTestingError(error.kind == .usage ? .usage : .environment, error.message)
    }
    let tails = applications.map { "\n\($0.name): \($0.state.text)\($0.process?.tail() ?? "")" }
      .joined()
    return DioramaTestingError(.timedOut, error.message + tails)
  }
}

extension TestEnvironment.ClockSettings {
  /// As a change of a clock that runs: what is left out is left alone.
  fileprivate func patch() throws(DioramaTestingError) -> Environment.ClockPatch {
    Environment.ClockPatch(
      kind: kind, start: try start?.date(), rate: kind == .scaled ? rate : nil, timeZone: timeZone,
      locale: locale)
  }
}

extension [String: TestEnvironment.Value?] {
  /// As a merge patch; nil deletes.
  fileprivate func contractPatch(_ what: String) throws(DioramaTestingError) -> [String:
    ContractValue?]
  {
    let changed = try compactMapValues { $0 }.contractValues(what)
    var patch: [String: ContractValue?] = [:]
    // A subscript would take nil for "no such member".
    for name in keys { patch.updateValue(changed[name], forKey: name) }
    return patch
  }
}
