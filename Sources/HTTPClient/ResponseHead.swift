import HTTPMessages

/// Reads a response's head from the lines that curl hands over: those of interim responses and of trailers among them.
struct ResponseHead {
  /// 0 until the first status line.
  private(set) var status = 0
  private(set) var reason = ""
  private(set) var headers = Headers()
  /// Whether the empty line after the final response's fields has come.
  private(set) var isComplete = false

  init() {}

  /// That of a response whose head has been read.
  init(_ response: Response) {
    status = response.status
    reason = response.reason
    headers = response.headers
    isComplete = true
  }

  /// Takes one line, with its line break.
  ///
  /// - Returns: true when this line completes the head of the final response.
  mutating func take(_ line: UnsafeRawBufferPointer) -> Bool {
    guard !isComplete else { return false }  // a trailer's field
    let line = Self.withoutEnd(line)
    guard let first = line.first else {
      // 1xx: the final response is still to come (RFC 9110, 15.2). Curl never asks for an upgrade, so no 101 is due.
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

  /// Whether fields may follow the body: only what comes in chunks can have them.
  func mayHaveTrailers(answering method: String) -> Bool {
    headers["Transfer-Encoding"] != nil && !hasNoBody(answering: method)
  }

  /// One line as a field; nil for any other.
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

  /// Whether the body is a row of server-sent events.
  var isEventStream: Bool {
    (headers["Content-Type"] ?? "").prefix { $0 != ";" && $0 != " " }.lowercased() == "text/event-stream"
  }

  /// The body's length by the head alone; nil when only the end of the stream tells.
  var length: Int? {
    guard headers["Transfer-Encoding"] == nil, let text = headers["Content-Length"] else { return nil }
    guard text.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
    return Int(text)
  }

  /// Whether a response to that method has no body, whatever its fields say (RFC 9112, 6.3).
  func hasNoBody(answering method: String) -> Bool {
    method == "HEAD" || status == 204 || status == 304
  }

  private mutating func takeStatus(_ line: Slice<UnsafeRawBufferPointer>) {
    headers = Headers()
    headers.fields.reserveCapacity(12)
    let parts = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
    status = parts.count > 1 ? parts[1].prefix(3).reduce(0) { $0 * 10 + Int($1 &- 0x30) } : 0
    reason = parts.count > 2 ? Self.text(Self.trimmed(parts[2])) : ""
  }

  /// A folded line belongs to the field before it (RFC 9112, 5.2).
  private mutating func continueLast(with more: String) {
    guard let last = headers.fields.indices.last else { return }
    headers.fields[last].value += (headers.fields[last].value.isEmpty ? "" : " ") + more
  }

  private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
    var bytes = bytes.drop { $0 == 0x20 || $0 == 0x09 }
    while let last = bytes.last, last == 0x20 || last == 0x09 { bytes = bytes.dropLast() }
    return bytes
  }

  /// UTF-8, or else ISO 8859-1, which is what old servers mean and what loses nothing.
  private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
    String(wire: UnsafeRawBufferPointer(rebasing: bytes))
  }
}
