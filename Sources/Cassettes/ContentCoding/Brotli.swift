import CCompression
import HTTPMessages

/// Decodes brotli (RFC 7932).
final class BrotliDecompressor: CodingStage {
  private let state: OpaquePointer
  private let buffer = OutputBuffer()
  private var hasBegun = false
  private var hasEnded = false

  init() throws {
    guard let state = BrotliDecoderCreateInstance(nil, nil, nil) else {
      throw BodyError.unavailable(.brotli)
    }
    self.state = state
  }

  deinit {
    BrotliDecoderDestroyInstance(state)
  }

  func push(_ bytes: [UInt8], _ step: CodingStep, into output: inout [UInt8], limit: Int) throws {
    if !bytes.isEmpty {
      guard !hasEnded else { throw BodyError.trailing(.brotli) }
      hasBegun = true
      try decompress(bytes, into: &output, limit: limit)
    }
    if step == .finish, hasBegun, !hasEnded { throw BodyError.truncated(.brotli) }
  }

  private func decompress(_ bytes: [UInt8], into output: inout [UInt8], limit: Int) throws {
    try bytes.withUnsafeBufferPointer { bytes in
      var input = bytes.baseAddress
      var available = bytes.count
      while true {
        var next: UnsafeMutablePointer<UInt8>? = buffer.start
        var room = buffer.capacity
        let result = BrotliDecoderDecompressStream(state, &available, &input, &room, &next, nil)
        try buffer.move(buffer.capacity - room, to: &output, limit: limit)
        switch result {
        case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT: continue
        case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT: return
        case BROTLI_DECODER_RESULT_SUCCESS:
          hasEnded = true
          guard available == 0 else { throw BodyError.trailing(.brotli) }
          return
        default:
          // Brotli has no header, so any output before an error may be garbage.
          output = []
          throw BodyError.corrupt(.brotli, BrotliDecoderErrorString(BrotliDecoderGetErrorCode(state)))
        }
      }
    }
  }
}

/// Encodes brotli (RFC 7932).
final class BrotliCompressor: CodingStage {
  private let state: OpaquePointer
  private let buffer = OutputBuffer()

  init() throws {
    guard let state = BrotliEncoderCreateInstance(nil, nil, nil) else {
      throw BodyError.unavailable(.brotli)
    }
    // Servers use quality 5 for dynamic responses: as fast as gzip, but smaller.
    BrotliEncoderSetParameter(state, BROTLI_PARAM_QUALITY, 5)
    BrotliEncoderSetParameter(state, BROTLI_PARAM_LGWIN, 22)
    self.state = state
  }

  deinit {
    BrotliEncoderDestroyInstance(state)
  }

  func push(_ bytes: [UInt8], _ step: CodingStep, into output: inout [UInt8], limit: Int) throws {
    let operation =
      switch step {
      case .proceed: BROTLI_OPERATION_PROCESS
      case .flush: BROTLI_OPERATION_FLUSH
      case .finish: BROTLI_OPERATION_FINISH
      }
    try bytes.withUnsafeBufferPointer { bytes in
      var input = bytes.baseAddress
      var available = bytes.count
      // The manual: repeat the same operation until all input is consumed and all output is flushed.
      repeat {
        var next: UnsafeMutablePointer<UInt8>? = buffer.start
        var room = buffer.capacity
        guard BrotliEncoderCompressStream(state, operation, &available, &input, &room, &next, nil) == 1 else {
          throw BodyError.unavailable(.brotli)
        }
        try buffer.move(buffer.capacity - room, to: &output, limit: limit)
      } while available > 0 || BrotliEncoderHasMoreOutput(state) == 1
    }
  }
}
