import Cassettes

/// Measures when the parts of a body arrive, from the moment it is created.
///
/// Redaction may change the length of a part. Times are those of the received parts, lengths those of the kept ones.
struct BodyClock: Sendable {
  private let start = ContinuousClock.now
  private var came: PartMeter
  /// Where messages of a stream end in the kept body.
  private var kept: PartMeter?

  /// - Parameter kind: the stream's kind; nil for any other body.
  init(_ kind: StreamKind?) {
    came = PartMeter(kind)
    kept = kind.map { PartMeter($0) }
  }

  /// The parts, as far as they are worth keeping. Their lengths may differ from the kept body's; playback adjusts them.
  var parts: [BodyPart] {
    guard let kept, kept.parts.count == came.parts.count else { return came.parts }
    return zip(came.parts, kept.parts).map { BodyPart(milliseconds: $0.milliseconds, count: $1.count) }
  }

  /// Adds decoded bytes that have just arrived.
  mutating func take(_ chunk: [UInt8]) {
    came.add(chunk, at: Int(start.duration(to: .now) / .milliseconds(1)))
  }

  /// Adds the bytes that are kept of them.
  mutating func keep(_ chunk: [UInt8]) { kept?.add(chunk, at: 0) }
}
