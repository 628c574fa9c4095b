import ControlAPI
import Basics
import Transforms
import Cassettes
import Foundation
import HTTPMessages
import LaunchContract

extension Environment {
  /// Answers a handshake from the cassette. The returned response then plays the server's side of the WebSocket.
  ///
  /// - Parameters:
  ///   - index: the index of the interaction, which has been played.
  ///   - described: the app's handshake.
  ///   - form: the form of the endpoint that the app used.
  ///   - echo: the handshake's values to put into the server's messages.
  /// - Returns: the response; nil if the interaction is not a WebSocket.
  func webSocket(
    _ index: Int, for described: DescribedRequest, form: AddressMap.Form, echo: EchoTable?
  ) -> Response? {
    guard let replay, let frames = replay.interactions[index].webSocket else { return nil }
    let interaction = replay.interactions[index]
    let request = described.received
    var headers = replay.headers(of: index, addresses: addresses, form: form, isCoded: false, echo: echo)
    headers.remove("Sec-WebSocket-Accept")
    headers.remove("Sec-WebSocket-Extensions")
    // Clients reject a subprotocol that they did not offer.
    if let name = headers["Sec-WebSocket-Protocol"],
      !WebSocketHandshake.protocols(of: request.headers).contains(name)
    {
      headers.remove("Sec-WebSocket-Protocol")
    }
    headers.append("Upgrade", "websocket")
    headers.append(
      "Sec-WebSocket-Accept", WebSocketHandshake.accept(request.headers["Sec-WebSocket-Key"] ?? ""))
    let rewriting = WebSocketRewriting(addresses: addresses, upstream: replay.upstream(of: index), form: form)
    var response = Response(status: 101, reason: "Switching Protocols", headers: headers)
    response.upgrade = { [self] app in
      let start =
        RFC3339.parse(interaction.startedAt)?.timeIntervalSince1970 ?? frames.first?.time ?? 0
      let session = WebSocketReplay(
        environment: self, app: app, url: interaction.request.url, end: interaction.response.end,
        rewriting: rewriting)
      let echoes = MessageEchoes(
        frames, places: echoPlaces(of: described), warnings: EchoWarnings.Answer(described, self),
        table: echo ?? EchoTable(signer: tokenSigner))
      openRequests.enter()
      Task {
        let rules = MessageRules(
          replay.maker.book, upstream: upstreams[described.upstream].name, target: described.sought.target)
        // Redacted messages are compared with redacted ones, as for requests.
        let frames = frames.map { frame in
          guard frame.isFromApp else { return frame }
          var frame = frame
          // Also covers URLs of a backend that has moved since the recording.
          frame.message = rewriting.toUpstream(frame.message) ?? frame.message
          return redactor.redact(frame)
        }
        await session.run(WebSocketPlayback(frames, start: start, rules: rules), echoes)
        openRequests.leave()
      }
    }
    return response
  }
}

/// Plays the server's side of one recorded WebSocket.
struct WebSocketReplay: Sendable {
  let environment: Environment
  let app: Duplex
  let url: String
  let end: BodyEnd
  let rewriting: WebSocketRewriting
  /// Whether the server's side has sent a close.
  private let hasClosed = Guarded(false)
  /// Waits for messages to become due; they end when the app closes as recorded.
  private let waits = RunningStreams()

  init(environment: Environment, app: Duplex, url: String, end: BodyEnd, rewriting: WebSocketRewriting) {
    self.environment = environment
    self.app = app
    self.url = url
    self.end = end
    self.rewriting = rewriting
  }

  /// Messages to send, and the wait from which their delays are measured.
  private struct Batch: Sendable {
    let wait: StreamWait
    let due: [WebSocketPlayback.Due]
    let isLast: Bool
  }

  /// Plays until either side has closed.
  func run(_ playback: WebSocketPlayback, _ echoes: MessageEchoes) async {
    var playback = playback
    var echoes = echoes
    let (batches, feed) = AsyncStream.makeStream(of: Batch.self)
    let player = Task { await play(batches) }
    let running = environment.streams.begin {
      app.incoming.abandon()
      player.cancel()
    }
    defer { environment.streams.forget(running) }
    let first = playback.begin()
    feed.yield(batch(echoes.apply(to: first), playback))
    let goodbye = await listen(&playback, &echoes, feed)
    feed.finish()
    // The app has disconnected, has closed early, or is about to receive a close: skip the remaining messages.
    if pace != .instant, !waits.isOver { player.cancel() }
    await player.value
    if let goodbye, !hasClosed.withLock({ $0 }) { try? await app.outgoing.write(goodbye.frame()) }
    app.outgoing.finish()
  }

