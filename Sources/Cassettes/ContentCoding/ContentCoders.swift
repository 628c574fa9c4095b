import HTTPMessages

/// Decodes one body as a stream.
///
/// A few kilobytes can decode to gigabytes: deflate reaches 1:1032, brotli far more. Any body may decode to
/// ``usualLimit`` bytes; beyond that, it is too large if it exceeds ``ratioLimit`` times its encoded length.
///
/// Not thread-safe. Create it with ``ContentCodings/decoder(limit:)``.
package final class ContentDecoder {
  /// The number of bytes to which any body may decode: 64 MiB, the limit of bodies held in memory.
  package static let usualLimit = 64 << 20
  /// The maximum ratio of a longer body's length to its encoded length. JSON reaches about 20, logs 100.
  package static let ratioLimit = 100

  private let stages: [any CodingStage]
  private let limit: Int
  private var received = 0
  private var produced = 0
  /// The bytes decoded from the input with which ``push(_:)`` or ``finish()`` failed.
  package private(set) var salvaged: [UInt8] = []

  init(_ codings: [ContentCodings.Coding], limit: Int) throws {
    self.limit = limit
    stages = try codings.reversed().map { coding in
      switch coding {
      case .gzip, .deflate: try Inflater(coding)
      case .brotli: try BrotliDecompressor()
      }
    }
  }

  /// Decodes the next bytes.
  ///
  /// - Parameter bytes: any number of bytes.
  /// - Returns: the decoded bytes, possibly empty.
  /// - Throws: ``BodyError`` if the bytes are corrupt; `BodyTooLarge` above the limit.
  package func push(_ bytes: [UInt8]) throws -> [UInt8] {
    try run(bytes, .proceed)
  }

  /// Ends the body.
  ///
  /// - Returns: the remaining decoded bytes.
  /// - Throws: ``BodyError`` if the body is truncated.
  package func finish() throws -> [UInt8] {
    try run([], .finish)
  }

  private func run(_ bytes: [UInt8], _ step: CodingStep) throws -> [UInt8] {
    var bytes = bytes
    received += bytes.count
    let (most, overflow) = received.multipliedReportingOverflow(by: Self.ratioLimit)
    let limit = overflow ? limit : min(limit, max(Self.usualLimit, most))
    var problem: (any Error)?
    for (number, stage) in stages.enumerated() {
      var output: [UInt8] = []
      // Between two codings, an incompressible body is slightly longer than decoded.
      let isLast = number == stages.count - 1
      let allowed = isLast ? limit - produced : max(limit, limit &+ limit / 8 &+ 4096)
      do {
        try stage.push(bytes, step, into: &output, limit: allowed)
      } catch is BodyTooLarge {
        throw BodyTooLarge(limit: limit)
      } catch {
        // Reports the error of the outermost coding.
        problem = problem ?? error
      }
      bytes = output
    }
    produced += bytes.count
    guard produced <= limit else { throw BodyTooLarge(limit: limit) }
    if let problem {
      salvaged = bytes
      throw problem
    }
    return bytes
  }
}

/// Encodes one body as a stream.
///
/// Not thread-safe. Create it with ``ContentCodings/encoder()``.
package final class ContentEncoder {
  private let stages: [any CodingStage]

  init(_ codings: [ContentCodings.Coding]) throws {
    stages = try codings.map { coding in
      switch coding {
      case .gzip, .deflate: try Deflater(coding)
      case .brotli: try BrotliCompressor()
      }
    }
  }

  /// Encodes the next bytes.
  ///
  /// - Parameters:
  ///   - bytes: any number of bytes.
  ///   - flush: whether the receiver must be able to decode all bytes so far.
  /// - Returns: the encoded bytes; without `flush`, often empty.
  /// - Throws: ``BodyError`` if memory is exhausted.
  package func push(_ bytes: [UInt8], flush: Bool) throws -> [UInt8] {
    try run(bytes, flush ? .flush : .proceed)
  }

  /// Ends the body.
  ///
  /// - Returns: the remaining encoded bytes.
  /// - Throws: ``BodyError`` if memory is exhausted.
  package func finish() throws -> [UInt8] {
    try run([], .finish)
  }

  private func run(_ bytes: [UInt8], _ step: CodingStep) throws -> [UInt8] {
    var bytes = bytes
    for stage in stages {
      var output: [UInt8] = []
      try stage.push(bytes, step, into: &output, limit: .max)
      bytes = output
    }
    return bytes
  }
}

/// One coding, applied or undone as a stream.
protocol CodingStage: AnyObject {
  /// Processes bytes.
  ///
  /// - Parameters:
  ///   - bytes: the next bytes.
  ///   - step: what to do after them.
  ///   - output: the buffer to append to.
  ///   - limit: the maximum length of `output`.
  /// - Throws: ``BodyError``; `BodyTooLarge` above the limit.
  func push(_ bytes: [UInt8], _ step: CodingStep, into output: inout [UInt8], limit: Int) throws
}

/// What to do after the given bytes.
enum CodingStep {
  /// Continue: more bytes follow.
  case proceed
  /// Flush, so that the receiver can decode everything so far; more bytes follow.
  case flush
  /// End the body.
  case finish
}

/// A fixed-size buffer that a C library writes to.
final class OutputBuffer {
  let start: UnsafeMutablePointer<UInt8>
  let capacity = 32_768

  init() {
    start = .allocate(capacity: capacity)
  }

  deinit {
    start.deallocate()
  }

  /// Appends the first `count` bytes to an output of at most `limit` bytes.
  func move(_ count: Int, to output: inout [UInt8], limit: Int) throws {
    guard count <= limit - output.count else { throw BodyTooLarge(limit: limit) }
    output.append(contentsOf: UnsafeBufferPointer(start: start, count: count))
  }
}
