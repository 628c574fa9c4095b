package import HTTPMessages

/// The parts of a multipart body (RFC 2046, 5.1), which is compared by them regardless of its boundary.
///
/// A part's name, file name (RFC 7578), content type and content count; the preamble, the epilogue and other headers
/// do not.
package struct Multipart {
  struct Part {
    var name: String?
    var fileName: String?
    var type: String?
    var content: BodyContent
  }

  var parts: [Part]
  /// Whether the order of parts with different names counts.
  private(set) var isOrdered = true

  /// The maximum nesting depth.
  private static let deepest = 8

  /// Nil if the bytes are not a valid multipart body.
  init?(_ body: UnsafeRawBufferPointer, contentType: String, depth: Int = 0) {
    guard depth < Self.deepest else { return nil }
    let boundary = HeaderParameters(contentType)["boundary"] ?? Self.guessed(body)
    guard let boundary, !boundary.isEmpty, boundary.utf8.count <= 1000, !boundary.utf8.contains(where: { $0 < 0x20 })
    else {
      return nil
    }
    let delimiters = Self.delimiters(of: body, Array("--\(boundary)".utf8))
    guard let last = delimiters.last, last.isClosing else { return nil }
    parts = []
    for (delimiter, next) in zip(delimiters, delimiters.dropFirst()) {
      let end = Self.contentEnd(before: next.start, after: delimiter.end, in: body)
      parts.append(Self.part(UnsafeRawBufferPointer(rebasing: body[delimiter.end..<end]), depth))
    }
  }

  /// Returns the fields of a form other than files, in order: the name, and the range of the content in the body.
  package static func fields(of body: UnsafeRawBufferPointer, contentType: String) -> [(
    name: String, content: Range<Int>
  )] {
    let boundary = HeaderParameters(contentType)["boundary"] ?? guessed(body)
    guard let boundary, !boundary.isEmpty, boundary.utf8.count <= 1000 else { return [] }
    let delimiters = delimiters(of: body, Array("--\(boundary)".utf8))
    return zip(delimiters, delimiters.dropFirst()).compactMap { delimiter, next in
      let range = delimiter.end..<contentEnd(before: next.start, after: delimiter.end, in: body)
      let (headers, start) = headers(of: UnsafeRawBufferPointer(rebasing: body[range]))
      let disposition = HeaderParameters(headers["Content-Disposition"] ?? "")
      guard let name = disposition["name"], disposition["filename"] == nil,
        disposition["filename*"] == nil
      else {
        return nil
      }
      return (name, range.lowerBound + start..<range.upperBound)
    }
  }

  /// The parts as sent, in order: the header fields, and the range of the content in the body.
  package static func rawParts(
    of body: UnsafeRawBufferPointer, contentType: String
  ) -> [(name: String?, fileName: String?, headers: Headers, content: Range<Int>)] {
    let boundary = HeaderParameters(contentType)["boundary"] ?? guessed(body)
    guard let boundary, !boundary.isEmpty, boundary.utf8.count <= 1000 else { return [] }
    let delimiters = delimiters(of: body, Array("--\(boundary)".utf8))
    return zip(delimiters, delimiters.dropFirst()).map { delimiter, next in
      let range = delimiter.end..<contentEnd(before: next.start, after: delimiter.end, in: body)
      let (headers, start) = headers(of: UnsafeRawBufferPointer(rebasing: body[range]))
      let disposition = HeaderParameters(headers["Content-Disposition"] ?? "")
      return (
        disposition["name"], disposition["filename*"] ?? disposition["filename"], headers,
        range.lowerBound + start..<range.upperBound
      )
    }
  }

  /// The end of the content: the line break before a delimiter belongs to the delimiter.
  private static func contentEnd(
    before next: Int, after start: Int, in body: UnsafeRawBufferPointer
  ) -> Int {
    var end = next
    if end > start, body[end - 1] == UInt8(ascii: "\n") { end -= 1 }
    if end > start, body[end - 1] == UInt8(ascii: "\r") { end -= 1 }
    return max(end, start)
  }

  /// A line that begins with the boundary.
  private struct Delimiter {
    let start: Int
    /// After its line break.
    let end: Int
    let isClosing: Bool
  }

  private static func delimiters(of body: UnsafeRawBufferPointer, _ mark: [UInt8]) -> [Delimiter] {
    var delimiters: [Delimiter] = []
    var start = 0
    while start < body.count {
      let rest = UnsafeRawBufferPointer(rebasing: body[start...])
      let lineEnd = rest.offset(of: UInt8(ascii: "\n")).map { start + $0 + 1 } ?? body.count
      if rest.count >= mark.count, rest.prefix(mark.count).elementsEqual(mark) {
        var tail = body[(start + mark.count)..<lineEnd]
        while let byte = tail.last, byte <= 0x20 { tail = tail.dropLast() }
        let isClosing = tail.elementsEqual("--".utf8)
        if isClosing || tail.isEmpty {
          delimiters.append(Delimiter(start: start, end: lineEnd, isClosing: isClosing))
          if isClosing { break }
        }
      }
      start = lineEnd
    }
    return delimiters
  }

  /// The boundary of a body whose type does not name it, taken from the first line.
  private static func guessed(_ body: UnsafeRawBufferPointer) -> String? {
    let line = body.prefix(1000).prefix { $0 > 0x20 }
    return line.starts(with: "--".utf8) ? String(decoding: line.dropFirst(2), as: UTF8.self) : nil
  }

  /// The header fields of a part, and the offset of its content.
  private static func headers(of bytes: UnsafeRawBufferPointer) -> (Headers, Int) {
    var headers = Headers()
    var start = 0
    while start < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
      let length = rest.offset(of: UInt8(ascii: "\n")) ?? rest.count
      var line = rest.prefix(length)
      if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
      start = min(bytes.count, start + length + 1)
      guard !line.isEmpty else { break }
      let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
      let value = String(decoding: line[colon...].dropFirst(), as: UTF8.self)
      headers.append(
        String(decoding: line[..<colon], as: UTF8.self), value.trimmed)
    }
    return (headers, start)
  }

  private static func part(_ bytes: UnsafeRawBufferPointer, _ depth: Int) -> Part {
    let (headers, start) = headers(of: bytes)
    let content = UnsafeRawBufferPointer(rebasing: bytes[start...])
    let disposition = HeaderParameters(headers["Content-Disposition"] ?? "")
    let type = headers["Content-Type"]
    // Nested boundaries are random, too.
    let isMultipart = type?.lowercased().hasPrefix("multipart/") ?? false
    return Part(
      name: disposition["name"], fileName: disposition["filename*"] ?? disposition["filename"],
      type: isMultipart ? type.map { String($0.prefix { $0 != ";" }).trimmed } : type,
      content: BodyContent(content, type: type ?? "", depth: depth + 1))
  }
}

