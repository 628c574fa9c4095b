import HTTPMessages

/// A stream: one request and its response. Used on the connection's thread only.
final class HTTP2Stream {
  let id: Int32
  var head: RequestHead
  /// The trailer fields of the request, if it may have some.
  var trailers: Trailers?
  var trailerSize = 0
  /// Set when the handler has been started, or when the server refuses the request.
  var isStarted = false
  var call: HandlerCall?
  /// Bytes of the request's body that the handler has not been given yet.
  var held: [UInt8] = []
  /// The number of bytes that the client has sent, and how many of them still count against the stream's window.
  var received = 0
  var unconsumed = 0
  /// The client has sent everything.
  var isRequestComplete = false
  /// The connection will look at it at the end of this turn's reading.
  var isTouched = false
  /// The server itself has answered with an error, or has reset the stream; the rest of the body is dropped.
  var isRefused = false

  /// The head of the response has been handed to nghttp2.
  var isAnswered = false
  /// All of the response has been sent.
  var isResponseComplete = false
  var content = ResponseContent.none
  var responseTrailers: Trailers?

  init(id: Int32, headerLimit: Int) {
    self.id = id
    head = RequestHead(limit: headerLimit)
  }

  /// Passes the bytes held to the handler.
  ///
  /// - Returns: whether none are left.
  func deliver() -> Bool {
    guard let pipe = call?.upload else {
      held = []
      return true
    }
    guard held.isEmpty || held.withUnsafeBytes({ pipe.offer($0) }) else { return false }
    held = []
    if isRequestComplete { pipe.finish() }
    return true
  }

  /// The stream has been closed.
  func end() {
    call?.end(complete: isResponseComplete)
    guard let pipe = call?.upload else { return }
    guard isRequestComplete else { return pipe.fail(UploadCut()) }
    // The response ended before the handler read all of the body, which has arrived.
    pipe.finish(with: held)
  }
}

/// A handler ended its response before it had received all of the request's body, so the server stopped receiving it (RFC
/// 9113, 8.1).
package struct UploadCut: Error, CustomStringConvertible {
  package var description: String { "the response ended before the request's body; the rest was not received" }
}

/// What is left to send of a response's body.
enum ResponseContent {
  case none
  case bytes(ArraySlice<UInt8>)
  case file(FileBody, offset: Int)
  /// With the number of bytes left of a declared length. Trailers are complete only at the end of the stream, which then
  /// has to be awaited.
  case stream(BytePipe, remaining: Int?, untilEnd: Bool)

  /// The result of ``read(into:)``.
  enum Piece {
    /// Bytes, and whether they are the last ones.
    case bytes(Int, isLast: Bool)
    /// Nothing yet.
    case empty
    /// The body has ended.
    case end
    /// The body cannot be sent to its end.
    case failed
  }

  /// Takes the next bytes.
  mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Piece {
    switch self {
    case .none: return .end
    case .bytes(let rest):
      let piece = rest.prefix(buffer.count)
      piece.withUnsafeBytes { buffer.copyMemory(from: $0) }
      self = .bytes(rest.dropFirst(piece.count))
      return .bytes(piece.count, isLast: piece.count == rest.count)
    case .file(let file, let offset):
      guard let count = try? file.read(at: offset, into: buffer) else { return .failed }
      self = .file(file, offset: offset + count)
      return .bytes(count, isLast: offset + count == file.length)
    case .stream(let pipe, let remaining, let untilEnd):
      let room = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, remaining ?? .max)])
      // All of a declared length has been sent.
      if room.isEmpty, !untilEnd { return .end }
      if room.isEmpty { return withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { end(of: pipe, $0) } }
      switch pipe.take(into: room) {
      case .bytes(let count):
        let rest = remaining.map { $0 - count }
        self = .stream(pipe, remaining: rest, untilEnd: untilEnd)
        return .bytes(count, isLast: rest == 0 && !untilEnd)
      case .empty: return .empty
      // With a declared length, this end is premature.
      case .end: return remaining == nil ? .end : .failed
      case .failed: return .failed
      }
    }
  }

  private func end(of pipe: BytePipe, _ buffer: UnsafeMutableRawBufferPointer) -> Piece {
    switch pipe.take(into: buffer) {
    case .empty: .empty
    case .end: .end
    case .bytes, .failed: .failed
    }
  }
}
