import HTTPMessages

/// Undoes the codings of one body as it streams by.
///
/// A few kilobytes may decode to gigabytes: deflate reaches 1:1032, brotli far more. A body may have
/// ``usualLimit`` bytes whatever it came from; beyond that it is too large once it is more than ``ratioLimit`` times as
/// long as it came.
///
/// For one thread at a time; ``ContentCodings/decoder(limit:)`` makes it.
package final class ContentDecoder {
  /// Bytes that any body may decode to: 64 MiB, as many as are held in memory elsewhere.
  package static let usualLimit = 64 << 20
  /// How many times as long as it came a longer body may be. JSON reaches about 20, logs 100.
  package static let ratioLimit = 100

  private let stages: [any CodingStage]
  private let limit: Int
  private var received = 0
  private var produced = 0
  /// What could still be decoded of the bytes with which ``push(_:)`` or ``finish()`` has failed.
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

  /// Takes the next bytes.
  ///
  /// - Parameter bytes: as many as there are.
  /// - Returns: what they decode to; it may be empty.
  /// - Throws: ``ContentCodingError`` when they are corrupt, `BodyTooLarge` above the limit.
  package func push(_ bytes: [UInt8]) throws -> [UInt8] {
    try run(bytes, .goOn)
  }

  /// Takes the end.
  ///
  /// - Returns: what is still to come.
  /// - Throws: ``ContentCodingError`` when the body is truncated.
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
      // Between two codings a body that cannot be compressed is a little longer than at its end.
      let isLast = number == stages.count - 1
      let allowed = isLast ? limit - produced : max(limit, limit &+ limit / 8 &+ 4096)
      do {
        try stage.push(bytes, step, into: &output, limit: allowed)
      } catch is OutputTooLarge {
        throw BodyTooLarge(limit: limit)
      } catch {
        // The outermost coding's problem is the one to be told.
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

/// Applies codings to one body as it streams by.
///
/// For one thread at a time; ``ContentCodings/encoder()`` makes it.
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

  /// Takes the next bytes.
  ///
  /// - Parameters:
  ///   - bytes: as many as there are.
  ///   - flush: whether all bytes so far must be readable for who gets what has come out so far.
  /// - Returns: what can be sent; without `flush` it may be empty for long.
  /// - Throws: ``ContentCodingError`` when there is no memory.
  package func push(_ bytes: [UInt8], flush: Bool) throws -> [UInt8] {
    try run(bytes, flush ? .flush : .goOn)
  }

  /// Takes the end.
  ///
  /// - Returns: what is still to be sent.
  /// - Throws: ``ContentCodingError`` when there is no memory.
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

/// One coding of a body, applied or undone as the body streams by.
protocol CodingStage: AnyObject {
  /// Takes bytes.
  ///
  /// - Parameters:
  ///   - bytes: the next ones.
  ///   - step: what is to be done besides.
  ///   - output: where the result is appended.
  ///   - limit: the most bytes that `output` may have.
  /// - Throws: ``ContentCodingError``; ``OutputTooLarge`` above the limit.
  func push(_ bytes: [UInt8], _ step: CodingStep, into output: inout [UInt8], limit: Int) throws
}

/// What is to be done once the bytes at hand are taken.
enum CodingStep {
  /// Nothing: more comes.
  case goOn
  /// All that was taken has to come out, so that the other side can read it; more comes.
  case flush
  /// The body ends here.
  case finish
}

/// A stage has produced more than it may; whoever knows the limit turns it into a message.
struct OutputTooLarge: Error {}

/// Memory of a fixed size into which a C library writes.
final class OutputBuffer {
  let start: UnsafeMutablePointer<UInt8>
  let capacity = 32_768

  init() {
    start = .allocate(capacity: capacity)
  }

  deinit {
    start.deallocate()
  }

  /// Appends the first `count` bytes to an output that may have at most `limit`.
  func move(_ count: Int, to output: inout [UInt8], limit: Int) throws {
    guard count <= limit - output.count else { throw OutputTooLarge() }
    output.append(contentsOf: UnsafeBufferPointer(start: start, count: count))
  }
}
