import Basics
import Transforms
import Cassettes
import HTTPMessages

extension BodyError {
  /// A stream was cut off, as its recording was or because its environment ended.
  static let streamCut = BodyError("the stream was cut off, as in its recording or because its environment ended")
}

extension Environment {
  /// How many bytes of a part are in memory at once.
  private static let pieceSize = 65_536

  /// A recorded response that is played part by part.
  ///
  /// - Parameters:
  ///   - index: the interaction's index.
  ///   - form: how the request named the upstream.
  ///   - isCoded: whether the body keeps its recorded content coding.
  ///   - echo: the request's values to put into the response.
  /// - Returns: nil if the response is not a stream.
  /// - Throws: a ``CodedError`` if its body cannot be read.
  func streamed(_ index: Int, form: AddressMap.Form, isCoded: Bool, echo: EchoTable? = nil) throws -> Response? {
    guard let replay, replay.interactions[index].response.isStreamed else { return nil }
    let recorded = replay.interactions[index].response
    let source = try RecordedBytes(recorded.body, in: replay.location)
    let transform = try replay.transform(of: index, addresses: addresses, form: form, isCoded: isCoded, echo: echo)
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
    // If the app has gone, do not wait for the next event.
    pipe.onAbandoned { task.cancel() }
    return Response(
      status: recorded.status, reason: recorded.reason,
      headers: replay.headers(of: index, addresses: addresses, form: form, isCoded: isCoded, echo: echo),
      body: .stream(pipe, length: hasLength ? source.length : nil),
      trailers: replay.trailers(of: index, addresses: addresses, form: form))
  }

  /// - Throws: ``BodyError`` if the recording was cut off; `CancellationError` when the environment ends.
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
        guard !piece.isEmpty else { throw BodyError.streamCut }
        rest -= piece.count
        try await pipe.write(try transform.push(piece))
      }
    }
    switch recorded.end {
    case .whole: try await pipe.write(try transform.finish())
    case .cut: throw BodyError.streamCut
    case .open: try await streams.wait { try await Delay.sleep(until: .now + .seconds(1e9)) }
    }
  }
}
