import Basics
import Cassettes
import ControlAPI
import Dispatch
import HTTPMessages
import Stubs

/// The server side of a stub's WebSocket: plays the stub's conversation, and passes messages between the app and tests.
struct WebSocketConversation: Sendable {
  let environment: Environment
  let label: String
  let url: String
  let path: String
  let script: WebSocketScript
  let context: TemplateContext
  let way: StubWay?

  private var conversations: Conversations { environment.stubs.conversations }

  /// The response to the handshake, which then plays the conversation.
  ///
  /// - Parameters:
  ///   - request: the handshake.
  ///   - headers: header fields of the stub.
  /// - Returns: the response.
  func response(to request: StubRequest, headers: Headers) -> Response {
    var response = Response(status: 101, reason: "Switching Protocols", headers: headers)
    // Clients may fail if none of the subprotocols that they offer is selected.
    let offered = WebSocketHandshake.protocols(of: request.headers)
    let chosen = offered.first { script.protocols.isEmpty || script.protocols.contains($0) }
    if let chosen, headers["Sec-WebSocket-Protocol"] == nil {
      response.headers.append("Sec-WebSocket-Protocol", chosen)
    }
    response.headers.append("Upgrade", "websocket")
    response.headers.append(
      "Sec-WebSocket-Accept", WebSocketHandshake.accept(request.headers["Sec-WebSocket-Key"] ?? ""))
    response.upgrade = { app in
      environment.openRequests.enter()
      Task {
        await run(app)
        environment.openRequests.leave()
      }
    }
    return response
  }

  private func run(_ app: Duplex) async {
    let outbox = Outbox(app.outgoing)
    guard let connection = conversations.accept(at: path, outbox, by: way) else {
      outbox.finish(WebSocketMessage.close(1001, Conversations.goodbye).frame())
      return await outbox.run()
    }
    let progress = Monitor(Progress())
    let sender = Task {
      await outbox.run()
      // Nothing more can be sent: the connection was closed or dropped, or the app has disconnected.
      app.incoming.abandon()
    }
    let player = Task {
      do { try await play(outbox, progress) } catch let error as CodedError { failed(error, outbox) } catch {}
    }
    await listen(app, outbox, connection, progress)
    conversations.left(.webSocket, path, connection)
    player.cancel()
    outbox.finish()
    await sender.value
    await player.value
    if let step = progress.withLock({ $0.isMissed ? nil : $0.expected }) {
      note("the WebSocket closed before the conversation received a message that matches \(step)")
    }
  }

  /// The progress of the conversation.
  private struct Progress {
    /// Messages from the app that no step has consumed yet.
    var unread: [(number: Int, message: WebSocketMessage)] = []
    /// The condition that a step waits for.
    var expected: String?
    /// Whether all steps were played.
    var isPlayed = false
    var isMissed = false
  }

  // MARK: The app's messages

  private func listen(_ app: Duplex, _ outbox: Outbox, _ connection: Int, _ progress: Monitor<Progress>) async {
    var reader = WebSocketReader(isMasked: true)
    var hasClosed = false
    do {
      while !hasClosed, let chunk = try await app.incoming.read() {
        try reader.push(chunk) { message in
          guard !hasClosed else { return }
          switch message.kind {
          case .ping: if !outbox.push(WebSocketMessage(.pong, message.payload).frame()) { outbox.drop() }
          case .pong: break
          case .close:
            hasClosed = true
            // Has no effect if the app's close answers one of the stub's.
            outbox.finish(message.frame())
          case .text, .binary: took(way?.toUpstream(message) ?? message, connection, progress, outbox)
          }
        }
      }
    } catch let failure as WebSocketReader.Failure {
      note(failure.description)
      outbox.finish(WebSocketMessage.close(failure.code, failure.reason).frame())
    } catch {
      // The app has disconnected.
    }
  }

