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
