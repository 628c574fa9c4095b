import Cassettes
import Foundation
import HTTPClient
import HTTPMessages
import HTTPServer

/// One request that cannot be answered at once: routed, put into the upstream's terms, played, forwarded, recorded or
/// refused.
struct Exchange: Sendable {
  /// The most bytes of a request body that matching holds in memory.
  static let matchLimit = 64 << 20
  /// The most bytes of a text body that are held to have their URLs rewritten with a right length.
  static let rewriteLimit = 1 << 20

  let environment: Environment
  let client: UpstreamClient?

  /// Answers a request, whatever becomes of it.
  func respond(to request: Request, at port: Int?) async -> Response {
    let route = Route(
      method: request.method, target: request.target, port: port, addresses: environment.addresses)
    do {
      switch route {
      case .control(let path):
        return try await Control(environment: environment).respond(to: request, path: path)
      case .upstream(let index, let target, let form):
        return try await exchange(request, upstream: index, target: target, form: form)
      case .undeclared(let host, let url):
        throw refusal(
          request, title: "The host is not declared",
          detail: "no upstream of this environment is \(host); add "
            + environment.specification.upstreamAdvice("NAME", url))
      case .refused(let reason):
        throw refusal(request, title: "An endpoint cannot serve this", detail: reason)
      }
    } catch {
      return environment.response(to: error)
    }
  }

  private func refusal(_ request: Request, title: String, detail: String) -> Problem {
    let url = request.target
    environment.note(
      .unmatched, status: 501, method: request.method, url: url, text: detail,
      unmatched: .init(method: request.method, url: url, nearest: [], refusal: detail))
    return Problem(
      status: 501, title: title, detail: detail, headers: ["Diorama-Miss": "1"],
      extra: ["request": .request(method: request.method, url: url)])
  }

  private func exchange(
    _ request: Request, upstream index: Int, target: String, form: AddressMap.Form
  ) async throws -> Response {
    let number = environment.state.withLock { state in
      state.requests += 1
      return state.requests
    }
    let addresses = environment.addresses
    let contentType = request.headers["Content-Type"]
    var outgoing = Request(
      method: request.method, target: addresses.requestTarget(target, form: form),
      headers: addresses.requestHeaders(request.headers, upstream: index, form: form), body: request.body)

    let isWebSocket = WebSocketHandshake.isAsked(by: request)
    if isWebSocket { outgoing.method = RecordedRequest.webSocketMethod }

    // The body has to be at hand to be matched, or to have endpoint URLs in it made the upstream's.
    if !environment.mode.replays, TextualType.mayComeFromApp(contentType), request.body.length == nil {
      outgoing.body = try await request.body.held(upTo: Self.rewriteLimit)
    }
    let mustHold =
      environment.mode.replays
      || (TextualType.mayComeFromApp(contentType) && (outgoing.body.length ?? .max) <= Self.matchLimit)
    if mustHold {
      let bytes = try await held(outgoing.body, of: outgoing, upstream: index)
      outgoing.body = .bytes(addresses.requestBody(bytes, contentType: contentType, form: form) ?? bytes)
    }
    // As it would be recorded: redacted is matched with redacted, while an upstream gets the real thing.
    let isSought = environment.replay != nil || !environment.mode.mayReachNetwork
    let asSent = isSought ? environment.redactor.redact(outgoing) : outgoing
    // With dates in the recording's time, where they are moved; as it came it is sought after that, for what the app has
    // of itself.
    let movedBack = environment.replay?.shifter?.requestBack(outgoing)
    let sought = movedBack.map(environment.redactor.redact) ?? asSent
    var isRecorded = false
    if case .bytes(let bytes) = sought.body, let replay = environment.replay {
      let keys = try replay.keys(of: sought, upstream: index, body: bytes)
      var played = environment.next(for: keys)
      if played == nil, movedBack != nil, case .bytes(let bytes) = asSent.body {
        played = environment.next(for: try replay.keys(of: asSent, upstream: index, body: bytes))
      }
      // Of requests that the app sends at once chance may have put this one before its turn.
      if played == nil { played = await environment.turn(of: keys) }
      if let index = played {
        let isCoded = replay.isCoded(index, accepted: request.headers["Accept-Encoding"])
        if let socket = environment.webSocket(index, for: request, form: form) { return socket }
        if let streamed = try environment.streamed(index, form: form, isCoded: isCoded) { return streamed }
        return try replay.response(index, addresses: addresses, form: form, isCoded: isCoded)
      }
      isRecorded = environment.state.withLock { $0.playback?.contains(keys.key) ?? false }
    }
    guard environment.mode.mayReachNetwork, let client else {
      throw await miss(sought, upstream: index, isRecorded: isRecorded)
    }
    if isWebSocket {
      return try await WebSocketForwarding(
        environment: environment, client: client, upstream: environment.upstreams[index], index: index, form: form,
        number: number
      ).forward(outgoing)
    }
    return try await Forwarding(
      environment: environment, client: client, upstream: environment.upstreams[index], index: index, form: form,
      number: number
    ).forward(outgoing)
  }

