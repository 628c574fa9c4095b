import CCompression

/// Applies gzip (RFC 1952) and deflate (RFC 1950).
final class Deflater: CodingStage {
  private let coding: ContentCodings.Coding
  private let stream: UnsafeMutablePointer<z_stream>
  private let header: UnsafeMutablePointer<gz_header>
  private let buffer = OutputBuffer()

  init(_ coding: ContentCodings.Coding) throws {
    self.coding = coding
    // deflate keeps pointers to both structures, so that they must not move: they live on the heap.
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    header = .allocate(capacity: 1)
    header.initialize(to: gz_header())
    // No time, no name, and 255 for a system that is not known (RFC 1952, 2.3.1): the same bytes everywhere.
    header.pointee.os = 255
    let isReady =
      deflateInit2_(
        stream, 6, Z_DEFLATED, coding == .gzip ? 31 : 15, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
        Int32(MemoryLayout<z_stream>.size)) == Z_OK
    guard isReady, coding != .gzip || deflateSetHeader(stream, header) == Z_OK else {
      if isReady { deflateEnd(stream) }
      stream.deallocate()
      header.deallocate()
      throw ContentCodingError.unavailable(coding)
    }
  }

  deinit {
    deflateEnd(stream)
    stream.deallocate()
    header.deallocate()
  }

  func push(_ bytes: [UInt8], _ step: CodingStep, into output: inout [UInt8], limit: Int) throws {
    try bytes.withUnsafeBufferPointer { bytes in
      var offset = 0
      repeat {
        let given = min(bytes.count - offset, 1 << 30)
        stream.pointee.next_in = bytes.baseAddress.map { UnsafeMutablePointer(mutating: $0 + offset) }
        stream.pointee.avail_in = UInt32(given)
        offset += given
        try deflate(offset < bytes.count ? .goOn : step, into: &output, limit: limit)
      } while offset < bytes.count
    }
  }

  private func deflate(_ step: CodingStep, into output: inout [UInt8], limit: Int) throws {
    let flush =
      switch step {
      case .goOn: Z_NO_FLUSH
      case .flush: Z_SYNC_FLUSH
      case .finish: Z_FINISH
      }
    // All is out once there is room left.
    repeat {
      stream.pointee.next_out = buffer.start
      stream.pointee.avail_out = UInt32(buffer.capacity)
      let result = CCompression.deflate(stream, flush)
      guard result != Z_STREAM_ERROR else { throw ContentCodingError.corrupt(coding, stream.pointee.msg) }
      try buffer.move(buffer.capacity - Int(stream.pointee.avail_out), to: &output, limit: limit)
    } while stream.pointee.avail_out == 0
  }
}
