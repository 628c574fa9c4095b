import Basics
import Foundation
import HTTPMessages
import LaunchContract

// The live link: an app, or a program in any language, follows its environment by polling for the state.
extension Control {
  /// The longest time in seconds that a poll waits.
  private static let longestWait = 60.0
  /// The most sleepers that one app can report, so that the sum over all apps cannot overflow.
  private static let mostSleepers = 1_000_000_000

  /// `GET /state?after=REVISION&wait=SECONDS`: answers with the state, once it is newer than the revision.
  func state(_ request: Request, query: String) async throws -> Response {
    let items = try ControlQuery(query)
    let after = try items.number("after")
    let seconds = try items.seconds("wait", limit: Self.longestWait) ?? 0
    let follower = try items.name("follower")
    let watch = try items.number("watch")
    let isWhole = items["only"] != "steps"
    let revision = environment.live { live, _ in live.state.revision }
    if let after, after > revision {
      throw Problem(
        status: 400, title: "Unknown revision",
        detail: "after=\(after), but the last revision is \(revision); use a revision from an earlier answer")
    }
    guard follower == nil || after != nil else {
      throw Problem(
        status: 400, title: "A follower needs after",
        detail: "add after=REVISION: first the contract's control.revision, then the last revision that was applied")
    }
    let waits = seconds > 0 ? environment.stateWaits : nil
    if let waits, !waits.enter() {
      throw Problem(
        status: 429, title: "Too many waiting requests",
        detail: "\(waits.most) requests for a state are waiting; end environments that are not in use, or raise "
          + "limits.stateWaits in the daemon's configuration")
    }
    defer { waits?.leave() }
    let state = try await environment.answer(
      .init(
        after: after ?? -1, watch: follower == nil ? nil : watch, until: .now + .seconds(seconds), follower: follower,
        connection: items["connection"] == "kept" ? request.connection : nil),
      state: { $0.state(after: after, isWhole: isWhole) })
    guard let state else {
      throw Problem(
        status: 410, title: "The steps are no longer kept",
        detail:
          "too many steps after revision \(after ?? 0); read the state without after, or launch the app "
          + "with a newer contract")
    }
    return Response(
      status: 200, headers: ["Content-Type": "application/json", "Cache-Control": "no-store"],
      body: .bytes(Array(try JSON.encode(state))))
  }

  /// `POST /acknowledge`: an app has applied a step, or reports how many sleepers it has.
  func acknowledge(_ message: Acknowledgement) throws -> Response {
    let problem = environment.live { live, _ -> String? in
      if let revision = message.revision, !(0...live.state.revision ~= revision) {
        return "revision \(revision) does not exist; the last is \(live.state.revision)"
      }
      if let now = message.now, RFC3339.parse(now) == nil { return "now: '\(now)' is not an RFC 3339 timestamp" }
      for (name, count) in [("woken", message.woken ?? 0), ("sleepers", message.sleepers ?? 0)] {
        if !(0...Self.mostSleepers ~= count) { return "\(name): \(count) is not between 0 and \(Self.mostSleepers)" }
      }
      if message.sleepers != nil, message.watch == nil { return "sleepers needs the watch that it answers" }
      live.take(message)
      return nil
    }
    if let problem { throw Problem(status: 400, title: "Invalid acknowledgement", detail: problem) }
    return Response(status: 204)
  }
}

extension Environment {
  /// Waits until a poll's answer is due.
  ///
  /// - Throws: `CancellationError` when the client has left.
  fileprivate func answer(_ poll: AppSync.LongPoll, state: (AppSync) -> LiveState?) async throws -> LiveState? {
    let number = live { live, _ in live.open(poll) }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        live { live, _ in live.await(number) { continuation.resume() } }
      }
    } onCancel: {
      live { live, _ in live.clientLeft(number) }
    }
    let answer = live { live, now in
      live.close(number, at: now)
      return state(live)
    }
    try Task.checkCancellation()
    return answer
  }
}

/// The items of a query, by name. If a name occurs more than once, its last item counts.
struct ControlQuery {
  private var items: [String: String] = [:]

  init(_ query: String) throws {
    for item in query.split(separator: "&") {
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = parts[0].removingPercentEncoding,
        let value = (parts.dropFirst().first ?? "").removingPercentEncoding
      else { throw Self.problem("\(item) is not percent-encoded") }
      items[name] = value
    }
  }

  subscript(_ name: String) -> String? { items[name] }

  func number(_ name: String) throws -> Int? {
    guard let text = items[name] else { return nil }
    guard let number = Int(text), number >= 0 else {
      throw Self.problem("\(name)=\(text) is not a whole number, 0 or greater")
    }
    return number
  }

  func seconds(_ name: String, limit: Double) throws -> Double? {
    guard let text = items[name] else { return nil }
    guard let seconds = Double(text), seconds.isFinite, seconds >= 0 else {
      throw Self.problem("\(name)=\(text) is not a number of seconds, 0 or greater")
    }
    return min(seconds, limit)
  }

  func name(_ name: String) throws -> String? {
    guard let text = items[name] else { return nil }
    guard Acknowledgement.isName(text) else {
      throw Self.problem("\(name)=\(text) is not a valid name; use 1 to 100 ASCII letters, digits, '.', '_' and '-'")
    }
    return text
  }

  private static func problem(_ detail: String) -> Problem {
    Problem(status: 400, title: "The query cannot be read", detail: detail)
  }
}
