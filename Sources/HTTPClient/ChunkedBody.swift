import HTTPMessages

/// A short body in chunks (RFC 9112, 7.1), of a connection that curl does not read for us.
enum ChunkedBody {
  /// Takes the chunks apart.
  ///
  /// - Parameters:
  ///   - bytes: what has come.
  ///   - origin: for errors.
  /// - Returns: the body; nil as long as its last chunk has not come.
  /// - Throws: an ``UpstreamError`` where a chunk has no size.
  static func whole(_ bytes: ArraySlice<UInt8>, from origin: Origin) throws -> [UInt8]? {
    var rest = bytes
    var body: [UInt8] = []
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      let digits = rest[..<end].prefix { $0 != UInt8(ascii: ";") && $0 > 0x20 }
      guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16),
        0...Int(Int32.max) ~= size
      else {
        throw UpstreamError(
          kind: .other,
          message: "\(origin) sends a chunk without its size: look into the upstream's own log")
      }
      rest = rest[(end + 1)...]
      if size == 0 { return body }
      guard rest.count >= size + 2 else { return nil }
      body += rest.prefix(size)
      rest = rest.dropFirst(size + 2)
    }
    return nil
  }
}
