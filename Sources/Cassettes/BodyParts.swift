/// A part of a response's body that came by itself, such as one event of a stream.
package struct BodyPart: Sendable, Equatable {
  /// When it had come whole, from the head of the response on.
  package var milliseconds: Int
  /// Its length in bytes of the decoded body; not 0.
  package var count: Int

  package init(milliseconds: Int, count: Int) {
    self.milliseconds = milliseconds
    self.count = count
  }
}

/// How a recorded body came to its end.
package enum BodyEnd: Sendable, Equatable {
  /// With its last byte.
  case whole
  /// The upstream broke off: an app is cut off there in replay, too.
  case cut
  /// The app left, or the recording ended, while the upstream had more to say: in replay nothing follows, and the
  /// connection stays open.
  case open
}

extension RecordedResponse {
  /// Whether its body is to be played part by part.
  package var isStreamed: Bool { !parts.isEmpty || end != .whole }

  /// The parts as they fit a body of some length.
  ///
  /// A body that was edited by hand may be longer, which makes the last part longer, or shorter, so that some parts are
  /// not there any more.
  ///
  /// - Parameter length: Bytes of the body.
  /// - Returns: Parts whose lengths add up to it.
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

/// Notes when the parts of a body come, in bounded memory.
///
/// Of a stream of messages every message is a part, and so is a piece of one that came by itself. Of any other body it
/// is the bytes that came within 50 ms; they are of interest only where there was a pause as long as that.
package struct PartMeter: Sendable {
  /// Bytes of a plain body that come within so many milliseconds are one part.
  static let grain = 50
  /// The most parts that are kept; above, two neighbours become one.
  static let limit = 65_536

  private var messageEnds: MessageEnds?
  private var all: [BodyPart] = []
  /// Whether the last part ends as a message does.
  private var isWhole = true
  private var lastChunk = 0
  private var hasPause = false

  /// - Parameter kind: of the stream; nil for any other body.
  package init(_ kind: StreamKind?) {
    messageEnds = kind.map { MessageEnds($0) }
  }

  /// The parts, where they are worth keeping: of a stream, and of a body that came with pauses.
  package var parts: [BodyPart] { messageEnds != nil || hasPause ? all : [] }

  /// Bytes have come.
  ///
  /// - Parameters:
  ///   - chunk: The decoded bytes.
  ///   - milliseconds: Since the head of the response; never less than before.
  package mutating func add(_ chunk: [UInt8], at milliseconds: Int) {
    guard !chunk.isEmpty else { return }
    if milliseconds - lastChunk >= Self.grain { hasPause = true }
    lastChunk = milliseconds
    var start = 0
    for end in messageEnds?.ends(in: chunk) ?? [] {
      add(end - start, at: milliseconds, isWhole: true)
      start = end
    }
    if start < chunk.count { add(chunk.count - start, at: milliseconds, isWhole: false) }
    if all.count > Self.limit { coarsen() }
  }

  private mutating func add(_ count: Int, at milliseconds: Int, isWhole: Bool) {
    let grain = messageEnds == nil ? Self.grain : 1
    if let last = all.last, !self.isWhole, milliseconds - last.milliseconds < grain {
      all[all.count - 1].count += count
    } else {
      all.append(BodyPart(milliseconds: milliseconds, count: count))
    }
    self.isWhole = isWhole
  }

  /// Of a stream of so many messages nobody looks at each.
  private mutating func coarsen() {
    var coarse: [BodyPart] = []
    coarse.reserveCapacity(all.count / 2 + 1)
    var index = 0
    while index + 1 < all.count {
      // It is whole when the later of both has come.
      coarse.append(BodyPart(milliseconds: all[index + 1].milliseconds, count: all[index].count + all[index + 1].count))
      index += 2
    }
    if index < all.count { coarse.append(all[index]) }
    all = coarse
  }
}
