import HTTPMessages

/// The codings of a `Content-Encoding`, in the order in which they were applied (RFC 9110, 8.4).
///
/// Cassettes store decoded bodies; replay encodes them again if the app accepts the codings.
///
/// ```swift
/// let codings = ContentCodings(header: "gzip")
/// let body = try codings?.decode(bytes, limit: 64 << 20)
/// ```
package struct ContentCodings: Sendable, Equatable {
  /// A supported coding.
  enum Coding: Sendable, Equatable {
    case gzip, deflate, brotli

    /// The name in headers and messages.
    var name: String {
      switch self {
      case .gzip: "gzip"
      case .deflate: "deflate"
      case .brotli: "br"
      }
    }
  }

  let codings: [Coding]

  /// Parses the value of a `Content-Encoding`; join several fields with commas.
  ///
  /// Nil for an unsupported coding such as `zstd` or `compress`; keep such a body as it is.
  ///
  /// - Parameter value: a value such as `gzip` or `deflate, br`; `identity` and an empty value mean no coding.
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

  /// Whether there is no coding.
  package var isIdentity: Bool { codings.isEmpty }

  /// Decodes a whole body.
  ///
  /// - Parameters:
  ///   - bytes: the body as sent; if empty, there is no body, regardless of the header.
  ///   - limit: the maximum length of the result.
  /// - Returns: the decoded body.
  /// - Throws: ``BodyError`` if the body is truncated or corrupt; `BodyTooLarge` above the limit.
  package func decode(_ bytes: [UInt8], limit: Int) throws -> [UInt8] {
    guard !isIdentity else { return bytes }
    let decoder = try decoder(limit: limit)
    let body = try decoder.push(bytes)
    return try body + decoder.finish()
  }

  /// Encodes a whole body.
  ///
  /// - Parameter bytes: the body.
  /// - Returns: the encoded body, which is deterministic: the compression levels are fixed, and gzip headers name
  ///   neither a time nor a system.
  /// - Throws: ``BodyError`` if memory is exhausted.
  package func encode(_ bytes: [UInt8]) throws -> [UInt8] {
    guard !isIdentity else { return bytes }
    let encoder = try encoder()
    let body = try encoder.push(bytes, flush: false)
    return try body + encoder.finish()
  }

  /// Creates a streaming decoder.
  ///
  /// - Parameter limit: the maximum length of the result; the ratio limit of ``ContentDecoder`` may be lower.
  /// - Returns: a decoder for one body.
  /// - Throws: ``BodyError`` if memory is exhausted.
  package func decoder(limit: Int = .max) throws -> ContentDecoder {
    try ContentDecoder(codings, limit: limit)
  }

  /// Creates a streaming encoder.
  ///
  /// - Returns: an encoder for one body.
  /// - Throws: ``BodyError`` if memory is exhausted.
  package func encoder() throws -> ContentEncoder {
    try ContentEncoder(codings)
  }
}

extension ContentCodings {
  /// Whether a client that sent this `Accept-Encoding` accepts these codings (RFC 9110, 12.5.3).
  ///
  /// Stricter than the RFC in one point: without the field, any coding would be allowed, but a client that does not
  /// ask for one may not be able to decode it. Only uncoded bodies are accepted then.
  ///
  /// - Parameters:
  ///   - codings: the response's codings.
  ///   - acceptEncoding: the values of all `Accept-Encoding` fields, joined with commas; nil if there are none.
  /// - Returns: whether each coding is listed, or covered by `*`, with a weight above 0.
  package static func isAccepted(_ codings: ContentCodings, by acceptEncoding: String?) -> Bool {
    let weights = weights(in: acceptEncoding ?? "")
    guard !codings.isIdentity else {
      return weights["identity"] ?? weights["*"] ?? true
    }
    return codings.codings.allSatisfy { weights[$0.name] ?? weights["*"] ?? false }
  }

  /// The listed codings, and whether their weights are above 0.
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

  /// The lowercase elements of a comma-separated list, trimmed, without empty ones.
  static func elements(of value: String) -> [String] {
    value.lowercased().split(separator: ",").map { String(trim($0)) }.filter { !$0.isEmpty }
  }

  private static func trim(_ text: Substring) -> Substring {
    var text = text.drop { $0 == " " || $0 == "\t" }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return text
  }
}

extension BodyError {
  /// A body that does not match its `Content-Encoding`.
  private init(_ coding: ContentCodings.Coding, _ problem: String) {
    self.init("the body is not valid \(coding.name): \(problem)")
  }

  static func truncated(_ coding: ContentCodings.Coding) -> BodyError { BodyError(coding, "it is truncated") }

  /// The body is corrupt, with the library's explanation.
  static func corrupt(_ coding: ContentCodings.Coding, _ words: UnsafePointer<CChar>?) -> BodyError {
    BodyError(coding, "it is corrupt (\(words.map { String(cString: $0) } ?? "unknown reason"))")
  }

  /// The body continues after its end.
  static func trailing(_ coding: ContentCodings.Coding) -> BodyError {
    BodyError(coding, "it is corrupt (more bytes after its end)")
  }

  /// The library could not start.
  static func unavailable(_ coding: ContentCodings.Coding) -> BodyError { BodyError(coding, "out of memory") }
}
