import ControlAPI
import Basics
import Transforms
import Cassettes
import Stubs
import Foundation
import HTTPClient
import HTTPMessages
import HTTPServer

/// Handles requests that the fast paths do not: routes them, rewrites endpoint URLs to the upstream's, computes match
/// keys, and asks one responder after the other.
///
/// The responders are chosen once, when the environment is created.
final class Pipeline: Sendable {
  /// The maximum size in bytes of a body that is held in memory as a whole.
  static let matchLimit = KeyStream.heldLimit
  /// The maximum size in bytes of a text that is held until its URLs are rewritten, so that its new length is known.
  static let rewriteLimit = 1 << 20

  let environment: Environment
  let client: UpstreamClient?
  private let responders: [any Responder]

  /// - Parameters:
  ///   - environment: the environment.
  ///   - client: sends requests to upstreams; nil if the mode does not allow it.
  init(environment: Environment, client: UpstreamClient?) {
    self.environment = environment
    self.client = client
    var responders: [any Responder] = [StubResponder(environment: environment)]
    if let replay = environment.replay {
      responders.append(CassetteResponder(environment: environment, replay: replay))
    }
    if let client { responders.append(UpstreamResponder(environment: environment, client: client)) }
    self.responders = responders
  }

  /// Answers a request. Errors become responses, too.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - port: the upstream whose own port this is; nil on the main port.
  ///   - mark: what a client in the test says about the request.
  /// - Returns: the response.
  func respond(to request: Request, at port: Int?, as mark: ClientMark? = nil) async -> Response {
    let addresses = environment.addresses
    let route =
      if let origin = mark?.origin {
        Route(target: request.target, ofOrigin: origin, addresses: addresses)
      } else {
        Route(method: request.method, target: request.target, port: port, addresses: addresses)
      }
    do {
      // An upstream's own URL is never one of the main port's.
      if port == nil, mark?.origin == nil, let response = try await environment.mockResponse(to: request, route) {
        return response
      }
      switch route {
      case .control(let path):
        return try await Control(environment: environment).respond(to: request, path: path)
      case .upstream(let index, let target, let form):
        try checkAccess(request, at: port)
        // A mark has the token, and hosts that are not declared have no port.
        if mark == nil, environment.intercepted != nil, environment.upstreams[index].port == 0 {
          try Control(environment: environment).checkProxyUser(request.headers)
        }
        return try await answer(request, upstream: index, target: target, form: form)
      case .undeclared(let host, let url):
        try checkAccess(request, at: port)
        if environment.intercepted != nil, let absolute = Route.absolute(request.target),
          let origin = try? Origin(parsing: url)
        {
          // Unlike endpoints, which lead to declared hosts only.
          try Control(environment: environment).checkProxyUser(request.headers)
          let index = try environment.interceptedUpstream(origin, for: request)
          return try await answer(request, upstream: index, target: absolute.rest, form: .ownURL)
        }
        let names = environment.upstreams.map(\.name).sorted()
        let known = names.isEmpty ? "none" : names.joined(separator: ", ")
        let near = EditDistance.likely(host, among: names).map { "did you mean '\($0)'? Otherwise, add " } ?? "add "
        throw environment.refusal(
          request, url: request.target, title: "The host is not declared",
          detail: "\(host) is not an upstream of this environment (declared: \(known)); \(near)"
            + environment.specification.upstreamAdvice("NAME", url))
      case .refused(let reason):
        try checkAccess(request, at: port)
        throw environment.refusal(
          request, url: request.target, title: "An endpoint cannot serve this", detail: reason)
      }
    } catch {
      return environment.response(to: error)
    }
  }

  /// Answers a request of an isolated command, which has no port of its own.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - route: an upstream.
  /// - Returns: the response.
  func respond(to request: Request, by route: Route) async -> Response {
    guard case .upstream(let index, let target, let form) = route else {
      return environment.response(to: CancellationError())
    }
    do {
      return try await answer(request, upstream: index, target: target, form: form)
    } catch {
      return environment.response(to: error)
    }
  }

  private func checkAccess(_ request: Request, at upstream: Int?) throws(Problem) {
    let port = upstream.map { environment.upstreams[$0].port } ?? environment.mainPort
    try environment.endpointAccess.check(request, at: port)
  }

  /// Continues with an upstream's answer to a request that ``PlainPassage`` has sent.
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

