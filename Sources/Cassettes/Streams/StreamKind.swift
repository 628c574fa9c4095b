/// Media types whose body is a row of messages, each of which an app reads as soon as it has come.
package enum StreamKind: Sendable {
  /// Server-sent events, each of which ends with an empty line.
  case events
  /// One JSON value a line.
  case lines

  /// Nil for any other type.
  ///
  /// - Parameter contentType: The `Content-Type` of the response.
  package init?(contentType: String?) {
    let type = (contentType ?? "").utf8.prefix { $0 != UInt8(ascii: ";") }.filter { $0 != 0x20 && $0 != 0x09 }
    // The shortest and the longest of them: most types are none.
    guard 15...25 ~= type.count else { return nil }
    switch String(decoding: type, as: UTF8.self).lowercased() {
    case "text/event-stream": self = .events
    case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines",
      "application/stream+json":
      self = .lines
    default: return nil
    }
  }
}

/// Finds where messages end in a stream that comes in any pieces.
struct MessageEnds: Sendable {
  private let kind: StreamKind
  /// Bytes since the last line end, or at least whether there were some.
  private var isInLine = false
  /// Whether there was a line since the last message's end.
  private var hasContent = false
  /// Whether the byte before was a CR, of which an LF may be the rest.
  private var isAfterReturn = false

  init(_ kind: StreamKind) {
    self.kind = kind
  }

  /// - Returns: for each message that ends in the chunk, how many of the chunk's bytes belong to it or to one before.
  mutating func ends(in chunk: [UInt8]) -> [Int] {
    var ends: [Int] = []
    for index in chunk.indices {
      let byte = chunk[index]
      let isRest = isAfterReturn && byte == 0x0A
      isAfterReturn = byte == 0x0D
      if isRest {
        // CR LF is one line end, and belongs to the message that the CR has ended.
        if ends.last == index { ends[ends.count - 1] = index + 1 }
      } else if byte == 0x0A || byte == 0x0D {
        if lineEnds() { ends.append(index + 1) }
      } else {
        isInLine = true
      }
    }
    return ends
  }

  /// - Returns: whether a message ends with it.
  private mutating func lineEnds() -> Bool {
    defer { isInLine = false }
    switch kind {
    case .lines: return isInLine
    case .events:
      if isInLine { hasContent = true }
      guard !isInLine, hasContent else { return false }
      hasContent = false
      return true
    }
  }
}
