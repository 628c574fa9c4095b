import Basics
import CMicroHTTPD
import HTTPMessages

/// Feeds a response body from a pipe to libmicrohttpd, without blocking.
final class ResponseStream: Sendable {
  let length: Int?
  private let pipe: BytePipe
  private let connection: Connection
  /// The client does not support chunks (HTTP/1.0), so a stream of unknown length ends with the connection.
  private let endsConnection: Bool
  private let trailers: Trailers?
  /// The response that this is the body of; it owns this object.
  private let response = Guarded<UInt?>(nil)

  init(pipe: BytePipe, length: Int?, trailers: Trailers?, endsConnection: Bool, connection: Connection) {
    self.pipe = pipe
    self.trailers = trailers
    self.length = length
    self.endsConnection = endsConnection
    self.connection = connection
    pipe.onReadable { connection.wake() }
  }

  /// Sets the response, before the first byte is read.
  func answers(with response: OpaquePointer) {
    self.response.withLock { $0 = UInt(bitPattern: response) }
  }

  /// The manual allows adding footers inside the content reader, before it reports the end.
  private func addTrailers() {
    guard let trailers = trailers?.headers.fields, !trailers.isEmpty,
      let response = response.withLock({ $0 }).flatMap({ OpaquePointer(bitPattern: $0) })
    else { return }
    for field in trailers { WireResponse.addTrailer(field, to: response) }
  }

  /// libmicrohttpd's content reader: returns a byte count, 0 with the connection suspended, or one of its end codes.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    while true {
      guard !connection.isAbandoned else { return cut(buffer) }
      switch pipe.take(into: buffer) {
      case .bytes(let count): return count
      case .empty: if connection.park() { return 0 }
      // With a declared length, the reader is not called after the last byte, so this end is premature.
      case .end:
        if length == nil, endsConnection { return end(buffer) }
        guard length == nil else { return cut(buffer) }
        addTrailers()
        return diorama_reader_end()
      case .failed: return cut(buffer)
      }
    }
  }

  /// Ends the connection in the middle of the response.
  private func cut(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    // If closing the connection marks the end of the response, only a reset signals an error.
    if endsConnection {
      connection.observer?.reset()
      Socket.abort(connection.descriptor)
    }
    return end(buffer)
  }

  /// Ends the connection after the bytes sent so far.
  ///
  /// `MHD_CONTENT_READER_END_WITH_ERROR` exists for this, and so does the end of a stream for HTTP/1.0. But
  /// libmicrohttpd 0.9.75 closes such a connection without cleaning up: if it was ever suspended, its descriptor stays
  /// open until the idle timeout. It cleans up at once after a failed write, so this shuts the socket down and returns a
  /// byte that can no longer be written.
  private func end(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard !buffer.isEmpty else { return diorama_reader_error() }
    Socket.end(connection.descriptor)
    buffer[0] = 0
    return 1
  }
}
