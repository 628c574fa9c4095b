import CCompression
import HTTPMessages

/// Decodes gzip (RFC 1952) with one or more members, and deflate (RFC 1950), including the raw form without a zlib
/// header (RFC 1951) that some servers send.
final class Inflater: CodingStage {
  private let coding: ContentCodings.Coding
  private let stream: UnsafeMutablePointer<z_stream>
  private let buffer = OutputBuffer()
  private var phase = Phase.before
  /// Whether the zlib header is missing, so that nothing confirms the coding.
  private var isBare = false
  /// The first byte of a deflate body, until the second has come.
  private var first: [UInt8] = []

  private enum Phase {
    /// No byte has arrived.
    case before
    case within
    /// After the end of a member; another may follow.
    case after
  }

  init(_ coding: ContentCodings.Coding) throws {
    self.coding = coding
    // inflate keeps a pointer to the structure, which must not move: it is on the heap.
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    // 15 bits of window; 16 more means gzip only.
    guard Self.start(stream, windowBits: coding == .gzip ? 31 : 15) else {
      stream.deallocate()
      throw BodyError.unavailable(coding)
    }
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  private static func start(_ stream: UnsafeMutablePointer<z_stream>, windowBits: Int32) -> Bool {
    inflateInit2_(stream, windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK
  }

  func push(_ bytes: [UInt8], _ step: CodingStep, into output: inout [UInt8], limit: Int) throws {
    var bytes = bytes
    if coding == .deflate, phase == .before {
      bytes = first + bytes
      first = []
      if bytes.count == 1 { first = bytes }
      if bytes.count < 2 {
        bytes = []
      } else if !Self.isZlibHeader(bytes[0], bytes[1]) {
        isBare = true
        guard inflateReset2(stream, -15) == Z_OK else { throw BodyError.unavailable(coding) }
      }
    }
    try bytes.withUnsafeBufferPointer { bytes in
      var offset = 0
      while offset < bytes.count {
        switch phase {
        case .before: phase = .within
        case .within:
          offset += try inflate(UnsafeBufferPointer(rebasing: bytes[offset...]), into: &output, limit: limit)
        case .after:
          if coding == .gzip, bytes[offset] == 0x1F, inflateReset(stream) == Z_OK {
            phase = .within
          } else if coding == .gzip, bytes[offset] == 0 {
            // Padding, which gzip skips too.
            offset += 1
          } else {
            throw BodyError.trailing(coding)
          }
        }
      }
    }
    if step == .finish, phase == .within || !first.isEmpty { throw BodyError.truncated(coding) }
  }

  /// Whether two bytes are a zlib header: the method is 8, and the bytes are a multiple of 31 (RFC 1950, 2.2).
  ///
  /// Raw deflate never begins like this: it would be a stored block with nonzero padding.
  private static func isZlibHeader(_ first: UInt8, _ second: UInt8) -> Bool {
    first & 0x0F == 8 && (UInt16(first) << 8 | UInt16(second)) % 31 == 0
  }

  /// Decodes to the end of the bytes or of the member; returns the number of bytes used.
  private func inflate(_ bytes: UnsafeBufferPointer<UInt8>, into output: inout [UInt8], limit: Int) throws -> Int {
    let given = min(bytes.count, 1 << 30)
    stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress)
    stream.pointee.avail_in = UInt32(given)
    repeat {
      stream.pointee.next_out = buffer.start
      stream.pointee.avail_out = UInt32(buffer.capacity)
      let result = CCompression.inflate(stream, Z_NO_FLUSH)
      try buffer.move(buffer.capacity - Int(stream.pointee.avail_out), to: &output, limit: limit)
      switch result {
      case Z_OK: break
      case Z_BUF_ERROR: return given - Int(stream.pointee.avail_in)
      case Z_STREAM_END:
        phase = .after
        return given - Int(stream.pointee.avail_in)
      default:
        // Without a header, the output of corrupt input is garbage.
        if isBare { output = [] }
        throw BodyError.corrupt(coding, stream.pointee.msg)
      }
    } while stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0
    return given
  }
}

/// Encodes gzip (RFC 1952) and deflate (RFC 1950).
final class Deflater: CodingStage {
  private let coding: ContentCodings.Coding
  private let stream: UnsafeMutablePointer<z_stream>
  private let header: UnsafeMutablePointer<gz_header>
  private let buffer = OutputBuffer()

  init(_ coding: ContentCodings.Coding) throws {
    self.coding = coding
    // deflate keeps pointers to both structures, which must not move: they are on the heap.
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    header = .allocate(capacity: 1)
    header.initialize(to: gz_header())
    // No time, no name, and 255 for an unknown system (RFC 1952, 2.3.1) make the output the same everywhere.
    header.pointee.os = 255
    let isReady =
      deflateInit2_(
        stream, 6, Z_DEFLATED, coding == .gzip ? 31 : 15, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
        Int32(MemoryLayout<z_stream>.size)) == Z_OK
    guard isReady, coding != .gzip || deflateSetHeader(stream, header) == Z_OK else {
      if isReady { deflateEnd(stream) }
      stream.deallocate()
      header.deallocate()
      throw BodyError.unavailable(coding)
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
        try deflate(offset < bytes.count ? .proceed : step, into: &output, limit: limit)
      } while offset < bytes.count
    }
  }

  private func deflate(_ step: CodingStep, into output: inout [UInt8], limit: Int) throws {
    let flush =
      switch step {
      case .proceed: Z_NO_FLUSH
      case .flush: Z_SYNC_FLUSH
      case .finish: Z_FINISH
      }
    // Repeat until zlib leaves room in the buffer: then all output is flushed.
    repeat {
      stream.pointee.next_out = buffer.start
      stream.pointee.avail_out = UInt32(buffer.capacity)
      let result = CCompression.deflate(stream, flush)
      guard result != Z_STREAM_ERROR else { throw BodyError.corrupt(coding, stream.pointee.msg) }
      try buffer.move(buffer.capacity - Int(stream.pointee.avail_out), to: &output, limit: limit)
    } while stream.pointee.avail_out == 0
  }
}
