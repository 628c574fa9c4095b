#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The body of a message: bytes in memory, a bounded stream, or a file.
package enum Body: Sendable {
  /// The whole body.
  case bytes([UInt8])
  /// A stream, with its length in bytes if known; otherwise the body is sent chunked.
  case stream(BytePipe, length: Int?)
  /// An open, complete file, sent with its length; with `sendfile` where the system allows it.
  case file(FileBody)

  /// A body of no bytes.
  package static let empty = Body.bytes([])

  /// The length in bytes, if known.
  package var length: Int? {
    switch self {
    case .bytes(let bytes): bytes.count
    case .stream(_, let length): length
    case .file(let file): file.length
    }
  }

  /// Reads the body piece by piece.
  ///
  /// - Parameter use: called with each piece, of at least one byte.
  /// - Throws: the body's error, or the error that `use` throws. The rest of a stream is then abandoned.
  package func forEachPiece(_ use: ([UInt8]) async throws -> Void) async throws {
    switch self {
    case .bytes(let bytes): if !bytes.isEmpty { try await use(bytes) }
    case .stream(let pipe, _):
      do {
        while let piece = try await pipe.read() { try await use(piece) }
      } catch {
        pipe.abandon()
        throw error
      }
    case .file(let file):
      var offset = 0
      while offset < file.length {
        let piece = try file.read(at: offset, upTo: FileBody.pieceSize)
        offset += piece.count
        try await use(piece)
      }
    }
  }

  /// Reads the whole body.
  ///
  /// - Parameter limit: the maximum number of bytes to hold.
  /// - Returns: the bytes.
  /// - Throws: ``BodyTooLarge`` if the body exceeds `limit`; the error that the stream failed with.
  package func collect(upTo limit: Int) async throws -> [UInt8] {
    switch self {
    case .bytes(let bytes):
      guard bytes.count <= limit else { throw BodyTooLarge(limit: limit) }
      return bytes
    case .stream(let pipe, let length):
      if let length, length > limit { throw BodyTooLarge(limit: limit) }
      var all: [UInt8] = []
      all.reserveCapacity(length ?? 0)
      while let chunk = try await pipe.read() {
        guard all.count + chunk.count <= limit else {
          // Part of the body has been read, so the rest is useless.
          pipe.abandon()
          throw BodyTooLarge(limit: limit)
        }
        all += chunk
      }
      return all
    case .file(let file):
      guard file.length <= limit else { throw BodyTooLarge(limit: limit) }
      var all: [UInt8] = []
      all.reserveCapacity(file.length)
      try file.forEachPiece { all.append(contentsOf: $0) }
      return all
    }
  }
}

/// A body exceeded the limit its reader set.
package struct BodyTooLarge: Error, CustomStringConvertible {
  /// The limit in bytes.
  package let limit: Int

  package init(limit: Int) {
    self.limit = limit
  }

  package var description: String { "the body exceeds \(limit) bytes" }
}

/// An open file as the body of a message.
///
/// Several readers can read it at the same time; it is never in memory as a whole. The last reference closes the file.
package final class FileBody: Sendable {
  /// Read with `pread` only: the file position is not used.
  package let descriptor: Int32
  /// The body is the first `length` bytes of the file.
  package let length: Int

  /// Takes ownership of an open file.
  ///
  /// - Parameters:
  ///   - descriptor: a readable descriptor, closed with this object.
  ///   - length: in bytes.
  package init(owning descriptor: Int32, length: Int) {
    self.descriptor = descriptor
    self.length = length
  }

  deinit { close(descriptor) }

  /// Reads bytes at an offset.
  ///
  /// - Returns: the number of bytes read; 0 at the end of the body.
  /// - Throws: ``BodyError`` if the file ends before `length` or cannot be read.
  package func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    let most = min(buffer.count, length - offset)
    guard most > 0 else { return 0 }
    while true {
      let count = pread(descriptor, buffer.baseAddress, most, off_t(offset))
      if count > 0 { return count }
      if count < 0, errno == EINTR { continue }
      let reason = count < 0 ? String(cString: strerror(errno)) : "the file was truncated"
      throw BodyError("cannot read byte \(offset) of a file of \(length) bytes: \(reason)")
    }
  }

  /// Reads at most `most` bytes at an offset; an empty array at the end of the body.
  ///
  /// - Throws: ``BodyError`` if the file ends before `length` or cannot be read.
  package func read(at offset: Int, upTo most: Int) throws -> [UInt8] {
    try [UInt8](unsafeUninitializedCapacity: max(0, min(most, length - offset))) { buffer, count in
      count = try read(at: offset, into: UnsafeMutableRawBufferPointer(buffer))
    }
  }

  /// The size of the pieces that ``forEachPiece(_:)`` reads, in bytes.
  package static let pieceSize = 131_072

  /// Reads the whole file piece by piece into one buffer.
  ///
  /// - Parameter body: called with each piece, which is valid during the call only.
  /// - Throws: ``BodyError``; the error that `body` throws.
  package func forEachPiece(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    try withUnsafeTemporaryAllocation(byteCount: Self.pieceSize, alignment: 16) { buffer in
      var offset = 0
      while offset < length {
        let count = try read(at: offset, into: buffer)
        try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        offset += count
      }
    }
  }
}

/// A body cannot be read or sent to its end.
///
/// Not a `CodedError`, which fails a recording.
package struct BodyError: Error, CustomStringConvertible {
  /// What happened.
  package let description: String

  package init(_ description: String) { self.description = description }
}
