import Basics
import Transforms
import Cassettes
import HTTPMessages

/// A stream was cut off where its recording was, or with its environment.
struct StreamCut: Error, CustomStringConvertible {
  var description: String { "the stream ends here without its end, as recorded or with its environment" }
}

extension Environment {
  /// Bytes of a part that are in memory at once.
  private static let pieceSize = 65_536

  /// A recorded response that is played part by part.
  ///
  /// - Parameters:
  ///   - index: of the interaction, which has been played.
  ///   - form: of the endpoint at which it was asked for.
  ///   - isCoded: whether its body is coded as recorded.
  /// - Returns: nil for a response whose body is one whole.
  /// - Throws: a ``CodedError`` where its body cannot be read.
  func streamed(_ index: Int, form: AddressMap.Form, isCoded: Bool) throws -> Response? {
    guard let replay, replay.interactions[index].response.isStreamed else { return nil }
    let recorded = replay.interactions[index].response
    let source = try RecordedBytes(recorded.body, in: replay.location)
    let transform = BodyTransform(
      decoder: nil, rewriter: replay.rewriter(of: index, addresses: addresses, form: form),
      shifter: replay.bodyShifter(of: index),
      encoder: isCoded ? try replay.codings(of: index)?.encoder() : nil)
    let hasLength = transform.keepsLength && !recorded.isChunked && recorded.end == .whole
    let wait = StreamWait(
      specification.streams ?? .instant, timeline: state.withLock { $0.live.state.timeline })
    let pipe = BytePipe(keepsChunks: true)
    let task = Task {
      do {
        try await play(recorded, source, transform, waiting: wait, to: pipe)
        pipe.finish()
      } catch {
        pipe.fail(error)
      }
    }
    // An app that has gone does not wait for the next event.
    pipe.onAbandoned { task.cancel() }
    return Response(
      status: recorded.status, reason: recorded.reason,
      headers: replay.headers(of: index, addresses: addresses, form: form, isCoded: isCoded),
      body: .stream(pipe, length: hasLength ? source.length : nil),
      trailers: replay.trailers(of: index, addresses: addresses, form: form))
  }

  /// - Throws: ``StreamCut`` where the recording was cut off; `CancellationError` at the environment's end.
  private func play(
    _ recorded: RecordedResponse, _ source: RecordedBytes, _ transform: BodyTransform, waiting wait: StreamWait,
    to pipe: BytePipe
  ) async throws {
    var source = source
    var transform = transform
    for part in recorded.parts(of: source.length) {
      try await streams.wait { try await wait.wait(part.milliseconds) }
      var rest = part.count
      while rest > 0 {
        let piece = try source.next(min(rest, Self.pieceSize))
        guard !piece.isEmpty else { throw StreamCut() }
        rest -= piece.count
        try await pipe.write(try transform.push(piece))
      }
    }
    switch recorded.end {
    case .whole: try await pipe.write(try transform.finish())
    case .cut: throw StreamCut()
    case .open: try await streams.wait { try await Delay.sleep(until: .now + .seconds(1e9)) }
    }
  }
}
