import HTTPMessages

/// A part of a response body that arrived on its own, such as an event of a stream.
package struct BodyPart: Sendable, Equatable {
  /// When its last byte arrived, in milliseconds after the response head.
  package var milliseconds: Int
  /// Its length in bytes of the decoded body; never 0.
  package var count: Int

  package init(milliseconds: Int, count: Int) {
    self.milliseconds = milliseconds
    self.count = count
  }
}

/// How a recorded body ended.
package enum BodyEnd: Sendable, Equatable {
  /// Completely.
  case whole
  /// The upstream disconnected early; replay disconnects at the same point.
  case cut
  /// The app disconnected, or the recording ended, before the upstream was done; replay sends nothing more and keeps
  /// the connection open.
  case open
}

extension RecordedResponse {
  /// Whether the body plays part by part.
  package var isStreamed: Bool { !parts.isEmpty || end != .whole }

  /// Fits the parts to the length of a body.
  ///
  /// If the body was edited, the last part grows, or the parts are cut off at its end.
  ///
  /// - Parameter length: the length of the body in bytes.
  /// - Returns: parts whose lengths add up to it.
  package func parts(of length: Int) -> [BodyPart] {
    var fitting: [BodyPart] = []
    var rest = length
    for part in parts where rest > 0 {
      fitting.append(BodyPart(milliseconds: part.milliseconds, count: min(part.count, rest)))
      rest -= fitting[fitting.count - 1].count
    }
    guard rest > 0 else { return fitting }
    if fitting.isEmpty { return [BodyPart(milliseconds: 0, count: rest)] }
    fitting[fitting.count - 1].count += rest
    return fitting
  }
}

/// A media type whose body is a stream of messages, which an app reads as they arrive.
package enum StreamKind: Sendable {
  /// Server-sent events, each ending with an empty line.
  case events
  /// One JSON value per line.
  case lines
  /// gRPC messages, each with its length in front.
  case grpc

  /// Nil for any other media type.
  ///
  /// - Parameter contentType: the response's `Content-Type`.
  package init?(contentType: String?) {
    let type = (contentType ?? "").utf8.prefix { $0 != UInt8(ascii: ";") }.filter { $0 != 0x20 && $0 != 0x09 }
    // Rejects most other types quickly by their length.
    guard 15...40 ~= type.count else { return nil }
    switch String(decoding: type, as: UTF8.self).lowercased() {
    case "text/event-stream": self = .events
    case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines",
      "application/stream+json":
      self = .lines
    case let type where GRPCFraming(contentType: type).map { $0 != .webText } ?? false: self = .grpc
    default: return nil
    }
  }
}

/// Finds the ends of messages in a stream split anywhere.
struct MessageEnds: Sendable {
  let kind: StreamKind
  /// Whether the current line has content.
  private var isInLine = false
  /// Whether the current event has content.
  private var hasContent = false
  /// Whether the previous byte was a CR, which an LF may complete.
  private var isAfterReturn = false
  /// How many bytes of a gRPC message's prefix have arrived, and how many of its payload are missing.
  private var prefix = 0
  private var missing = 0

  init(_ kind: StreamKind) {
    self.kind = kind
  }

  /// - Returns: the offset at which each message in the chunk ends.
  mutating func ends(in chunk: [UInt8]) -> [Int] {
    if kind == .grpc { return grpcEnds(in: chunk) }
    var ends: [Int] = []
    for index in chunk.indices {
      let byte = chunk[index]
      let isRest = isAfterReturn && byte == 0x0A
      isAfterReturn = byte == 0x0D
      if isRest {
        // CR LF is one line end, which belongs to the message that the CR ended.
        if ends.last == index { ends[ends.count - 1] = index + 1 }
      } else if byte == 0x0A || byte == 0x0D {
        if lineEnds() { ends.append(index + 1) }
      } else {
        isInLine = true
      }
    }
    return ends
  }

  private mutating func grpcEnds(in chunk: [UInt8]) -> [Int] {
    var ends: [Int] = []
    var index = 0
    while index < chunk.count {
      if prefix < GRPCMessage.prefixSize {
        // The first byte is a flag; the others are the length.
        if prefix > 0 { missing = missing << 8 | Int(chunk[index]) }
        prefix += 1
        index += 1
      } else {
        let count = min(missing, chunk.count - index)
        missing -= count
        index += count
      }
      guard prefix == GRPCMessage.prefixSize, missing == 0 else { continue }
      ends.append(index)
      prefix = 0
    }
    return ends
  }

  /// - Returns: whether the line end also ends a message.
  private mutating func lineEnds() -> Bool {
    defer { isInLine = false }
    switch kind {
    case .grpc: return false
    case .lines: return isInLine
    case .events:
      if isInLine { hasContent = true }
      guard !isInLine, hasContent else { return false }
      hasContent = false
      return true
    }
  }
}