extension Multipart {
  /// Sorts the parts by name, so that their order no longer counts. Parts with the same name keep their order.
  mutating func sort() {
    isOrdered = false
    // Swift's sort is stable.
    parts.sort { ($0.name ?? "").utf8.lexicographicallyPrecedes(($1.name ?? "").utf8) }
  }

  /// Adds all parts and their number to a hash.
  func append(to hash: inout SipHash) {
    for part in parts {
      for text in [part.name, part.fileName, part.type] {
        if let text { hash.append(text: text) }
        hash.append(text == nil ? 0 : 1)
      }
      part.content.append(to: &hash)
    }
    hash.append(number: parts.count)
  }
}

/// The parameters of a header value such as `form-data; name="a"` (RFC 9110, 5.6.6), by lowercase name.
struct HeaderParameters {
  private var values: [String: String] = [:]

  init(_ value: String) {
    var rest = value.utf8.drop { $0 != UInt8(ascii: ";") }
    while !rest.isEmpty {
      rest = rest.drop { $0 == UInt8(ascii: ";") || $0 == 0x20 || $0 == 0x09 }
      let name = rest.prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ";") }
      rest = rest[name.endIndex...]
      guard rest.first == UInt8(ascii: "=") else { continue }
      rest = rest.dropFirst()
      var text: [UInt8] = []
      if rest.first == UInt8(ascii: "\"") {
        rest = rest.dropFirst()
        // Browsers do not escape backslashes and write a quote as %22: only `\"` is an escape.
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
          if byte == UInt8(ascii: "\\"), rest.first == UInt8(ascii: "\""), let quote = rest.popFirst() {
            text.append(quote)
          } else {
            text.append(byte)
          }
        }
        rest = rest.drop { $0 != UInt8(ascii: ";") }
      } else {
        let word = rest.prefix { $0 != UInt8(ascii: ";") }
        text = Array(String(Substring(word)).trimmed.utf8)
        rest = rest[word.endIndex...]
      }
      let key = String(decoding: name.map(\.asciiLowercased), as: UTF8.self).trimmed
      values[key] = values[key] ?? String(decoding: text, as: UTF8.self)
    }
  }

  subscript(_ name: String) -> String? { values[name] }
}

extension String {
  /// The string without spaces and tabs at either end.
  var trimmed: String {
    var bytes = self[...].utf8
    while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
    while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
    return String(Substring(bytes))
  }
}