  /// The whole body of a request; one that does not come whole is counted as failed.
  private func held(_ body: Body, of request: Request, upstream index: Int) async throws -> [UInt8] {
    do {
      return try await body.collect(upTo: Self.matchLimit)
    } catch {
      let url = environment.upstreams[index].origin.description + request.target
      let isMiss = error is BodyTooLarge && !environment.mode.mayReachNetwork
      let text = "the request did not come whole: \(error)"
      environment.note(
        isMiss ? .unmatched : .failed, status: error is BodyTooLarge ? 413 : 499, method: request.method, url: url,
        text: text,
        unmatched: isMiss ? .init(method: request.method, url: url, nearest: [], refusal: text) : nil)
      throw error
    }
  }

  /// The refusal of a request that is not recorded, or not at this point: what is nearest, what differs, what would
  /// record it.
  private func miss(_ request: Request, upstream index: Int, isRecorded: Bool) async -> Problem {
    let upstream = environment.upstreams[index]
    let url = upstream.origin.description + request.target
    let body: [UInt8] = if case .bytes(let bytes) = request.body { bytes } else { [] }
    let nearest =
      environment.replay?.nearest(
        to: request, upstream: upstream.name, body: body, playback: environment.state.withLock { $0.playback }) ?? []
    let advice = environment.specification.recordAdvice(upstreams: environment.upstreams)
    var detail = "\(request.method) \(url) "
    switch (environment.mode, environment.specification.cassette) {
    case (.mock, _): detail += "has no stub"
    case (_, let cassette?) where isRecorded: detail += "is recorded in \(cassette.har), but not to be played now"
    case (_, let cassette?): detail += "is not in \(cassette.har)"
    case (_, nil): detail += "is not recorded"
    }
    if let first = nearest.first {
      detail +=
        "; the nearest is interaction \(first.index), \(first.method) \(first.url): "
        + first.differences.joined(separator: "; ")
    }
    environment.note(
      .unmatched, status: 501, method: request.method, url: url, text: detail,
      unmatched: .init(method: request.method, url: url, nearest: nearest, refusal: nil))
    var extra: [String: Problem.Extra] = [
      "request": .request(method: request.method, url: url), "nearest": .nearest(nearest),
    ]
    if environment.mode != .mock { extra["record"] = .text(advice) }
    return Problem(
      status: 501, title: "Not in the cassette", detail: detail, headers: ["Diorama-Miss": "1"], extra: extra)
  }
}

extension Environment {
  /// The problem document for what went wrong with a request; what fails the environment is kept.
  func response(to error: any Error) -> Response {
    switch error {
    case let problem as Problem: return problem.response
    case let error as BodyTooLarge:
      return Problem(status: 413, title: "The request body is too large", detail: "\(error)").response
    case let error as EnvironmentError:
      if error.kind == .cannotWrite { failRecording(error) } else { fail(error.message) }
      let title = error.kind == .cannotWrite ? "The recording cannot be written" : "The cassette cannot be replayed"
      return Problem(status: 500, title: title, detail: error.message).response
    default: return Problem(status: 500, title: "Diorama failed", detail: "\(error)").response
    }
  }
}

extension EnvironmentSpecification {
  /// The command that would record what is missing.
  func recordAdvice(upstreams: [AddressMap.Upstream]) -> String {
    recordAdvice(.extend, upstreams: upstreams.map { ($0.name, $0.origin.description) })
  }
}

extension Body {
  /// The whole of it where that is at most so many bytes; else what has come, and the rest as a stream.
  func held(upTo limit: Int) async throws -> Body {
    guard case .stream(let source, let length) = self else { return self }
    var bytes: [UInt8] = []
    while let chunk = try await source.read() {
      bytes += chunk
      guard bytes.count > limit else { continue }
      let target = BytePipe()
      Task { [bytes] in
        do {
          try await target.write(bytes)
          while let chunk = try await source.read() { try await target.write(chunk) }
          target.finish()
        } catch {
          source.abandon()
          target.fail(error)
        }
      }
      return .stream(target, length: length)
    }
    return .bytes(bytes)
  }
}
