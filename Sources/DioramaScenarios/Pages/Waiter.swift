import Basics

/// The time limit of waits, and how often a condition is checked if nothing signals a change.
///
/// ```swift
/// Waiter.standard.timeout = .seconds(60)  // a slow machine
/// ```
public struct Waiter: Sendable, Equatable {
  /// The time limit of waits that don't set their own. The default is 10 s.
  public var timeout: Duration
  /// The time between two checks of a condition if nothing signals a change. The default is 100 ms. A condition on a
  /// ``Screen`` is checked after each change instead.
  public var interval: Duration

  /// - Parameters:
  ///   - timeout: the time limit.
  ///   - interval: the time between two checks if nothing signals a change.
  public init(timeout: Duration = .seconds(10), interval: Duration = .milliseconds(100)) {
    self.timeout = timeout
    self.interval = interval
  }

  private static let shared = Guarded(Waiter())

  /// The settings of all waits of this process.
  public static var standard: Waiter {
    get { shared.withLock { $0 } }
    set { shared.withLock { $0 = newValue } }
  }
}

/// Waits until a closure returns a value.
///
/// With a screen, the closure is called after each change of the screen. Without one, it is called every
/// ``Waiter/interval``; prefer a wait with a signal, such as `TestApplication.wait(forOutput:)`, where there is one.
///
/// ```swift
/// let order = try await eventually("an order in the database") { try await database.orders().first }
/// ```
///
/// - Parameters:
///   - what: what the wait is for, as a noun phrase; for the error message.
///   - screen: the screen that the condition depends on, if any.
///   - timeout: the time limit; ``Waiter/standard``'s by default.
///   - condition: returns nil as long as the condition does not hold. An error counts as nil; at the time limit, the
///     last one is reported.
/// - Returns: the value.
/// - Throws: ``ScreenError`` at the time limit, with the last state; `CancellationError` when the task is cancelled.
@discardableResult
public func eventually<Value>(
  _ what: String, on screen: (any Screen)? = nil, timeout: Duration? = nil,
  _ condition: () async throws -> Value?
) async throws -> Value {
  let timeout = timeout ?? Waiter.standard.timeout
  let start = ContinuousClock.now
  let deadline = start + timeout
  while true {
    // Before the condition, so that no change is missed.
    let revision = screen?.revision ?? 0
    var lastError: (any Error)?
    do {
      if let value = try await condition() { return value }
    } catch let error as CancellationError {
      throw error
    } catch {
      lastError = error
    }
    try Task.checkCancellation()
    let mayHaveChanged: Bool
    if let screen {
      mayHaveChanged = try await screen.waitForChange(after: revision, until: deadline) != nil
    } else {
      let now = ContinuousClock.now
      mayHaveChanged = now < deadline
      if mayHaveChanged { try await Delay.sleep(until: min(deadline, now + Waiter.standard.interval)) }
    }
    if mayHaveChanged { continue }
    let isOver = ContinuousClock.now >= deadline
    var message =
      isOver ? "timed out after \(timeout) waiting for \(what)" : "the screen ended while waiting for \(what)"
    if let lastError { message += "; the last check failed: \(lastError)" }
    if let screen { message += await screen.description() }
    throw ScreenError(isOver ? .timedOut : .ended, message)
  }
}

/// Waits until a closure returns true. Otherwise the same as the other `eventually`.
///
/// - Parameters:
///   - what: what the wait is for, as a noun phrase; for the error message.
///   - screen: the screen that the condition depends on, if any.
///   - timeout: the time limit; ``Waiter/standard``'s by default.
///   - condition: the condition.
/// - Throws: ``ScreenError`` at the time limit, with the last state; `CancellationError` when the task is cancelled.
public func eventually(
  _ what: String, on screen: (any Screen)? = nil, timeout: Duration? = nil,
  _ condition: () async throws -> Bool
) async throws {
  try await eventually(what, on: screen, timeout: timeout) { try await condition() ? () : nil }
}

extension Screen {
  /// What the screen shows, for the end of a message.
  func description() async -> String {
    let end = situation.map { "\n  \($0)" } ?? ""
    do {
      return ScreenError.seen(try await visibleText()) + end
    } catch {
      return "; the screen cannot be read: \(error)" + end
    }
  }
}
