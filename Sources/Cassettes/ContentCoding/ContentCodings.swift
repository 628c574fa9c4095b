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
