import HTTPMessages

/// Something that happens once, and for which any number may wait.
final class Latch: Sendable {
  private struct State {
    var isOpen = false
    var waiting: [UnsafeContinuation<Void, Never>] = []
  }

  private let state = Guarded(State())

  /// It has happened; again does nothing.
  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Returns once it has happened.
  func wait() async {
    await withUnsafeContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiting.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
    // What was done before it was opened is seen after this, which ThreadSanitizer knows of a lock and does not always
    // know of a continuation.
    state.withLock { _ in }
  }
}
