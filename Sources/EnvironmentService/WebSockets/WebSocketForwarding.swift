import Basics
import Transforms
import Cassettes
import Foundation
import HTTPClient
import HTTPMessages
import LaunchContract

/// Forwards a WebSocket between the app and the upstream, and records its messages. Bytes pass unchanged, except that
/// URLs in text messages are rewritten.
extension Forwarding {
  /// Forwards the handshake.
  ///
  /// - Parameter request: the handshake, with the upstream's URLs.
  /// - Returns: the response that begins the WebSocket, or the upstream's refusal, which is handled like any response.
  /// - Throws: a ``Problem`` if the upstream does not respond.
  func forwardWebSocket(_ request: Request) async throws -> Response {
    var asked = request
    // Without extensions, messages are forwarded and recorded uncompressed.
    asked.headers.remove("Sec-WebSocket-Extensions")
    let startedAt = Date()
    let clock = ContinuousClock.now
    let (response, connection): (Response, UpgradedConnection?)
    do {
      (response, connection) = try await client.upgrade(
        asked, to: "websocket", at: upstream.origin, by: environment.access[index])
    } catch {
      let problem = environment.problem(of: error, method: request.method, url: url(request))
      note(.failed, status: problem.status, request, text: problem.detail, isLost: true)
      throw problem
    }
    guard let connection else {
      return try await forward(asked, given: .init(result: .success(response), startedAt: startedAt, clock: clock))
    }
    var answer = Response(
      status: response.status, reason: response.reason,
      headers: environment.addresses.responseHeaders(response.headers, upstream: index, form: form))
    environment.learnCookies(
      response.headers, upstream: index, target: request.target, form: form, in: &answer.headers)
    let answered = AnsweredRequest(
      request: asked, requestBody: nil, upload: nil, response: response, headers: answer.headers, startedAt: startedAt,
      clock: clock)
    environment.openRequests.enter()
    let leaving = Leaving { environment.openRequests.leave() }
    answer.upgrade = { app in
      let server = connection.start()
      Task {
        await run(app, server, answered)
        leaving.leave()
      }
    }
    return answer
  }

  /// Runs an action once: when ``leave()`` is called, or on deallocation if the app disconnects before the WebSocket
  /// begins.
  private final class Leaving: Sendable {
    private let action: Guarded<(@Sendable () -> Void)?>

    init(_ action: @escaping @Sendable () -> Void) { self.action = Guarded(action) }

    deinit { leave() }

    func leave() { action.withLock { $0.take() }?() }
  }

  private func run(_ app: Duplex, _ server: Duplex, _ answered: AnsweredRequest) async {
    let log = WebSocketLog()
    let running = environment.streams.begin {
      log.ended(isApp: true)
      app.incoming.abandon()
      server.incoming.abandon()
    }
    async let said: Void = relay(
      from: app.incoming, to: server.outgoing, and: server.incoming, log, isFromApp: true)
    async let heard: Void = relay(
      from: server.incoming, to: app.outgoing, and: app.incoming, log, isFromApp: false)
    _ = await (said, heard)
    environment.streams.forget(running)
    record(answered, log)
  }

  /// The maximum size in bytes of a message that is not recorded. It is held until complete, to rewrite its URLs.
  private static let passedLimit = 1 << 30

  private func relay(
    from source: BytePipe, to target: BytePipe, and other: BytePipe, _ log: WebSocketLog, isFromApp: Bool
  ) async {
    let rewriting = WebSocketRewriting(addresses: environment.addresses, upstream: index, form: form)
    let isRecorded = environment.recorder != nil
    var messages = WebSocketRelay(
      isFromApp: isFromApp, limit: isRecorded ? WebSocketReader.usualLimit : Self.passedLimit)
    do {
      while let chunk = try await source.read() {
        let passed = try messages.push(chunk) { message in
          // Recordings contain the upstreams' URLs.
          let replacement = isFromApp ? rewriting.toUpstream(message) : rewriting.toApp(message)
          if isRecorded { try log.add(isFromApp ? replacement ?? message : message, isFromApp: isFromApp) }
          return replacement
        }
        if !passed.isEmpty { try await target.write(passed) }
      }
      if !messages.rest.isEmpty { try await target.write(messages.rest) }
      log.ended(isApp: isFromApp)
    } catch let failure as WebSocketReader.Failure {
      // The message is neither forwarded nor recorded. Both sides receive a close; the app also receives it in replay.
      log.close(failure, "the \(isFromApp ? "app" : "upstream") sent \(failure)", isFromApp: isFromApp)
      try? await target.write(messages.rest)
      other.abandon()
    } catch is BytePipe.ReaderGone {
      log.ended(isApp: !isFromApp)
    } catch {
      log.fail("the \(isFromApp ? "app" : "upstream") sent \(error)")
    }
    // Only complete messages have been forwarded, so a close frame can follow.
    if let goodbye = log.goodbye {
      try? await target.write(goodbye.frame(mask: isFromApp ? UInt32.random(in: 0...UInt32.max) : nil))
    }
    source.abandon()
    target.finish()
  }

  private func record(_ answered: AnsweredRequest, _ log: WebSocketLog) {
    let request = answered.request
    if let reason = log.reason {
      environment.fail("the WebSocket \(url(request)) was closed early and is recorded up to that point: \(reason)")
    }
    if let failure = log.failure {
      note(.failed, status: 101, request, text: "the WebSocket is not recorded: \(failure)")
      if environment.recorder != nil {
        environment.failRecording(
          CodedError(
            .cannotWrite, "the WebSocket \(url(request)) cannot be recorded: \(failure)"))
      }
      return
    }
    guard let recorder = environment.recorder else { return note(.forwarded, status: 101, request) }
    var interaction = interaction(of: answered)
    interaction.response.end = log.end
    interaction.webSocket = log.frames.map(environment.redactor.redact)
    do {
      try recorder.append(interaction, number: number)
      note(.recorded, status: 101, request)
    } catch {
      environment.failRecording(error)
      note(.failed, status: 101, request, text: error.message)
    }
  }
}
