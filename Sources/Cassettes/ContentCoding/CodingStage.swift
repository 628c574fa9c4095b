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
