import Cassettes
import HTTPClient
import HTTPMessages
import Transforms

/// Something that can answer a request, such as the cassette or the upstream. The ``Pipeline`` asks one after the other.
protocol Responder: Sendable {
  /// Answers a request.
  ///
  /// - Parameter request: in the upstream's terms. The response has to be in the app's: URLs and cookies translated.
  /// - Returns: the response; nil to leave the request to the next responder.
  /// - Throws: an error that the pipeline turns into a problem document.
  func respond(to request: DescribedRequest) async throws -> Response?
}

/// A request in the upstream's terms, described for matching.
struct DescribedRequest: Sendable {
  /// As the app sent it.
  let received: Request
  /// As the upstream gets it.
  var outgoing: Request
  /// As it would be recorded: redacted, with dates moved back to the recording's time. This form is matched; the upstream
  /// gets ``outgoing``.
  var sought: Request
  /// The keys of ``sought``; nil if nothing is replayed.
  var keys: RequestKeys?
  /// The keys without moving dates back, for dates that the app made itself.
  var keysAsSent: RequestKeys?
  /// The size in bytes of a body that is too large to hold.
  var length: Int?
  /// The index of its upstream.
  let upstream: Int
  let form: AddressMap.Form
  /// The number of the request in its environment, from 1.
  let number: Int
  let isWebSocket: Bool

  init(
    received: Request, outgoing: Request, upstream: Int, form: AddressMap.Form, number: Int, isWebSocket: Bool
  ) {
    self.received = received
    self.outgoing = outgoing
    sought = outgoing
    self.upstream = upstream
    self.form = form
    self.number = number
    self.isWebSocket = isWebSocket
  }
}

/// Plays recorded responses.
struct CassetteResponder: Responder {
  let environment: Environment
  let replay: Replay

  func respond(to request: DescribedRequest) async throws -> Response? {
    guard let keys = request.keys else { return nil }
    var played = environment.next(for: keys, or: request.keysAsSent)
    // Requests that the app sends concurrently may arrive before their turn.
    if played == nil { played = await environment.turn(of: keys, or: request.keysAsSent) }
    guard let index = played else { return nil }
    let form = request.form
    let isCoded = replay.isCoded(index, accepted: request.received.headers["Accept-Encoding"])
    let echo = environment.echo(index, for: request)
    // Cached bodies are the same for all requests.
    let isStream = request.sought.method == RecordedRequest.streamMethod
    let kept = echo == nil && !isStream ? try await environment.kept(index, form: form, isCoded: isCoded) : nil
    var response =
      try kept ?? environment.call(index, for: request, form: form) ?? environment.webSocket(
        index, for: request, form: form, echo: echo)
      ?? environment.streamed(index, form: form, isCoded: isCoded, echo: echo)
      ?? replay.response(index, addresses: environment.addresses, form: form, isCoded: isCoded, echo: echo)
    environment.learnCookies(
      replay.interactions[index].response.headers, upstream: replay.upstream(of: index),
      target: request.outgoing.target, form: form, in: &response.headers)
    return response
  }
}

/// Forwards requests to the upstream, and records its responses if the mode says so.
struct UpstreamResponder: Responder {
  let environment: Environment
  let client: UpstreamClient

  func respond(to request: DescribedRequest) async throws -> Response? {
    // The mode can change while the environment runs.
    guard environment.mode.mayReachNetwork else { return nil }
    // That a host is in the cassette does not permit to reach it.
    if request.form == .ownURL {
      try environment.checkIsAllowed(environment.upstreams[request.upstream].origin, request.outgoing)
    }
    let forwarding = Forwarding(
      environment: environment, client: client, upstream: environment.upstreams[request.upstream],
      index: request.upstream, form: request.form, number: request.number)
    return try await request.isWebSocket
      ? forwarding.forwardWebSocket(request.outgoing) : forwarding.forward(request.outgoing)
  }
}
