import Basics
import Cassettes
import HTTPClient
import HTTPMessages

/// Forwards bodies that are long or arrive slowly.
extension Forwarding {
  /// Forwards a body as it arrives. Its last byte is sent once the interaction is recorded.
  ///
  /// A body without a length may be a stream that never ends, whatever its type: what has arrived when a side
  /// disconnects, or when the environment ends, is recorded.
  func pump(
    from source: BytePipe, to target: BytePipe, _ trailers: Trailers?, _ answered: AnsweredRequest,
    decoder: TolerantDecoder?, transform: BodyTransform, length: Int?, stream: StreamKind?
  ) async {
    var transform = transform
    var decoder = decoder
    let spool = responseSpool(answered.response, to: answered.request)
    // Ends the transfer as soon as the app disconnects, even while the upstream sends nothing.
    target.onAbandoned { source.abandon() }
    // A body with a length is not a stream, however slowly it arrives, unless its type says so.
    let mayBeStream = stream != nil || answered.response.body.length == nil
    if mayBeStream { spool?.measure(stream) }
    var broken: (any Error)?
    // Set if the body can no longer be decoded, and therefore not rewritten for the app. It is then recorded as sent.
    var isCut = false
    let running = mayBeStream ? environment.streams.begin { source.abandon() } : nil
    defer { if let running { environment.streams.forget(running) } }
    do {
      var received = 0
      var held: [UInt8] = []
      // Whether the upstream was silent for a while, and whether the app disconnected without reading what had arrived.
      var (hasPaused, isUnread) = (false, false)
      while true {
        let asked = ContinuousClock.now
        let next = try await Self.next(of: source, brokenOff: &broken, if: mayBeStream)
        if received > 0, asked.duration(to: .now) >= Self.pause { hasPaused = true }
        guard let chunk = next else { break }
        received += chunk.count
        answered.interleaving?.answered(chunk)
        let decoded = decoder?.push(chunk) ?? chunk
        let isTooLarge = decoder?.isTooLarge ?? false
        try spool?.append(decoded, sent: chunk, isTooLarge: isTooLarge)
        if isTooLarge, !transform.isIdentity, decoder?.isAsSent == false {
          guard environment.recorder != nil else { throw Self.tooLarge }
          isCut = true
          continue
        }
        var passed = chunk
        if !transform.isIdentity {
          let isAsSent = decoder?.isAsSent ?? false
          // Nothing is sent before anything could be decoded: the body may have to be sent unchanged.
          passed = isAsSent || decoded.isEmpty ? decoded : try transform.pass(decoded)
        }
        if let length, received >= length {
          held += passed
        } else {
          do { try await target.write(passed) } catch is BytePipe.ReaderGone where mayBeStream {
            isUnread = true
            source.abandon()
          }
        }
      }
      answered.interleaving?.answered(nil)
      var end = broken == nil ? BodyEnd.whole : .cut
      if mayBeStream, source.isAbandoned { end = .open }
      if let broken, environment.recorder == nil { throw broken }
      // If the app has disconnected, the body seems to have ended, but must not be recorded. A body that arrived without
      // a pause, and that the app did not read to its end, is a cancelled download.
      let hasLeftovers = isUnread || target.hasLeftovers || source.hasLeftovers
      let isDownload = stream == nil && hasLeftovers && !hasPaused
      guard !target.isAbandoned || mayBeStream && !isDownload else { throw BytePipe.ReaderGone() }
      let rest = end == .whole ? decoder?.finish() ?? [] : []
      let isAsSent = decoder?.isAsSent ?? false
      try spool?.append(rest, sent: [], isTooLarge: decoder?.isTooLarge ?? false)
      if !isCut, !transform.isIdentity, end == .whole {
        held += isAsSent ? rest : try transform.pass(rest) + transform.finish()
      }
      // Streams of events and lines are made to be resumed. In any other type, a missing end is a failure.
      let failure = stream == nil ? broken.map { "cut off, and recorded up to there: \($0)" } : nil
      try await record(
        answered, responseBody: spool, isAsSent: isAsSent, end: end, failure: failure, isCut: isCut)
      guard end == .whole else { return target.fail(broken ?? BodyError.streamCut) }
      guard !isCut else { return target.fail(Self.tooLarge) }
      // If the app has left in the meantime, the interaction is still recorded.
      do { try await target.write(held) } catch is BytePipe.ReaderGone { return }
      passTrailers(of: answered.response, to: trailers)
      target.finish()
    } catch {
      source.abandon()
      spool?.discard()
      target.fail(error)
      let (kind, text): (Journal.Kind, String) =
        error.isAppLeaving
        ? (.left, "the app disconnected before the end of the response") : (.failed, "cut off: \(error)")
      note(kind, status: answered.response.status, answered.request, text: text, isLost: !(error is CodedError))
      if let error = error as? CodedError {
        environment.failRecording(error)
      }
    }
  }

  /// How long an upstream is silent in a stream, but not in a download, even on a busy machine.
  private static let pause = Duration.milliseconds(500)

  /// A response that an app cannot receive completely.
  private static let tooLarge = BodyError("it is too large to decode and rewrite its URLs for the app")

  /// The next piece of a body. If the upstream cuts a stream off, the stream ends there and `brokenOff` gets the error.
  private static func next(
    of source: BytePipe, brokenOff: inout (any Error)?, if isStream: Bool
  ) async throws -> [UInt8]? {
    do {
      return try await source.read()
    } catch let error as UpstreamError where isStream {
      brokenOff = error
      return nil
    }
  }
}
