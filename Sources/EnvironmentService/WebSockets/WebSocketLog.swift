import Basics
import Cassettes
import Foundation
import HTTPMessages

/// The messages of a WebSocket being recorded, in the order in which they were forwarded.
final class WebSocketLog: Sendable {
  /// The maximum total size of messages in bytes. A recording holds them until the connection ends.
  static let limit = 64 << 20

  private struct State {
    var frames: [WebSocketFrame] = []
    var size = 0
    var failure: String?
    /// Which side disconnected first: `.open` for the app, `.cut` for the server.
    var end: BodyEnd?
    /// Which sides have closed. The other side may still send until it closes too (RFC 6455, 5.5.1).
    var hasAppClosed = false
    var hasServerClosed = false
    /// The close that ended it because a message could not be forwarded, and the reason.
    var goodbye: WebSocketMessage?
    var reason: String?

    func hasClosed(isApp: Bool) -> Bool { isApp ? hasAppClosed : hasServerClosed }
  }

  private let state = Guarded(State())

  var frames: [WebSocketFrame] { state.withLock { $0.frames } }

  /// Why the WebSocket cannot be recorded; nil if it can.
  var failure: String? { state.withLock { $0.failure } }

  /// How it ended. A close from the app needs no answer to count, unless the server was the first to disconnect.
  var end: BodyEnd {
    state.withLock { state in
      let isWhole = state.hasServerClosed || (state.hasAppClosed && state.end != .cut)
      return isWhole ? .whole : state.end ?? .open
    }
  }

  /// The close that both sides receive if a message could not be forwarded.
  var goodbye: WebSocketMessage? { state.withLock { $0.goodbye } }

  /// Why it was closed early; nil if either side ended it.
  var reason: String? { state.withLock { $0.reason } }

  /// Records a close in place of a message that cannot be recorded.
  func close(_ failure: WebSocketReader.Failure, _ reason: String, isFromApp: Bool) {
    state.withLock { state in
      guard state.goodbye == nil, !state.hasServerClosed, !state.hasClosed(isApp: isFromApp) else { return }
      let goodbye = WebSocketMessage.close(failure.code, failure.reason)
      state.goodbye = goodbye
      state.reason = reason
      state.hasServerClosed = true
      state.frames.append(
        WebSocketFrame(isFromApp: false, time: Date().timeIntervalSince1970, message: goodbye))
    }
  }

  /// Adds a message.
  ///
  /// Ignores pings and pongs, messages that a side sends after its own close, and the app's answer to the server's
  /// close.
  ///
  /// - Throws: `WebSocketReader.Failure` if the messages exceed ``limit``.
  func add(_ message: WebSocketMessage, isFromApp: Bool) throws(WebSocketReader.Failure) {
    guard message.kind == .close || !message.kind.isControl else { return }
    try state.withLock { state throws(WebSocketReader.Failure) in
      guard !state.hasClosed(isApp: isFromApp), state.failure == nil else { return }
      state.size += message.payload.count
      guard state.size <= Self.limit else {
        throw WebSocketReader.Failure(code: 1009, reason: "more than \(Self.limit) bytes of messages")
      }
      if message.kind == .close {
        if isFromApp { state.hasAppClosed = true } else { state.hasServerClosed = true }
        guard !isFromApp || !state.hasServerClosed else { return }
      }
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

  /// One side has disconnected.
  func ended(isApp: Bool) {
    state.withLock { state in
      if state.end == nil { state.end = isApp ? .open : .cut }
    }
  }
}
