#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// An open file as the content of a message: its bytes are read where they are needed, by as many as need them at once,
/// and are never held as a whole. The file is closed with the last reference.
package final class FileBody: Sendable {
  /// For reading at any place; its position is nobody's.
  package let descriptor: Int32
  /// How many bytes of the file, from its beginning, are the content.
  package let length: Int

  /// Takes over an open file.
  ///
  /// - Parameters:
  ///   - descriptor: readable; this closes it.
  ///   - length: in bytes.
  package init(owning descriptor: Int32, length: Int) {
    self.descriptor = descriptor
    self.length = length
  }

  deinit { close(descriptor) }

  /// Reads bytes from a place.
  ///
  /// - Parameters:
  ///   - offset: of the first one.
  ///   - buffer: where they go.
  /// - Returns: how many there were; 0 at the end of the content.
  /// - Throws: ``FileBodyCut`` where the file ends before its length, or cannot be read.
  package func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    let most = min(buffer.count, length - offset)
    guard most > 0 else { return 0 }
    while true {
      let count = pread(descriptor, buffer.baseAddress, most, off_t(offset))
      if count > 0 { return count }
      if count < 0, errno == EINTR { continue }
      throw FileBodyCut(length: length, offset: offset, code: count < 0 ? errno : 0)
    }
  }

  /// Reads at most so many bytes from a place; none at the end.
  ///
  /// - Throws: ``FileBodyCut``, as ``read(at:into:)``.
  package func read(at offset: Int, upTo most: Int) throws -> [UInt8] {
    try [UInt8](unsafeUninitializedCapacity: max(0, min(most, length - offset))) { buffer, count in
      count = try read(at: offset, into: UnsafeMutableRawBufferPointer(buffer))
    }
  }

  /// Bytes that ``forEachPiece(_:)`` reads at a time.
  package static let pieceSize = 131_072

  /// Reads all of it, piece by piece into the same memory.
  ///
  /// - Parameter body: called with each piece, which is good for that call.
  /// - Throws: ``FileBodyCut``; what `body` throws.
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

/// A file that is being sent ended before its length, or could not be read.
package struct FileBodyCut: Error, CustomStringConvertible {
  let length: Int
  let offset: Int
  let code: Int32

  package var description: String {
    let reason = code == 0 ? "it is shorter now" : String(cString: strerror(code))
    return "a file of \(length) bytes could not be read at byte \(offset): \(reason)"
  }
}
