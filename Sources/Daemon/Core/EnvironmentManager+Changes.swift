package import ControlAPI
import EnvironmentConfiguration
import EnvironmentService
import Foundation
package import HTTPMessages
import LaunchContract

extension EnvironmentManager {
  /// Changes toggles, values, clock and mode while apps run.
  ///
  /// - Parameters:
  ///   - id: which environment.
  ///   - patch: a merge patch (RFC 7396).
  /// - Returns: the number of the change, once every app that follows has applied it.
  /// - Throws: a ``DaemonError``: 404, 410, 422 for what cannot be, 409 where an app does not apply it in time, 507 where
  ///   it cannot be stored.
  package func patch(_ id: String, _ patch: EnvironmentPatch) async throws(DaemonError) -> Revision {
    let environment = try ready(id)
    let timeout = try timeout(patch.timeoutSeconds)
    let clock = try patch.clock.map { settings throws(DaemonError) in try Environment.ClockPatch(settings) }
    let mode = try patch.mode.map { name throws(DaemonError) in try Mode(patching: name) }
    return try await changing { () async throws(EnvironmentError) in
      let revision = try await environment.update(
        toggles: Self.merging(patch.toggles), values: Self.merging(patch.values), clock: clock, mode: mode,
        timeout: timeout)
      return Revision(revision: revision)
    }
  }

  /// Moves the clock.
  ///
  /// - Parameters:
  ///   - id: which environment.
  ///   - request: how, and after how many sleepers.
  /// - Returns: what came of it, once every app that follows has applied it.
  /// - Throws: a ``DaemonError``: 404, 410, 422 for what cannot be, 409 where an app does not do its part in time, 507
  ///   where it cannot be stored.
  package func moveClock(_ id: String, _ request: ClockMoveRequest) async throws(DaemonError) -> ClockMoveAnswer {
    let environment = try ready(id)
    let timeout = try timeout(request.timeoutSeconds)
    let move = try Environment.ClockMove(request)
    return try await changing { () async throws(EnvironmentError) in
      let moved = try await environment.moveClock(move, afterSleepers: request.sleepers, timeout: timeout)
      return ClockMoveAnswer(now: RFC3339.formatExactly(moved.now), revision: moved.revision, woken: moved.woken)
    }
  }

  /// A change of an environment, which may have to wait for its apps.
  private func changing<Output>(
    _ body: () async throws(EnvironmentError) -> Output
  ) async throws(DaemonError) -> Output {
    try await waiting { () async throws(DaemonError) in
      do throws(EnvironmentError) { return try await body() } catch { throw DaemonError(ofChange: error) }
    }
  }

  /// Waits, unless too many do already.
  func waiting<Output>(_ body: () async throws(DaemonError) -> Output) async throws(DaemonError) -> Output {
    guard let place = WaitingPlace(waits) else { throw tooManyWait }
    defer { withExtendedLifetime(place) {} }
    return try await body()
  }

  var tooManyWait: DaemonError {
    DaemonError(
      429, "Too many wait",
      "\(waits.most) calls wait already; ask later, or raise limits.waits in the daemon's configuration")
  }

  /// A random value: the same answers as those of `POST /__diorama/strings`.
  ///
  /// - Parameters:
  ///   - id: which environment.
  ///   - body: `{key, length, alphabet}`.
  /// - Returns: `{value, ordinal}`, or a problem.
  /// - Throws: a ``DaemonError`` 404 or 410.
  package func strings(_ id: String, body: [UInt8]) async throws(DaemonError) -> Response {
    let environment = try ready(id)
    return await withTaskExecutorPreference(workers) { environment.strings(requestBody: body) }
  }

  private func timeout(_ seconds: Double?) throws(DaemonError) -> Duration {
    let seconds = seconds ?? min(30, configuration.limits.waitSeconds)
    guard seconds >= 0, seconds <= configuration.limits.waitSeconds else {
      throw DaemonError(
        422, "There is no such wait",
        "timeoutSeconds: it is \(seconds); give from 0 to \(configuration.limits.waitSeconds)")
    }
    return .seconds(seconds)
  }

  private static func merging(_ patch: [String: ContractValue]?) -> [String: ContractValue?] {
    (patch ?? [:]).mapValues { $0 == .null ? nil : $0 }
  }
}

extension Mode {
  fileprivate init(patching name: String) throws(DaemonError) {
    guard let mode = Mode(rawValue: name) else {
      let names = Mode.allCases.map(\.rawValue).joined(separator: ", ")
      throw DaemonError(422, "There is no such mode", "mode: '\(name.prefix(100))' is none of \(names)")
    }
    self = mode
  }
}

extension Environment.ClockMove {
  init(_ request: ClockMoveRequest) throws(DaemonError) {
    switch (request.advance, request.set) {
    case (let seconds?, nil):
      // Further than that no clock goes; nanoseconds of a century fit into 64 bits many times over.
      guard seconds.magnitude <= 1e11 else {
        throw DaemonError(422, "The clock cannot go there", "advance: \(seconds) seconds are more than any clock goes")
      }
      self = .advance(.seconds(seconds))
    case (nil, let text?):
      guard let date = RFC3339.parse(text) else {
        throw DaemonError(
          422, "The clock cannot go there",
          "set: '\(text.prefix(100))' is no RFC 3339 instant, as 2018-10-08T09:00:00Z is")
      }
      self = .set(date)
    default:
      throw DaemonError(422, "It does not say how the clock is to move", "give exactly one of advance and set")
    }
  }
}

extension Environment.ClockPatch {
  init(_ settings: EnvironmentConfiguration.Clock) throws(DaemonError) {
    self.init(rate: settings.rate, timeZone: settings.timeZone, locale: settings.locale)
    if let name = settings.kind {
      guard let kind = LaunchContract.Clock.Kind(rawValue: name) else {
        throw DaemonError(
          422, "There is no such clock",
          "clock.kind: '\(name.prefix(100))' is none of system, frozen, ticking, scaled, manual")
      }
      self.kind = kind
    }
    if let text = settings.start {
      guard let date = RFC3339.parse(text) else {
        throw DaemonError(
          422, "The clock cannot start there",
          "clock.start: '\(text.prefix(100))' is no RFC 3339 instant, as 2018-10-08T09:00:00Z is")
      }
      start = date
    }
  }
}
