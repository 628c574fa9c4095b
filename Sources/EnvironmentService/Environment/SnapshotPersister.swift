import Basics

/// Makes sure that a change is stored before any client sees it.
///
/// Code that changes something calls ``note()`` while it holds the state's lock. Code that is about to report the state
/// calls ``keep()`` after it released the lock, which waits until all earlier changes are stored. One write serves all
/// who wait.
final class SnapshotPersister: Sendable {
  private struct Progress {
    /// How many changes are stored.
    var stored = 0
    /// How many changes the last attempt to store included.
    var tried = 0
  }

  private let store: (@Sendable () throws(CodedError) -> Void)?
  private let made = Guarded(0)
  private let progress = Guarded(Progress())

  /// - Parameter store: stores the current state; nil if nothing outlives the process.
  init(_ store: (@Sendable () throws(CodedError) -> Void)?) {
    self.store = store
  }

  /// Notes a change.
  func note() {
    made.withLock { $0 += 1 }
  }

  /// Returns once all changes so far are stored. Call it before you acknowledge a change.
  ///
  /// - Throws: a ``CodedError`` of kind `cannotWrite` if they cannot be stored.
  func keep() throws(CodedError) { try keep(again: true) }

  /// Stores changes before the state is read, ignoring errors: the state applies whether or not it is stored. It does
  /// not retry a failed attempt, to keep readers from overloading a failing store.
  func keepIfPossible() { try? keep(again: false) }

  /// Stores the current state, to find out whether it can be stored before anything changes.
  ///
  /// - Throws: like ``keep()``.
  func prepare() throws(CodedError) {
    guard let store else { return }
    try progress.withLock { progress throws(CodedError) in
      // If an earlier change could not be stored, do not insist: the next change may be the one that reverts it.
      if progress.stored == made.withLock({ $0 }) { try store() }
    }
  }

  private func keep(again: Bool) throws(CodedError) {
    guard let store else { return }
    let wanted = made.withLock { $0 }
    // Held while storing: others wait for the same result.
    try progress.withLock { progress throws(CodedError) in
      guard progress.stored < wanted, again || progress.tried < wanted else { return }
      let all = made.withLock { $0 }
      progress.tried = all
      try store()
      progress.stored = all
    }
  }
}
