import HTTPMessages

/// Parses a response head from the lines that curl passes on, including those of interim responses and trailers.
struct ResponseHead {
  /// 0 until the first status line.
  private(set) var status = 0
  private(set) var reason = ""
  private(set) var isHTTP2 = false
  private(set) var headers = Headers()
  /// Whether the empty line after the final response's fields has arrived.
  private(set) var isComplete = false

  init() {}

  /// The head of a response that has been parsed.
  init(_ response: Response) {
    status = response.status
    reason = response.reason
    headers = response.headers
    isComplete = true
  }

  /// Parses one line, including its line break.
  ///
  /// - Returns: true when this line completes the head of the final response.
  mutating func take(_ line: UnsafeRawBufferPointer) -> Bool {
    guard !isComplete else { return false }  // a trailer field
    let line = Self.withoutEnd(line)
    guard let first = line.first else {
      // 1xx: the final response follows (RFC 9110, 15.2). Curl requests no upgrade, so a 101 is not expected.
      isComplete = status >= 200
      return isComplete
    }
    if headers.fields.isEmpty || status < 200, line.starts(with: "HTTP/".utf8) {
      takeStatus(line)
    } else if first == 0x20 || first == 0x09 {
      continueLast(with: Self.text(Self.trimmed(line)))
    } else if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
      headers.append(
        Self.text(Self.trimmed(line[..<colon])), Self.text(Self.trimmed(line[(colon + 1)...])))
    }
    return false
  }

  /// Takes a field of HTTP/2; `:status` comes first.
  mutating func take(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    guard name.first == UInt8(ascii: ":") else { return headers.append(String(wire: name), String(wire: value)) }
    headers = Headers()
    isHTTP2 = true
    status = value.reduce(0) { $0 * 10 + Int($1 &- 0x30) }
  }

  /// Ends a head of HTTP/2.
  ///
  /// - Returns: whether it is that of the final response.
  mutating func end() -> Bool {
    isComplete = status >= 200
    return isComplete
  }

  /// Whether trailer fields may follow: those of a chunked body, or of HTTP/2.
  func mayHaveTrailers(answering method: String) -> Bool {
    (isHTTP2 || headers["Transfer-Encoding"] != nil) && !hasNoBody(answering: method)
  }

  /// Parses one line as a field; nil if it is not one.
  static func field(_ line: UnsafeRawBufferPointer) -> Headers.Field? {
    let line = withoutEnd(line)
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    return Headers.Field(text(trimmed(line[..<colon])), text(trimmed(line[(colon + 1)...])))
  }

  private static func withoutEnd(_ line: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer> {
    var line = line[...]
    while let last = line.last, last == 0x0A || last == 0x0D { line = line.dropLast() }
    return line
  }

  /// The body's length if the head declares it.
  var length: Int? {
    guard headers["Transfer-Encoding"] == nil, let text = headers["Content-Length"] else { return nil }
    guard text.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
    return Int(text)
  }

  /// Whether a response to this method has no body, whatever its fields declare (RFC 9112, 6.3).
  func hasNoBody(answering method: String) -> Bool {
    method == "HEAD" || status == 204 || status == 304
  }

  private mutating func takeStatus(_ line: Slice<UnsafeRawBufferPointer>) {
    headers = Headers()
    headers.fields.reserveCapacity(12)
    isHTTP2 = line.starts(with: "HTTP/2".utf8)
    let parts = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
    status = parts.count > 1 ? parts[1].prefix(3).reduce(0) { $0 * 10 + Int($1 &- 0x30) } : 0
    reason = parts.count > 2 ? Self.text(Self.trimmed(parts[2])) : ""
  }

  /// Appends a folded line to the previous field (RFC 9112, 5.2).
  private mutating func continueLast(with more: String) {
    guard let last = headers.fields.indices.last else { return }
    headers.fields[last].value += (headers.fields[last].value.isEmpty ? "" : " ") + more
  }

  private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
    var bytes = bytes.drop { $0 == 0x20 || $0 == 0x09 }
    while let last = bytes.last, last == 0x20 || last == 0x09 { bytes = bytes.dropLast() }
    return bytes
  }

  /// Decodes as UTF-8 if valid, else as ISO 8859-1, which old servers use and which is lossless.
  private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
    String(wire: UnsafeRawBufferPointer(rebasing: bytes))
  }
}
