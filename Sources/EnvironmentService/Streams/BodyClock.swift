import Cassettes

/// Measures when the parts of a body come, from its making on.
///
/// What is recorded may have other lengths than what came, since secrets are taken out of it, later: times are those of
/// what came, lengths those of what is kept.
struct BodyClock: Sendable {
  private let start = ContinuousClock.now
  private var came: PartMeter
  /// Of a stream of messages: where they end in what is kept.
  private var kept: PartMeter?

  /// - Parameter kind: of the stream; nil for any other body.
  init(_ kind: StreamKind?) {
    came = PartMeter(kind)
    kept = kind.map { PartMeter($0) }
  }

  /// The parts, where they are worth keeping. They add up to what came: what plays them fits them to what was kept.
  var parts: [BodyPart] {
    guard let kept, kept.parts.count == came.parts.count else { return came.parts }
    return zip(came.parts, kept.parts).map { BodyPart(milliseconds: $0.milliseconds, count: $1.count) }
  }

  /// Decoded bytes have come now.
  mutating func take(_ chunk: [UInt8]) {
    came.add(chunk, at: Int(start.duration(to: .now) / .milliseconds(1)))
  }

  /// They, or what is left of them, are kept.
  mutating func keep(_ chunk: [UInt8]) { kept?.add(chunk, at: 0) }
}
