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
