/// The codings that a `Content-Encoding` names, in the order in which they were applied (RFC 9110, 8.4).
///
/// Cassettes hold bodies decoded; replay encodes them again where the app accepts it.
///
/// ```swift
/// let codings = ContentCodings(header: "gzip")
/// let body = try codings?.decode(bytes, limit: 64 << 20)
/// ```
package struct ContentCodings: Sendable, Equatable {
  /// A coding that we can undo and redo.
  enum Coding: Sendable, Equatable {
    case gzip, deflate, brotli

    /// As messages name it.
    var name: String {
      switch self {
      case .gzip: "gzip"
      case .deflate: "deflate"
      case .brotli: "br"
      }
    }
  }

  let codings: [Coding]

  /// Reads the value of a `Content-Encoding`; several fields are joined with commas before.
  ///
  /// Nil when it names one that we do not know, such as `zstd` or `compress`; such a body stays as it is.
  ///
  /// - Parameter value: such as `gzip` or `deflate, br`; `identity` and an empty value say that there is no coding.
  package init?(header value: String) {
    var codings: [Coding] = []
    for name in ContentCodings.elements(of: value) {
      switch name {
      case "gzip", "x-gzip": codings.append(.gzip)
      case "deflate": codings.append(.deflate)
      case "br": codings.append(.brotli)
      case "identity": break
      default: return nil
      }
    }
    self.codings = codings
  }

  /// Whether a body under them is as it is without.
  package var isIdentity: Bool { codings.isEmpty }

  /// Undoes the codings of a whole body.
  ///
  /// - Parameters:
  ///   - bytes: the body as sent. No bytes at all are taken for no body, whatever the header says.
  ///   - limit: the most bytes that may come out.
  /// - Returns: the body.
  /// - Throws: ``ContentCodingError`` when it is truncated or corrupt; `BodyTooLarge` above the limit.
  package func decode(_ bytes: [UInt8], limit: Int) throws -> [UInt8] {
    guard !isIdentity else { return bytes }
    let decoder = try decoder(limit: limit)
    let body = try decoder.push(bytes)
    return try body + decoder.finish()
  }

  /// Applies the codings to a whole body.
  ///
  /// - Parameter bytes: the body.
  /// - Returns: the same bytes for the same body every time: fixed levels, and in gzip neither a time nor a system.
  /// - Throws: ``ContentCodingError`` when there is no memory for it.
  package func encode(_ bytes: [UInt8]) throws -> [UInt8] {
    guard !isIdentity else { return bytes }
    let encoder = try encoder()
    let body = try encoder.push(bytes, flush: false)
    return try body + encoder.finish()
  }

  /// What undoes the codings of a body that streams by.
  ///
  /// - Parameter limit: the most bytes that may come out in all; fewer, where that is far more than comes in.
  /// - Returns: a new decoder, for one body and one thread at a time.
  /// - Throws: ``ContentCodingError`` when there is no memory for it.
  package func decoder(limit: Int = .max) throws -> ContentDecoder {
    try ContentDecoder(codings, limit: limit)
  }

  /// What applies the codings to a body that streams by.
  ///
  /// - Returns: a new encoder, for one body and one thread at a time.
  /// - Throws: ``ContentCodingError`` when there is no memory for it.
  package func encoder() throws -> ContentEncoder {
    try ContentEncoder(codings)
  }
}

extension ContentCodings {
  /// Whether a client that sent this `Accept-Encoding` wants a body under these codings (RFC 9110, 12.5.3).
  ///
  /// Stricter than the RFC in one point: without the field any coding would be allowed, but who does not ask for one
  /// may not be able to undo it, so that only the body without coding is accepted then.
  ///
  /// - Parameters:
  ///   - codings: those of the response.
  ///   - acceptEncoding: the values of all `Accept-Encoding` fields, joined with commas; nil without any.
  /// - Returns: whether each of them is named, or covered by `*`, with a weight above 0.
  package static func isAccepted(_ codings: ContentCodings, by acceptEncoding: String?) -> Bool {
    let weights = weights(in: acceptEncoding ?? "")
    guard !codings.isIdentity else {
      return weights["identity"] ?? weights["*"] ?? true
    }
    return codings.codings.allSatisfy { weights[$0.name] ?? weights["*"] ?? false }
  }

  /// Each coding named, and whether its weight is above 0.
  private static func weights(in value: String) -> [String: Bool] {
    var weights: [String: Bool] = [:]
    for element in elements(of: value) {
      let parts = element.split(separator: ";", omittingEmptySubsequences: false).map(trim)
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }?.dropFirst(2)
      let name = parts[0] == "x-gzip" ? "gzip" : String(parts[0])
      weights[name] = weight.map { (Double($0) ?? 0) > 0 } ?? true
    }
    return weights
  }

  /// The elements of a comma-separated list in lower case, without white space and empty ones.
  static func elements(of value: String) -> [String] {
    value.lowercased().split(separator: ",").map { String(trim($0)) }.filter { !$0.isEmpty }
  }

  private static func trim(_ text: Substring) -> Substring {
    var text = text.drop { $0 == " " || $0 == "\t" }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return text
  }
}

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
