import Basics
import HTTPMessages

/// Notes how the messages of a gRPC call in both directions follow each other while the call is recorded.
final class CallInterleaving: Sendable {
  private struct State {
    var requests = GRPCMessageCounter()
    var responses = GRPCMessageCounter()
    var answered = 0
    var before: [Int] = []
    var hasEnded = false
    var isBroken = false
  }

  private let state = Guarded(State())

  /// As in ``Interaction/interleaving``; empty for bodies that are not gRPC messages.
  var counts: [Int] {
    state.withLock { state in
      let isPlain = state.hasEnded && state.before.allSatisfy { $0 == 0 }
      return state.isBroken || isPlain ? [] : state.before
    }
  }

  /// Adds bytes of the request, before they are passed on.
  ///
  /// - Parameter bytes: the bytes; nil at its end.
  func asked(_ bytes: [UInt8]?) {
    state.withLock { state in
      guard let bytes else {
        state.hasEnded = true
        return state.before.append(state.answered)
      }
      guard !state.isBroken, let count = state.requests.count(bytes) else { return state.isBroken = true }
      state.before += Array(repeating: state.answered, count: count)
    }
  }

  /// Adds bytes of the response, before they are passed on.
  ///
  /// - Parameter bytes: the bytes; nil at its end.
  func answered(_ bytes: [UInt8]?) {
    state.withLock { state in
      guard let bytes else { return state.answered += 1 }
      guard !state.isBroken, let count = state.responses.count(bytes) else { return state.isBroken = true }
      state.answered += count
    }
  }
}

extension Request {
  /// Whether this is a call of gRPC over HTTP/2.
  var isCall: Bool { isHTTP2 && GRPCFraming(contentType: headers["Content-Type"] ?? "") == .grpc }
}
