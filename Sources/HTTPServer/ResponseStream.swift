import CMicroHTTPD
import HTTPMessages

/// Feeds a response's body from a pipe to libmicrohttpd, and waits for neither.
final class ResponseStream: Sendable {
  let length: Int?
  private let pipe: BytePipe
  private let connection: Connection
  /// The client knows no chunks (HTTP/1.0): the end of a stream of unknown length is the end of the connection.
  private let endsConnection: Bool
  private let trailers: Trailers?
  /// The response that it is the body of, which owns this in turn.
  private let response = Guarded<UInt?>(nil)

  init(pipe: BytePipe, length: Int?, trailers: Trailers?, endsConnection: Bool, connection: Connection) {
    self.pipe = pipe
    self.trailers = trailers
    self.length = length
    self.endsConnection = endsConnection
    self.connection = connection
    pipe.onReadable { connection.wake() }
  }

  /// To be told before the first byte is read.
  func answers(with response: OpaquePointer) {
    self.response.withLock { $0 = UInt(bitPattern: response) }
  }

  /// The manual allows footers to be added from within the content reader, before the end is told.
  private func addTrailers() {
    guard let trailers = trailers?.headers.fields, !trailers.isEmpty,
      let response = response.withLock({ $0 }).flatMap({ OpaquePointer(bitPattern: $0) })
    else { return }
    for field in trailers { WireResponse.addTrailer(field, to: response) }
  }

  /// libmicrohttpd's content reader: a count of bytes, 0 with the connection suspended, or one of its two ends.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    while true {
      guard !connection.isAbandoned else { return cut(buffer) }
      switch pipe.take(into: buffer) {
      case .bytes(let count): return count
      case .empty: if connection.park() { return 0 }
      // With a length declared, the reader is not asked again after the last byte: this end is too early.
      case .end:
        if length == nil, endsConnection { return end(buffer) }
        guard length == nil else { return cut(buffer) }
        addTrailers()
        return diorama_reader_end()
      case .failed: return cut(buffer)
      }
    }
  }

  /// Ends the connection in the middle of the answer.
  private func cut(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    // Where the end of the connection is the end of the answer, only a reset is another one.
    if endsConnection { Socket.abort(connection.descriptor) }
    return end(buffer)
  }

  /// Ends the connection after what has been sent.
  ///
  /// `MHD_CONTENT_READER_END_WITH_ERROR` is there for this, and so is the end of a stream for HTTP/1.0. But
  /// libmicrohttpd 0.9.75 closes such a connection without cleaning up: if it has ever been suspended, its descriptor
  /// stays open until the idle time is over. A failed write is cleaned up at once; so this ends the socket and
  /// returns a byte that cannot be written any more.
  private func end(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard !buffer.isEmpty else { return diorama_reader_error() }
    Socket.end(connection.descriptor)
    buffer[0] = 0
    return 1
  }

  /// The answer has been sent, or will not be.
  func end(complete: Bool) {
    guard complete else {
      pipe.onReadable(nil)
      return pipe.abandon()
    }
    // All of the declared length has been sent. The writer may not have told the end yet, which is no reason to
    // tell it that its reader left; only bytes beyond the length are.
    Self.awaitEnd(of: pipe)
  }

  private static func awaitEnd(of pipe: BytePipe) {
    pipe.onReadable { [weak pipe] in pipe.map(awaitEnd) }
    let taken = withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { pipe.take(into: $0) }
    switch taken {
    case .empty: return
    case .bytes: pipe.abandon()
    case .end, .failed: break
    }
    pipe.onReadable(nil)
  }
}
