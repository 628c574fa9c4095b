import Basics
import Cassettes
import HTTPClient
import HTTPMessages

/// Forwards bodies that are long or arrive slowly.
extension Forwarding {
  /// Forwards a body as it arrives. Its last byte is sent once the interaction is recorded.
  func pump(
    from source: BytePipe, to target: BytePipe, _ trailers: Trailers?, _ answered: AnsweredRequest,
    decoder: TolerantDecoder?, transform: BodyTransform, length: Int?, stream: StreamKind?
  ) async {
    var transform = transform
    var decoder = decoder
    let spool = responseSpool(answered.response)
    // Ends the transfer as soon as the app disconnects, even while the upstream sends nothing.
    target.onAbandoned { source.abandon() }
    // A body with a length is not a stream, however slowly it arrives.
    if stream != nil || answered.response.body.length == nil { spool?.measure(stream) }
    var broken: (any Error)?
    // Set if the body can no longer be decoded, and therefore not rewritten for the app. It is then recorded as sent.
    var isCut = false
    // A stream may never end: what has arrived before a side disconnects is worth keeping.
    let running = stream.map { _ in environment.streams.begin { source.abandon() } }
    defer { if let running { environment.streams.forget(running) } }
    do {
      var received = 0
      var held: [UInt8] = []
      while let chunk = try await Self.next(of: source, brokenOff: &broken, if: stream != nil) {
        received += chunk.count
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
          do { try await target.write(passed) } catch is BytePipe.ReaderGone where stream != nil { source.abandon() }
        }
      }
      var end = broken == nil ? BodyEnd.whole : .cut
      if stream != nil, source.isAbandoned { end = .open }
      if let broken, environment.recorder == nil { throw broken }
      // If the app has disconnected, the body seems to have ended, but must not be recorded.
      guard stream != nil || !target.isAbandoned else { throw BytePipe.ReaderGone() }
      let rest = end == .whole ? decoder?.finish() ?? [] : []
      let isAsSent = decoder?.isAsSent ?? false
      try spool?.append(rest, sent: [], isTooLarge: decoder?.isTooLarge ?? false)
      if !isCut, !transform.isIdentity, end == .whole {
        held += isAsSent ? rest : try transform.pass(rest) + transform.finish()
      }
      try await record(answered, responseBody: spool, isAsSent: isAsSent, end: end, isCut: isCut)
      guard end == .whole else { return target.fail(broken ?? BodyError.streamCut) }
      guard !isCut else { return target.fail(Self.tooLarge) }
      try await target.write(held)
      passTrailers(of: answered.response, to: trailers)
      target.finish()
    } catch {
      source.abandon()
      spool?.discard()
      target.fail(error)
      let (kind, text): (Journal.Kind, String) =
        error.isAppLeaving
        ? (.left, "the app disconnected before the end of the response") : (.failed, "broken off: \(error)")
      note(
        kind, status: answered.response.status, answered.request, text: text,
        isUpstreamFailure: kind == .failed && !(error is CodedError))
      if let error = error as? CodedError {
        environment.failRecording(error)
      }
    }
  }

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
