import Basics

/// Sees to it that what a restart must know is stored before anybody is told of it.
///
/// Whoever changes something says so under the lock of the state; whoever is about to tell somebody what the state is
/// waits, after that lock, until all that was changed before is stored. One storing serves all who wait.
final class SnapshotPersister: Sendable {
  private struct Progress {
    /// How many changes are stored.
    var stored = 0
    /// How many were tried to be.
    var tried = 0
  }

  private let store: (@Sendable () throws(CodedError) -> Void)?
  private let made = Guarded(0)
  private let progress = Guarded(Progress())

  /// - Parameter store: stores all that has changed; nil where nothing outlives the process.
  init(_ store: (@Sendable () throws(CodedError) -> Void)?) {
    self.store = store
  }

  /// Something has changed.
  func note() {
    made.withLock { $0 += 1 }
  }

  /// Returns once all that has changed is stored: for who acknowledges a change.
  ///
  /// - Throws: a ``CodedError`` of kind `cannotWrite` where the store refuses, now or still.
  func keep() throws(CodedError) { try keep(again: true) }

  /// The same for who only tells what is: that is in force, stored or not, and asking a store that has just refused
  /// again for each reader would only be a burden to it.
  func keepIfPossible() { try? keep(again: false) }

  /// Stores how it is now, so that a store that refuses is found out before anything is changed.
  ///
  /// - Throws: as ``keep()``.
  func prepare() throws(CodedError) {
    guard let store else { return }
    try progress.withLock { progress throws(CodedError) in
      // What is in force and could not be stored may be the very thing that is to be taken back now.
      if progress.stored == made.withLock({ $0 }) { try store() }
    }
  }

  private func keep(again: Bool) throws(CodedError) {
    guard let store else { return }
    let wanted = made.withLock { $0 }
    // Held while it is stored: others wait for the same, and find it done.
    try progress.withLock { progress throws(CodedError) in
      guard progress.stored < wanted, again || progress.tried < wanted else { return }
      let all = made.withLock { $0 }
      progress.tried = all
      try store()
      progress.stored = all
    }
  }
}
