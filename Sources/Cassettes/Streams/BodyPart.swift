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
