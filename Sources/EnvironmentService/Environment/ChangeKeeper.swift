import HTTPMessages

/// Sees to it that what a restart must know is stored before anybody is told of it.
///
/// Whoever changes something says so under the lock of the state; whoever is about to tell somebody what the state is
/// waits, after that lock, until all that was changed before is stored. One storing serves all who wait.
final class ChangeKeeper: Sendable {
  private let store: (@Sendable () -> Void)?
  private let made = Guarded(0)
  private let stored = Guarded(0)

  /// - Parameter store: stores all that has changed; nil where nothing outlives the process.
  init(_ store: (@Sendable () -> Void)?) {
    self.store = store
  }

  /// Something has changed.
  func note() {
    made.withLock { $0 += 1 }
  }

  /// Returns once all that has changed is stored.
  func keep() {
    guard let store else { return }
    let wanted = made.withLock { $0 }
    // Held while it is stored: others wait for the same, and find it done.
    stored.withLock { stored in
      guard stored < wanted else { return }
      let all = made.withLock { $0 }
      store()
      stored = all
    }
  }
}