  private var shifter: DateShifter? { environment.replay?.shifter }
  private var pace: StreamPace { environment.specification.streams ?? .instant }

  private func batch(_ due: [WebSocketPlayback.Due], _ playback: WebSocketPlayback) -> Batch {
    Batch(
      wait: StreamWait(
        pace, timeline: environment.state.withLock { $0.live.state.timeline }),
      due: due, isLast: playback.isOver)
  }

  /// Reads the app's messages.
  ///
  /// - Returns: the close to end with; nil if the app has disconnected.
  private func listen(
    _ playback: inout WebSocketPlayback, _ echoes: inout MessageEchoes, _ feed: AsyncStream<Batch>.Continuation
  ) async -> WebSocketMessage? {
    var reader = WebSocketReader(isMasked: true)
    do {
      while let chunk = try await app.incoming.read() {
        var goodbye: WebSocketMessage?
        try reader.push(chunk) { message in
          guard goodbye == nil else { return }
          switch message.kind {
          // The pong is dropped if the app does not read.
          case .ping:
            _ = WebSocketMessage(.pong, message.payload).frame().withUnsafeBytes {
              app.outgoing.offer($0)
            }
          case .pong: break
          case .close:
            goodbye = message
            guard let due = playback.close(message) else { break }
            feed.yield(batch(echoes.apply(to: due), playback))
            // The app waits only for the close: send the rest at once.
            waits.end()
          case .text, .binary:
            let asked = rewriting.toUpstream(message) ?? message
            let sent = shifter?.reversed.message(asked) ?? asked
            switch playback.take(environment.redactor.redact(sent)) {
            case .plays(let due):
              echoes.learn(sent, recordedAs: playback.matched)
              feed.yield(batch(echoes.apply(to: due), playback))
            case .miss(let difference): goodbye = miss(difference)
            }
          }
        }
        if let goodbye { return goodbye }
      }
    } catch let failure as WebSocketReader.Failure {
      note(failure.description)
      return .close(failure.code, failure.reason)
    } catch {
      return nil
    }
    return environment.streams.isOver ? .close(1001, "the environment has ended") : nil
  }

  /// Sends each message when it is due.
  private func play(_ batches: AsyncStream<Batch>) async {
    do {
      for await batch in batches {
        for due in batch.due {
          try await wait(batch, due.milliseconds)
          if due.message.kind == .close { hasClosed.withLock { $0 = true } }
          let message = rewriting.toApp(due.message) ?? due.message
          try await app.outgoing.write((shifter?.message(message) ?? message).frame())
        }
        // The upstream disconnected here.
        if batch.isLast, end == .cut { app.outgoing.fail(BodyError.streamCut) }
      }
    } catch {
      // The app has disconnected.
    }
  }

  /// Waits until a message of the batch is due or the app has closed as recorded.
  private func wait(_ batch: Batch, _ milliseconds: Int) async throws {
    do {
      try await waits.wait { try await batch.wait.wait(milliseconds) }
    } catch {
      guard waits.isOver, !Task.isCancelled else { throw error }
    }
  }

  private func miss(_ difference: String) -> WebSocketMessage {
    let advice = environment.specification.recordAdvice(
      .record, upstreams: environment.upstreams.map { ($0.name, $0.origin.description) })
    note("\(difference); to re-record: \(advice)")
    // Part of it has been replayed, so unlike a request it can no longer be recorded.
    if environment.mode.mayReachNetwork {
      environment.fail(
        "the WebSocket \(url) differs from the recording; re-record it with mode record (\(difference))")
    }
    return .close(1008, "not in the cassette: " + difference)
  }

  private func note(_ text: String) {
    let method = RecordedRequest.webSocketMethod
    environment.state.withLock { $0.unmatchedMessages += 1 }
    environment.note(
      .unmatched, status: 101, method: method, url: url, text: text,
      unmatched: .init(method: method, url: url, nearest: [], refusal: text))
  }
}