  private func answer(
    _ request: Request, upstream index: Int, target: String, form: AddressMap.Form
  ) async throws -> Response {
    let (number, last) = environment.state.withLock { state in
      state.requests += 1
      return (state.requests, state.journal.last)
    }
    let addresses = environment.addresses
    var outgoing = request
    outgoing.target = addresses.requestTarget(target, form: form)
    outgoing.headers = addresses.requestHeaders(request.headers, upstream: index, form: form)
    if environment.stubs.mayAnswer(method: request.method, target: outgoing.target) || environment.answersByContract
      || environment.faults.needsBody(
        method: request.method, target: outgoing.target, upstream: environment.upstreams[index].name)
    {
      outgoing.body = .bytes(try await request.body.collect(upTo: StubServer.bodyLimit))
    } else if environment.stubs.contract != nil, request.body.length ?? .max <= UploadIntake.shortLimit {
      outgoing.body = .bytes(try await request.body.collect(upTo: UploadIntake.shortLimit))
    }
    outgoing.headers = environment.cookies(outgoing, upstream: index, form: form)

    let isWebSocket = WebSocketHandshake.isAsked(by: request)
    if isWebSocket { outgoing.method = RecordedRequest.webSocketMethod }

    let described = DescribedRequest(
      received: request, outgoing: outgoing, upstream: index, form: form, number: number, isWebSocket: isWebSocket)
    return try await environment.withFaults(on: described.stubRequest(in: environment)) {
      try await answer(described, after: last)
    }
  }

  /// Describes a request and answers it.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - last: the number of the journal's last entry when it arrived.
  /// - Returns: the response.
  /// - Throws: an error of reading the body, or of a responder; a ``Problem`` for a miss.
  private func answer(_ request: DescribedRequest, after last: Int) async throws -> Response {
    var request = request
    try await describe(&request)
    guard environment.specification.journalsRequests else { return try await answer(described: request) }
    let sent = JournaledRequest.describing(request, in: environment, after: last)
    return try await JournaledRequest.$current.withValue(sent) { [request] in
      try await answer(described: request)
    }
  }

  private func answer(described request: DescribedRequest) async throws -> Response {
    for responder in responders {
      guard let response = try await responder.respond(to: request) else { continue }
      if !(responder is StubResponder), !request.isWebSocket {
        environment.checkContract(request, status: response.status)
      }
      return response
    }
    throw await miss(request)
  }

  /// Reads the body as far as necessary, and makes the request's match keys.
  private func describe(_ request: inout DescribedRequest) async throws {
    var isSought = environment.replay != nil || !environment.mode.mayReachNetwork
    let outgoing = request.outgoing
    if outgoing.isCall, let replay = environment.replay {
      switch replay.requests.callKind(upstream: request.upstream, path: outgoing.target) {
      case .stream: return try await describeCall(&request, replay, byFirstMessage: true)
      case .serverFirst: return try await describeCall(&request, replay, byFirstMessage: false)
      case .whole: break
      // Its body may not end before it gets a response.
      case nil:
        guard environment.mode.mayReachNetwork else { return request.sought = environment.redactor.redact(outgoing) }
        isSought = false
      }
    }
    switch try await taken(outgoing, upstream: request.upstream, form: request.form, isSought: isSought) {
    case .passing(let body): request.outgoing.body = body
    case .short(let bytes):
      request.outgoing.body = .bytes(bytes)
      guard isSought else { break }
      request.sought = environment.redactor.redact(request.outgoing)
      request.keys = try keys(of: request.sought, upstream: request.upstream)
      if let movedBack = environment.replay?.shifter?.requestBack(request.outgoing) {
        request.keysAsSent = request.keys
        request.sought = environment.redactor.redact(movedBack)
        request.keys = try keys(of: request.sought, upstream: request.upstream)
      }
    case .long(let body, let found):
      request.outgoing.body = body
      request.sought = found?.request ?? request.outgoing
      request.keys = found?.keys
      request.keysAsSent = found?.keysAsSent
      request.length = found?.length
    }
    guard ClientMark.isOfSetup, let index = environment.replay?.index else { return }
    request.keys = request.keys.map(index.keysOfSetup)
    request.keysAsSent = request.keysAsSent.map(index.keysOfSetup)
  }