/// Records when the parts of a body arrive, in bounded memory.
///
/// In a stream of messages, each message is a part, and so is a fragment that arrived on its own. In any other body,
/// the bytes that arrived within 50 ms are a part; they are kept only if there was a pause of at least that long between
/// two of them.
package struct PartMeter: Sendable {
  /// The length in milliseconds of a part of a plain body.
  package static let grain = 50
  /// The maximum number of parts; above it, neighbors are merged.
  static let limit = 65_536

  private struct Measured {
    var part: BodyPart
    /// The number of line breaks, each CR and each LF, in the body up to its end; in gRPC the number of messages.
    var line: Int
    /// The number of bytes from the last of them to its end.
    var column: Int
  }

  private var messageEnds: MessageEnds?
  private var all: [Measured] = []
  /// Where the bytes so far end.
  private var line = 0
  private var column = 0
  /// Whether the last part ends with a complete message.
  private var isWhole = true
  private var lastChunk = 0
  private var hasPause = false

  /// - Parameter kind: the kind of stream; nil for any other body.
  package init(_ kind: StreamKind?) {
    messageEnds = kind.map { MessageEnds($0) }
  }

  /// The parts of a stream, or of a body with pauses; otherwise empty.
  package var parts: [BodyPart] { messageEnds != nil || hasPause ? all.map(\.part) : [] }

  /// Records the arrival of bytes.
  ///
  /// - Parameters:
  ///   - chunk: the decoded bytes.
  ///   - milliseconds: the time since the response head; never decreasing.
  package mutating func add(_ chunk: [UInt8], at milliseconds: Int) {
    guard !chunk.isEmpty else { return }
    // A body that arrives late, but in one piece, has no pause.
    if !all.isEmpty, milliseconds - lastChunk >= Self.grain { hasPause = true }
    lastChunk = milliseconds
    var start = 0
    for end in messageEnds?.ends(in: chunk) ?? [] {
      add(chunk[start..<end], at: milliseconds, isWhole: true)
      start = end
    }
    if start < chunk.count { add(chunk[start...], at: milliseconds, isWhole: false) }
    if all.count > Self.limit { coarsen() }
  }

  private mutating func add(_ bytes: ArraySlice<UInt8>, at milliseconds: Int, isWhole: Bool) {
    column += bytes.count
    if messageEnds?.kind == .grpc {
      if isWhole { (line, column) = (line + 1, 0) }
    } else {
      countLines(bytes)
    }
    let grain = messageEnds == nil ? Self.grain : 1
    if let last = all.last?.part, !self.isWhole, milliseconds - last.milliseconds < grain {
      all[all.count - 1] = Measured(
        part: BodyPart(milliseconds: last.milliseconds, count: last.count + bytes.count), line: line, column: column)
    } else {
      all.append(
        Measured(
          part: BodyPart(milliseconds: milliseconds, count: bytes.count), line: line, column: column))
    }
    self.isWhole = isWhole
  }

  private mutating func countLines(_ bytes: ArraySlice<UInt8>) {
    // Not a loop over the slice, which takes a third of the time of all tests in a debug build.
    bytes.withUnsafeBufferPointer { bytes in
      guard let first = bytes.baseAddress else { return }
      var index = 0
      while index < bytes.count {
        if Self.isBreak(first[index]) {
          line += 1
          column = bytes.count - index - 1
        }
        index += 1
      }
    }
  }

  private static func isBreak(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }

  /// Merges neighbors: single messages do not matter in a stream this long.
  private mutating func coarsen() {
    var coarse: [Measured] = []
    coarse.reserveCapacity(all.count / 2 + 1)
    var index = 0
    while index + 1 < all.count {
      // Complete when the later part has arrived.
      var later = all[index + 1]
      later.part.count += all[index].part.count
      coarse.append(later)
      index += 2
    }
    if index < all.count { coarse.append(all[index]) }
    all = coarse
  }

  /// The parts with their lengths in a body that redaction has changed.
  ///
  /// A part that ended some bytes after a line break ends as many bytes after the same line break there. If redaction
  /// has changed the number of lines, the lengths are those of the received parts. In gRPC, a part that ended with a message
  /// ends with the same message there.
  ///
  /// - Parameter next: returns the next bytes of the changed body; empty at its end.
  /// - Returns: the parts; their lengths add up to the changed body's, unless the number of lines differs.
  package func parts(in next: () throws -> [UInt8]) rethrows -> [BodyPart] {
    guard !parts.isEmpty else { return parts }
    if messageEnds?.kind == .grpc { return try parts(ofMessagesIn: next) }
    var ends: [Int] = []
    var (start, position, breaks) = (0, 0, 0)
    func endParts(inLineUntil end: Int) {
      while ends.count < all.count, all[ends.count].line == breaks {
        ends.append(min(start + all[ends.count].column, end))
      }
    }
    while case let bytes = try next(), !bytes.isEmpty {
      for byte in bytes {
        if Self.isBreak(byte) {
          endParts(inLineUntil: position)
          breaks += 1
          start = position + 1
        }
        position += 1
      }
    }
    endParts(inLineUntil: position)
    guard breaks == line, ends.count == all.count else { return parts }
    ends[ends.count - 1] = position
    return parts(endingAt: ends)
  }

  private func parts(ofMessagesIn next: () throws -> [UInt8]) rethrows -> [BodyPart] {
    var changed = MessageEnds(.grpc)
    // Where the messages of the changed body end.
    var messages = [0]
    var position = 0
    while case let bytes = try next(), !bytes.isEmpty {
      messages += changed.ends(in: bytes).map { position + $0 }
      position += bytes.count
    }
    guard messages.count == line + 1 else { return parts }
    messages.append(position)
    var ends = all.map { min(messages[$0.line] + $0.column, messages[$0.line + 1]) }
    ends[ends.count - 1] = position
    return parts(endingAt: ends)
  }

  private func parts(endingAt ends: [Int]) -> [BodyPart] {
    ends.indices.compactMap { index in
      let count = ends[index] - (index == 0 ? 0 : ends[index - 1])
      return count > 0 ? BodyPart(milliseconds: all[index].part.milliseconds, count: count) : nil
    }
  }
}
