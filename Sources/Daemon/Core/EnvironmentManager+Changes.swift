import Basics
package import ControlAPI
import EnvironmentConfiguration
import EnvironmentService
import Foundation
package import HTTPMessages
import LaunchContract

extension EnvironmentManager {
  /// Changes toggles, values, clock and mode while apps run. Returns once every following app has applied the change.
  ///
  /// - Parameters:
  ///   - id: the environment.
  ///   - patch: a merge patch (RFC 7396).
  /// - Returns: the number of the change.
  /// - Throws: ``DaemonError``: 404, 410, 422 if the change is invalid, 409 if an app doesn't apply it in time, 507 if
  ///   it can't be stored.
  package func patch(_ id: String, _ patch: EnvironmentPatch) async throws(DaemonError) -> Revision {
    let environment = try ready(id)
    let timeout = try timeout(patch.timeoutSeconds)
    let clock = try patch.clock.map { settings throws(DaemonError) in try Environment.ClockPatch(settings) }
    let mode = try patch.mode.map { name throws(DaemonError) in try Mode(patching: name) }
    return try await changing { () async throws(CodedError) in
      let faults = try patch.faults.map { faults throws(CodedError) in
        try CodedError.translating(to: .usage, try EnvironmentConfiguration.faults(faults))
      }
      let revision = try await environment.update(
        toggles: Self.merging(patch.toggles), values: Self.merging(patch.values), clock: clock, mode: mode,
        faults: faults, timeout: timeout)
      return Revision(revision: revision)
    }
  }

  /// Moves the clock. Returns once every following app has applied the change.
  ///
  /// - Parameters:
  ///   - id: the environment.
  ///   - request: the movement, and how many sleepers to wait for.
  /// - Returns: the new time, and how many sleepers woke.
  /// - Throws: ``DaemonError``: 404, 410, 422 if the request is invalid, 409 if sleepers or apps are late, 507 if the
  ///   change can't be stored.
  package func moveClock(_ id: String, _ request: ClockMoveRequest) async throws(DaemonError) -> ClockMoveAnswer {
    let environment = try ready(id)
    let timeout = try timeout(request.timeoutSeconds)
    let move: Environment.ClockMove
    do { move = try Environment.ClockMove(request) } catch {
      throw DaemonError(422, "Invalid clock movement", error.message)
    }
    return try await changing { () async throws(CodedError) in
      let moved = try await environment.moveClock(move, afterSleepers: request.sleepers, timeout: timeout)
      return ClockMoveAnswer(
        now: RFC3339.format(moved.now, exactly: true), revision: moved.revision, woken: moved.woken)
    }
  }

  /// Runs a change that may have to wait for apps.
  private func changing<Output>(
    _ body: () async throws(CodedError) -> Output
  ) async throws(DaemonError) -> Output {
    try await waiting { () async throws(DaemonError) in
      do throws(CodedError) { return try await body() } catch { throw DaemonError(ofChange: error) }
    }
  }

  /// Runs `body`, unless too many calls are waiting.
  func waiting<Output>(_ body: () async throws(DaemonError) -> Output) async throws(DaemonError) -> Output {
    guard let place = WaitingPlace(waits) else { throw tooManyWait }
    defer { withExtendedLifetime(place) {} }
    return try await body()
  }

  var tooManyWait: DaemonError {
    DaemonError(
      429, "Too many waiting calls",
      "\(waits.most) calls are waiting already; try again later, or raise limits.waits in the daemon's configuration")
  }

  /// Draws a random value, with the same answers as `POST /__diorama/strings`.
  ///
  /// - Parameters:
  ///   - id: the environment.
  ///   - body: `{key, length, alphabet}`.
  /// - Returns: `{value, ordinal}`, or a problem.
  /// - Throws: ``DaemonError``: 404 or 410.
  package func strings(_ id: String, body: [UInt8]) async throws(DaemonError) -> Response {
    let environment = try ready(id)
    return await withTaskExecutorPreference(workers) { environment.strings(requestBody: body) }
  }

  private func timeout(_ seconds: Double?) throws(DaemonError) -> Duration {
    let seconds = seconds ?? min(30, configuration.limits.waitSeconds)
    guard seconds >= 0, seconds <= configuration.limits.waitSeconds else {
      throw DaemonError(
        422, "Invalid timeout",
        "timeoutSeconds: \(seconds) is not between 0 and \(configuration.limits.waitSeconds)")
    }
    return .seconds(seconds)
  }

  private static func merging(_ patch: [String: JSON]?) -> [String: JSON?] {
    (patch ?? [:]).mapValues { $0 == .null ? nil : $0 }
  }
}

extension Mode {
  fileprivate init(patching name: String) throws(DaemonError) {
    guard let mode = Mode(rawValue: name) else {
      let names = Mode.allCases.map(\.rawValue).joined(separator: ", ")
      throw DaemonError(422, "Invalid mode", "mode: '\(name.prefix(100))' is not one of \(names)")
    }
    self = mode
  }
}

extension Environment.ClockPatch {
  init(_ settings: EnvironmentConfiguration.Clock) throws(DaemonError) {
    self.init(rate: settings.rate, timeZone: settings.timeZone, locale: settings.locale)
    if let name = settings.kind {
      guard let kind = LaunchContract.Clock.Kind(rawValue: name) else {
        throw DaemonError(
          422, "Invalid clock",
          "clock.kind: '\(name.prefix(100))' is not one of system, frozen, ticking, scaled, manual")
      }
      self.kind = kind
    }
    if let text = settings.start {
      guard let date = RFC3339.parse(text) else {
        throw DaemonError(
          422, "Invalid clock",
          "clock.start: '\(text.prefix(100))' is not an RFC 3339 time; give a time such as 2018-10-08T09:00:00Z")
      }
      start = date
    }
  }
}