  /// Reads the first message of a gRPC call whose messages go in both directions, and makes the match keys of it.
  private func describeCall(_ request: inout DescribedRequest, _ replay: Replay, byFirstMessage: Bool) async throws {
    var held: [UInt8] = []
    var first: [UInt8] = []
    switch request.outgoing.body {
    case .stream(let source, _):
      var parser = GRPCMessageParser(limit: MessageCodec.messageLimit)
      while byFirstMessage, first.isEmpty, let chunk = try await source.read() {
        held += chunk
        first = try parser.parse(chunk).first?.frame ?? []
      }
      request.outgoing.body = UploadIntake.translated(held, source, nil)
    case .bytes(let bytes):
      var parser = GRPCMessageParser(limit: MessageCodec.messageLimit)
      if byFirstMessage { first = try parser.parse(bytes).first?.frame ?? [] }
    case .file: break
    }
    var sought = request.outgoing
    sought.method = RecordedRequest.streamMethod
    sought.body = .bytes(first)
    request.sought = environment.redactor.redact(sought)
    request.keys = try keys(of: request.sought, upstream: request.upstream)
    if let movedBack = replay.shifter?.requestBack(sought) {
      request.keysAsSent = request.keys
      request.sought = environment.redactor.redact(movedBack)
      request.keys = try keys(of: request.sought, upstream: request.upstream)
    }
  }

  /// The match keys of a request whose body is in memory; nil if nothing is replayed.
  private func keys(of request: Request, upstream index: Int) throws(CodedError) -> RequestKeys? {
    guard case .bytes(let bytes) = request.body else { return nil }
    return try environment.replay?.keys(of: request, upstream: index, body: bytes)
  }

  /// Reads a request's body as far as necessary. An incomplete body is noted in the journal, as a disconnect or a
  /// failure.
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
        ? "the app disconnected before it had sent its request" : "the request body was incomplete: \(error)"
      environment.note(
        error.isAppLeaving ? .left : .failed, status: problem?.status ?? 499,
        method: request.method,
        url: environment.upstreams[index].origin.description + request.target,
        text: problem?.detail ?? reason)
      throw error
    }
  }

  /// The response to an unmatched request: the nearest recorded ones, how they differ, and how to record it.
  private func miss(_ described: DescribedRequest) async -> Problem {
    let schemas = environment.redactor.schemas
    var request = described.sought
    if described.length == nil { request = request.readable(by: schemas) }
    let upstream = environment.upstreams[described.upstream]
    let url = upstream.origin.description + request.target
    let body: [UInt8] = if case .bytes(let bytes) = request.body { bytes } else { [] }
    let large = described.length.flatMap { length in
      environment.replay?.largeBody(of: request, upstream: described.upstream, length: length, keys: described.keys)
    }
    let playback = environment.state.withLock { $0.playback }
    let isRecorded = described.keys.map { playback?.contains($0.key) ?? false } ?? false
    let times = MissTimes(
      now: Date(), environment: environment.recordedAt.flatMap(RFC3339.parse).map { ($0, environment.now) },
      movedBack: environment.replay?.shifter.map { Double($0.offset.seconds) })
    var misses =
      environment.replay?.nearest(
        to: request, upstream: upstream.name, body: body, large: large, playback: playback, at: times, schemas: schemas)
      ?? []
    if !isRecorded, misses.first?.differences.first?.kind == .exhausted, case .bytes(let bytes) = described.sought.body
    {
      // Encodings of gRPC messages may differ although their fields are equal.
      misses =
        environment.replay?.nearest(
          to: described.sought, upstream: upstream.name, body: bytes, large: large, playback: playback, at: times) ?? []
    }
    var nearest = misses.compactMap { environment.replay?.described($0) }
    let isMovedBack = described.keysAsSent != nil && described.keysAsSent != described.keys
    if isMovedBack, let distance = environment.replay?.shifter?.offset.description {
      // Explain why the dates differ from those that the app sent.
      let moved =
        "its dates are shown as they were matched: moved back by \(distance), to the recording's time"
      for number in nearest.indices { nearest[number].differences.append(moved) }
    }
    var nearestStubs: [Report.NearestStub]?
    if environment.mode == .mock {
      let original = described.stubRequest(in: environment)
      nearestStubs = environment.stubs.nearest(
        to: original, environment.matchContext, shown: original.replacing(request))
    }
    let nearestPath = environment.answersByContract ? environment.stubs.nearestPath(to: request.target) : nil
    let advice = environment.specification.recordAdvice(upstreams: environment.upstreams)
    let method = request.method == RecordedRequest.streamMethod ? "POST" : request.method
    var detail = "\(method) \(url) "
    switch (environment.mode, environment.specification.cassette) {
    case (.mock, _):
      detail += "has no stub"
      if nearestStubs == nil, nearestPath == nil { detail += environment.stubs.absence }
    case (_, let cassette?) where isRecorded: detail += "is recorded in \(cassette.har), but cannot be played now"
    case (_, let cassette?): detail += "is not in \(cassette.har)"
    case (_, nil): detail += "is not recorded"
    }
    if let first = nearestStubs?.first {
      detail += "; the nearest is \(first.stub): \(first.differences.joined(separator: "; "))"
    }
    if let nearestPath {
      detail += "; the path is not in the OpenAPI document; the nearest one is \(nearestPath.stub.dropFirst(9))"
      nearestStubs = (nearestStubs ?? []) + [nearestPath]
    }
    if let first = nearest.first {
      detail +=
        "; the nearest is interaction \(first.index), \(first.method) \(first.url): "
        + first.differences.joined(separator: "; ")
    }
    let fix = environment.mode == .mock ? nil : environment.specification.fix(for: misses, expected: playback?.expected)
    // As the API itself would answer.
    let status = nearestPath == nil ? 501 : 404
    environment.note(
      .unmatched, status: status, method: method, url: url, text: detail,
      unmatched: .init(
        method: method, url: url, nearest: nearest,
        nearestStubs: nearestStubs, fix: fix))
    var extra: [String: Problem.Extra] = [
      "request": .request(method: method, url: url), "nearest": .nearest(nearest),
    ]
    if let fix {
      extra["fix"] = .fix(fix)
      if fix.isRecordable { extra["record"] = .text(advice) }
    }
    let title = environment.mode == .mock ? "No stub" : "Not in the cassette"
    return Problem(
      status: status, title: title, detail: detail, headers: ["Diorama-Miss": "1"], extra: extra)
  }
}

