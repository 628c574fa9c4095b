import Diorama
import Foundation

/// What one thread saw: its calls, each with the time before it and the time after it.
struct History: Sendable {
  struct Call: Sendable {
    /// Unlike any other in the run, and in the order of what happened.
    var begin: Int
    var end: Int
    var operation: CredentialOperation
    var outcome: CredentialOutcome
  }

  var calls: [Call] = []

  /// Makes a call and notes it.
  mutating func make(_ operation: CredentialOperation, on store: any CredentialStore, _ ticks: Ticks) {
    let begin = ticks.next()
    let outcome = operation.perform(on: store)
    calls.append(Call(begin: begin, end: ticks.next(), operation: operation, outcome: outcome))
  }
}

/// A clock that never shows the same twice.
final class Ticks: @unchecked Sendable {
  private let lock = NSLock()
  private var count = 0

  func next() -> Int {
    lock.lock()
    defer { lock.unlock() }
    count += 1
    return count
  }
}