  private func took(
    _ message: WebSocketMessage, _ connection: Int, _ progress: Monitor<Progress>, _ outbox: Outbox
  ) {
    let number = conversations.receive(message, at: path, from: connection)
    guard script.isStrict else {
      // Templates can refer to the last message.
      return progress.withLock { $0.unread = [(number, message)] }
    }
    let isSurplus = progress.withLock { progress in
      guard !progress.isMissed else { return false }
      progress.unread.append((number, message))
      guard progress.isPlayed else { return false }
      progress.isMissed = true
      return true
    }
    if isSurplus { missed(message, number, "the conversation is over", outbox) }
  }

  // MARK: The script

  private func play(_ outbox: Outbox, _ progress: Monitor<Progress>) async throws {
    var last: WebSocketMessage?
    var pace = ScriptPace(environment)
    for step in script.steps {
      try await pace.wait(step.delay)
      switch step.action {
      case .wait: continue
      case .send(let message) where message.kind == .close:
        return outbox.finish(message.frame())
      case .send(let message):
        try await outbox.room()
        outbox.write((way?.toApp(message) ?? message).frame())
      case .sendText(let template):
        try await outbox.room()
        let message = last ?? progress.withLock { $0.unread.last?.message }
        let text = try template.render(context(after: message))
        let sent = WebSocketMessage(.text, Array(text.utf8))
        outbox.write((way?.toApp(sent) ?? sent).frame())
      case .expect(let matcher, let text):
        progress.withLock { $0.expected = text }
        try await progress.wait { !$0.unread.isEmpty }
        let (number, message) = progress.withLock { progress in
          progress.expected = nil
          return progress.unread.removeFirst()
        }
        guard try matcher.matches(MatchedValue(message.payload), environment.matchContext) else {
          progress.withLock { $0.isMissed = true }
          return missed(message, number, "the conversation expects one that matches \(text)", outbox)
        }
        last = message
        pace.restart()
      }
    }
    guard script.isStrict else { return }
    let surplus = progress.withLock { progress in
      progress.isPlayed = true
      progress.isMissed = !progress.unread.isEmpty
      return progress.unread.first
    }
    if let surplus { missed(surplus.message, surplus.number, "the conversation is over", outbox) }
  }

  /// What templates can refer to, including the app's last message.
  private func context(after message: WebSocketMessage?) -> TemplateContext {
    var context = context
    context.now = environment.now
    let text = String(decoding: message?.payload ?? [], as: UTF8.self)
    context.model = TemplateMap(context.model.members.map { ($0.name, $0.value) } + [("message", .string(text))])
    return context
  }

  // MARK: The journal

  /// Closes after a message that the conversation does not expect.
  private func missed(_ message: WebSocketMessage, _ number: Int, _ reason: String, _ outbox: Outbox) {
    let text = "\(label): message \(number) is unexpected: \(reason), received \(message.excerpt)"
    environment.state.withLock { $0.unmatchedMessages += 1 }
    let method = RecordedRequest.webSocketMethod
    environment.note(
      .unmatched, status: 101, method: method, url: url, text: text,
      unmatched: .init(method: method, url: url, nearest: [], refusal: text))
    outbox.finish(WebSocketMessage.close(1008, "unexpected message: \(reason)").frame())
  }

  /// The script cannot be played.
  private func failed(_ error: CodedError, _ outbox: Outbox) {
    environment.fail("\(label): \(error.message)")
    note(error.message)
    outbox.finish(WebSocketMessage.close(1011, "the stub's conversation cannot be played").frame())
  }

  private func note(_ text: String) {
    environment.note(
      .note, status: 101, method: RecordedRequest.webSocketMethod, url: url, text: "\(label): \(text)")
  }
}

extension WebSocketMessage {
  /// The beginning of a message, for display.
  var excerpt: String {
    guard kind == .text else { return "\(payload.count) bytes" }
    let text = String(decoding: payload.prefix(400), as: UTF8.self)
    return "`\(text.prefix(200))\(payload.count > 200 && text.count > 200 ? "…" : "")`"
  }
}