extension Environment {
  /// The response to a request that the environment does not serve. The environment fails by it.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - url: its URL, for the report.
  ///   - title: the kind of refusal.
  ///   - detail: the reason, and what to do.
  /// - Returns: the response.
  func refusal(_ request: Request, url: String, title: String, detail: String) -> Problem {
    note(
      .unmatched, status: 501, method: request.method, url: url, text: detail,
      unmatched: .init(method: request.method, url: url, nearest: [], refusal: detail))
    return Problem(
      status: 501, title: title, detail: detail, headers: ["Diorama-Miss": "1"],
      extra: ["request": .request(method: request.method, url: url)])
  }

  /// The response for an error. A ``CodedError`` is also noted as a failure of the environment.
  func response(to error: any Error) -> Response {
    switch error {
    case let problem as Problem: return problem.response
    case let error as BodyTooLarge:
      return Problem(status: 413, title: "The request body is too large", detail: "\(error): send it in parts").response
    case let error as CodedError:
      if error.kind == .cannotWrite { failRecording(error) } else { fail(error.message) }
      let title = error.kind == .cannotWrite ? "The recording cannot be written" : "The cassette cannot be replayed"
      return Problem(status: 500, title: title, detail: error.message).response
    default: return Problem(status: 500, title: "Internal error", detail: "\(error)").response
    }
  }
}

extension Environment {
  /// The response for the app if an upstream did not respond.
  ///
  /// If file descriptors have run out, the environment fails too.
  func problem(of error: any Error, method: String, url: String) -> Problem {
    let kind = (error as? UpstreamError)?.kind
    if kind == .outOfDescriptors { fail("\(error)") }
    return Problem(
      status: kind == .timedOut ? 504 : 502, title: "The upstream did not answer",
      detail: "\(error)" + (mapAdvice(kind, url: url).map { "; \($0)" } ?? ""),
      extra: ["request": .request(method: method, url: url)])
  }

  /// What to do if the origin that an isolated command asked for cannot be reached; nil for other failures.
  private func mapAdvice(_ kind: UpstreamError.Kind?, url: String) -> String? {
    guard let intercepted, kind == .unresolved || kind == .refused || kind == .unreachable,
      let target = Route.absolute(url), let origin = try? Origin(parsing: "\(target.scheme)://\(target.authority)"),
      intercepted.policy.destination(of: origin) == nil
    else { return nil }
    return "if another server answers its requests, such as a test backend, name that with --map \(origin)=URL"
  }
}

extension EnvironmentSpecification {
  /// The command that records missing interactions.
  func recordAdvice(upstreams: [AddressMap.Upstream]) -> String {
    recordAdvice(.extend, upstreams: upstreams.map { ($0.name, $0.origin.description) })
  }
}
