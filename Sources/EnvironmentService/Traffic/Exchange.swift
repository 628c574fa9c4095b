import Basics
import Transforms
import Cassettes
import Foundation
import HTTPClient
import HTTPMessages
import HTTPServer

/// One request that cannot be answered at once: routed, put into the upstream's terms, played, forwarded, recorded or
/// refused.
struct Exchange: Sendable {
  /// The most bytes of a body that are held in memory as a whole.
  static let matchLimit = KeyStream.heldLimit
  /// The most bytes of a text that are held on its way to the app to have its URLs rewritten with a right length.
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
        try checkAccess(request, at: port)
        return try await exchange(request, upstream: index, target: target, form: form)
      case .undeclared(let host, let url):
        try checkAccess(request, at: port)
        throw refusal(
          request, title: "The host is not declared",
          detail: "no upstream of this environment is \(host); add "
            + environment.specification.upstreamAdvice("NAME", url))
      case .refused(let reason):
        try checkAccess(request, at: port)
        throw refusal(request, title: "An endpoint cannot serve this", detail: reason)
      }
    } catch {
      return environment.response(to: error)
    }
  }

  private func checkAccess(_ request: Request, at upstream: Int?) throws(Problem) {
    let port = upstream.map { environment.upstreams[$0].port } ?? environment.mainPort
    try environment.endpointAccess.check(request, at: port)
  }

  /// Goes on with what an upstream has answered to a request that ``PlainPassage`` has sent.
  func respond(to request: Request, at port: Int, given: Forwarding.Given) async -> Response {
    guard let client else { return environment.response(to: CancellationError()) }
    let addresses = environment.addresses
    var outgoing = request
    outgoing.target = addresses.requestTarget(request.target)
    outgoing.headers = addresses.requestHeaders(request.headers, upstream: port, form: .ownPort)
    do {
      return try await Forwarding(
        environment: environment, client: client, upstream: environment.upstreams[port], index: port, form: .ownPort,
        number: 0
      ).forward(outgoing, given: given)
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
    var outgoing = request
    outgoing.target = addresses.requestTarget(target, form: form)
    outgoing.headers = addresses.requestHeaders(request.headers, upstream: index, form: form)
    outgoing.headers = environment.cookies(outgoing, upstream: index, form: form)

    let isWebSocket = WebSocketHandshake.isAsked(by: request)
    if isWebSocket { outgoing.method = RecordedRequest.webSocketMethod }

    let isSought = environment.replay != nil || !environment.mode.mayReachNetwork
    // As it would be recorded: redacted is matched with redacted, while an upstream gets the real thing.
    var sought = outgoing
    var keys: RequestKeys?
    // Where dates are moved it is sought as it came, too, for what the app has of itself.
    var keysAsSent: RequestKeys?
    var length: Int?
    switch try await taken(outgoing, upstream: index, form: form, isSought: isSought) {
    case .passing(let body): outgoing.body = body
    case .short(let bytes):
      outgoing.body = .bytes(bytes)
      guard isSought else { break }
      sought = environment.redactor.redact(outgoing)
      keys = try self.keys(of: sought, upstream: index)
      if let movedBack = environment.replay?.shifter?.requestBack(outgoing) {
        keysAsSent = keys
        sought = environment.redactor.redact(movedBack)
        keys = try self.keys(of: sought, upstream: index)
      }
    case .long(let body, let found):
      outgoing.body = body
      sought = found?.request ?? outgoing
      keys = found?.keys
      keysAsSent = found?.keysAsSent
      length = found?.length
    }
    var isRecorded = false
    if let keys, let replay = environment.replay {
      var played = environment.next(for: keys, or: keysAsSent)
      // Of requests that the app sends at once chance may have put this one before its turn.
      if played == nil { played = await environment.turn(of: keys, or: keysAsSent) }
      if let index = played {
        let isCoded = replay.isCoded(index, accepted: request.headers["Accept-Encoding"])
        let kept = try await environment.kept(index, form: form, isCoded: isCoded)
        var answer =
          try kept ?? environment.webSocket(index, for: request, form: form)
          ?? environment.streamed(index, form: form, isCoded: isCoded)
          ?? replay.response(index, addresses: addresses, form: form, isCoded: isCoded)
        environment.learnCookies(
          replay.interactions[index].response.headers, upstream: replay.upstream(of: index), target: outgoing.target,
          form: form, in: &answer.headers)
        return answer
      }
      isRecorded = environment.state.withLock { $0.playback?.contains(keys.key) ?? false }
    }
    guard environment.mode.mayReachNetwork, let client else {
      let large = length.flatMap { length in
        environment.replay?.largeBody(of: sought, upstream: index, length: length, keys: keys)
      }
      throw await miss(
        sought, upstream: index, isRecorded: isRecorded,
        isMovedBack: keysAsSent != nil && keysAsSent != keys,
        large: large)
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

  /// By what a request that is held is looked up; nil where nothing is replayed.
  private func keys(of request: Request, upstream index: Int) throws(CodedError) -> RequestKeys? {
    guard case .bytes(let bytes) = request.body else { return nil }
    return try environment.replay?.keys(of: request, upstream: index, body: bytes)
  }

  /// A request's body as far as it has to be known; one that does not come whole is counted as the
  /// app's leaving, or as failed.
  private func taken(
    _ request: Request, upstream index: Int, form: AddressMap.Form, isSought: Bool
  ) async throws -> UploadIntake.Taken {
    do {
      return try await UploadIntake(environment: environment, upstream: index, form: form)
        .take(request, isSought: isSought)
    } catch let error as CodedError {
      throw error
    } catch {
      let problem = error as? Problem
      let reason =
        error.isAppLeaving
        ? "the app left before it had sent it" : "the request did not come whole: \(error)"
      environment.note(
        error.isAppLeaving ? .left : .failed, status: problem?.status ?? 499,
        method: request.method,
        url: environment.upstreams[index].origin.description + request.target,
        text: problem?.detail ?? reason)
      throw error
    }
  }

  /// The refusal of a request that is not recorded, or not at this point: what is nearest, what differs, what would
  /// record it.
  private func miss(
    _ request: Request, upstream index: Int, isRecorded: Bool, isMovedBack: Bool, large: LargeBody?
  ) async -> Problem {
    let upstream = environment.upstreams[index]
    let url = upstream.origin.description + request.target
    let body: [UInt8] = if case .bytes(let bytes) = request.body { bytes } else { [] }
    var nearest =
      environment.replay?.nearest(
        to: request, upstream: upstream.name, body: body, large: large,
        playback: environment.state.withLock { $0.playback }) ?? []
    if isMovedBack, let distance = environment.replay?.shifter?.offset.description {
      // Else nobody would know in it what the app has sent.
      let moved =
        "its dates are shown as they were sought: moved back by \(distance), to the recording's time"
      for number in nearest.indices { nearest[number].differences.append(moved) }
    }
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
      return Problem(status: 413, title: "The request body is too large", detail: "\(error): send it in parts").response
    case let error as CodedError:
      if error.kind == .cannotWrite { failRecording(error) } else { fail(error.message) }
      let title = error.kind == .cannotWrite ? "The recording cannot be written" : "The cassette cannot be replayed"
      return Problem(status: 500, title: title, detail: error.message).response
    default: return Problem(status: 500, title: "Diorama failed", detail: "\(error)").response
    }
  }
}

extension Environment {
  /// What the app gets where an upstream gave no response.
  ///
  /// Where that is for want of descriptors the environment itself has failed.
  func problem(of error: any Error, method: String, url: String) -> Problem {
    let kind = (error as? UpstreamError)?.kind
    if kind == .outOfDescriptors { fail("\(error)") }
    return Problem(
      status: kind == .timedOut ? 504 : 502, title: "The upstream did not answer", detail: "\(error)",
      extra: ["request": .request(method: method, url: url)])
  }
}

extension EnvironmentSpecification {
  /// The command that would record what is missing.
  func recordAdvice(upstreams: [AddressMap.Upstream]) -> String {
    recordAdvice(.extend, upstreams: upstreams.map { ($0.name, $0.origin.description) })
  }
}
