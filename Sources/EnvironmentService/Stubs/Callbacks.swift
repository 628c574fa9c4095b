import Basics
import HTTPMessages
import Stubs

/// Requests whose responses a client of the admin API provides, such as a test's closure.
final class Callbacks: Sendable {
  /// How long a request waits for its response.
  static let patience = Duration.seconds(60)

  /// A request that is waiting for its response.
  struct Pending: Sendable {
    let number: Int
    let stub: String
    let request: LoggedRequest
    fileprivate var isTaken = false
    fileprivate var response: StubResponse?
  }

  private struct State: Sendable {
    var last = 0
    var pending: [Int: Pending] = [:]
    var isOver = false
  }

  private let state = Monitor(State())

  /// Waits for the response to a request.
  ///
  /// - Returns: the response; nil if no client has answered in time.
  /// - Throws: `CancellationError` if the client of the request disconnects, or the environment ends.
  func response(to request: StubRequest, by stub: String) async throws -> StubResponse? {
    let logged = LoggedRequest(request)
    let number = state.withLock { state in
      state.last += 1
      state.pending[state.last] = Pending(number: state.last, stub: stub, request: logged)
      return state.last
    }
    defer { state.withLock { $0.pending[number] = nil } }
    try await state.wait(until: .now + Self.patience) { $0.isOver || $0.pending[number]?.response != nil }
    return try state.withLock { state in
      if state.isOver, state.pending[number]?.response == nil { throw CancellationError() }
      return state.pending[number]?.response
    }
  }

  /// Waits until there are requests that no client has taken, the deadline passes, or the environment ends.
  ///
  /// - Parameters:
  ///   - stub: the stub whose requests to take.
  ///   - deadline: when to give up.
  /// - Returns: the requests, in order. They are then taken.
  /// - Throws: `CancellationError`.
  func take(of stub: String, until deadline: ContinuousClock.Instant) async throws -> [Pending] {
    try await state.wait(until: deadline) { state in
      state.isOver || state.pending.values.contains { $0.stub == stub && !$0.isTaken }
    }
    return state.withLock { state in
      let numbers = state.pending.values.filter { $0.stub == stub && !$0.isTaken }.map(\.number).sorted()
      for number in numbers { state.pending[number]?.isTaken = true }
      return numbers.compactMap { state.pending[$0] }
    }
  }

  /// Answers a request.
  ///
  /// - Returns: false if the request is no longer waiting.
  func answer(_ number: Int, _ response: StubResponse) -> Bool {
    state.withLock { state in
      guard let pending = state.pending[number], pending.response == nil else { return false }
      state.pending[number]?.response = response
      return true
    }
  }

  func end() { state.withLock { $0.isOver = true } }
}
