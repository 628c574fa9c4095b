/// A body does not hold what its `Content-Encoding` promises.
package struct ContentCodingError: Error, Equatable, CustomStringConvertible {
  /// As the header names it: `gzip`, `deflate`, `br`.
  package let coding: String
  /// What is wrong.
  package let problem: String

  package var description: String { "the body is not valid \(coding): \(problem)" }

  /// The body ends too early.
  static func truncated(_ coding: ContentCodings.Coding) -> ContentCodingError {
    ContentCodingError(coding: coding.name, problem: "it is truncated")
  }

  /// The body is broken in a way for which the library has words.
  static func corrupt(_ coding: ContentCodings.Coding, _ words: UnsafePointer<CChar>?) -> ContentCodingError {
    let words = words.map { String(cString: $0) } ?? "no reason known"
    return ContentCodingError(coding: coding.name, problem: "it is corrupt (\(words))")
  }

  /// The body goes on where it should have ended.
  static func trailing(_ coding: ContentCodings.Coding) -> ContentCodingError {
    ContentCodingError(coding: coding.name, problem: "it is corrupt (more bytes after its end)")
  }

  /// The library could not start.
  static func unavailable(_ coding: ContentCodings.Coding) -> ContentCodingError {
    ContentCodingError(coding: coding.name, problem: "no memory for it")
  }
}
