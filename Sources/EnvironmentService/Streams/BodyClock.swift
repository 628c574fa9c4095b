import Cassettes

/// Measures when the parts of a body come, from its making on.
struct BodyClock: Sendable {
  private let start = ContinuousClock.now
  private var meter: PartMeter

  /// - Parameter kind: of the stream; nil for any other body.
  init(_ kind: StreamKind?) {
    meter = PartMeter(kind)
  }

  /// The parts, where they are worth keeping.
  var parts: [BodyPart] { meter.parts }

  /// Decoded bytes have come now.
  mutating func take(_ chunk: [UInt8]) {
    meter.add(chunk, at: Int(start.duration(to: .now) / .milliseconds(1)))
  }
}
