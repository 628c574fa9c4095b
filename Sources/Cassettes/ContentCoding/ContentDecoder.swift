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
