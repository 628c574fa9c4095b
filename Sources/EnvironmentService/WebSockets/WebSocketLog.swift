import Cassettes
import Foundation
import HTTPMessages

/// What is said on a WebSocket that is recorded, in the order in which it came by.
final class WebSocketLog: Sendable {
  /// The most bytes of all messages together: a recording holds them until the connection ends.
  static let limit = 64 << 20

  private struct State {
    var frames: [WebSocketFrame] = []
    var size = 0
    var failure: String?
    /// How it ended where nobody has said so: whose side was first.
    var end: BodyEnd?
    var hasClose = false
  }

  private let state = Guarded(State())

  var frames: [WebSocketFrame] { state.withLock { $0.frames } }

  /// Why it is not to be kept; nil for a whole one.
  var failure: String? { state.withLock { $0.failure } }

  /// How it ended.
  var end: BodyEnd { state.withLock { $0.hasClose ? .whole : $0.end ?? .open } }

  /// A message came by; those that only keep the connection alive are of no interest.
  func add(_ message: WebSocketMessage, isFromApp: Bool) {
    guard message.kind == .close || !message.kind.isControl else { return }
    state.withLock { state in
      guard !state.hasClose, state.failure == nil else { return }
      state.size += message.payload.count
      guard state.size <= Self.limit else {
        state.failure = "it has more than \(Self.limit) bytes of messages"
        state.frames = []
        return
      }
      state.hasClose = message.kind == .close
      state.frames.append(
        WebSocketFrame(isFromApp: isFromApp, time: Date().timeIntervalSince1970, message: message))
    }
  }

  func fail(_ reason: String) {
    state.withLock { state in
      if state.failure == nil { state.failure = reason }
      state.frames = []
    }
  }

  /// One side has gone.
  func ended(isApp: Bool) {
    state.withLock { state in
      if state.end == nil { state.end = isApp ? .open : .cut }
    }
  }
}
