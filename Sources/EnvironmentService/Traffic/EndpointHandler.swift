import Basics
import Transforms
import Cassettes
import Dispatch
import HTTPMessages
import HTTPServer

/// The request handler of one listening port of an environment: an upstream's own endpoint, or the main port.
///
/// The fast path answers replay hits without a `String` or an allocation; everything else goes to ``Pipeline``.
final class EndpointHandler: RequestHandler {
  /// This retain cycle ends with the environment, which closes its listeners.
  private let pipeline: Pipeline
  /// The fast path to the upstream, if requests are only forwarded.
  private let way: PlainWay?
  private let upstream: Int?
  private let client: UpstreamClient?

  private var environment: Environment { pipeline.environment }

  /// - Parameters:
  ///   - environment: answers the requests.
  ///   - upstream: the index of the upstream; nil on the main port.
  ///   - client: sends requests to upstreams; nil if the mode does not allow it.
  init(_ environment: Environment, upstream: Int?, client: UpstreamClient?) {
    pipeline = Pipeline(environment: environment, client: client)
    self.upstream = upstream
    self.client = client
    if let upstream, let client { way = PlainWay(pipeline, client, upstream: upstream) } else { way = nil }
  }

  /// True on upstream ports, where requests are only forwarded, unless patterns or rules have to be evaluated: that may
  /// take long, and other requests wait for the same thread.
  var isBrief: Bool {
    upstream != nil && environment.redactor.rules.patterns.isEmpty && environment.replay?.maker.book == nil
      && !environment.stubs.isActive && environment.stubs.contract == nil && !environment.faults.isActive
  }

  private static var over: Response {
    Problem(status: 503, title: "The environment has ended", detail: "provision another one").response
  }

  /// Whether a target is served even after the environment has ended, so that clients following it learn of the end.
  private static func isOfLiveLink(_ target: String) -> Bool {
    ["/__diorama/state", "/__diorama/acknowledge"].contains(target.prefix { $0 != "?" })
  }

  func answer(_ request: borrowing RequestView) -> PreparedResponse? {
    // Every message is checked, and may be changed.
    guard environment.stubs.contract == nil, !environment.faults.isActive,
      !environment.specification.journalsRequests
    else { return nil }
    if environment.stubs.isActive {
      return environment.stubAnswer(request, at: upstream)
    }
    // Prepared responses of an isolated command are for its own URLs.
    guard let upstream, environment.intercepted == nil,
      environment.endpointAccess.admitsAtOnce(request, at: environment.upstreams[upstream].port)
    else { return nil }
    return environment.answer(request, at: upstream, isLive: client != nil)
  }

  func pass(_ request: borrowing RequestView, to answer: LateAnswer) -> (any Passage)? {
    guard let way, !environment.stubs.isActive, environment.stubs.contract == nil, !environment.faults.isActive,
      !environment.specification.journalsRequests,
      way.environment.endpointAccess.admitsAtOnce(request, at: way.port)
    else { return nil }
    return PlainPassage.begin(request, way, answer)
  }

  func closed(_ connection: UInt64) {
    // Only main-port connections can follow the environment.
    guard upstream == nil else { return }
    DispatchQueue.global().async { [environment] in
      environment.live { live, _ in live.closed(connection) }
    }
  }

  func respond(to request: Request) async throws -> Response {
    var request = request
    do {
      let mark = try ClientMark.take(from: &request, token: environment.token)
      return await respond(to: request, as: mark)
    } catch {
      return error.response
    }
  }

  /// Answers a request.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - mark: what a client in the test says about it.
  ///   - route: its destination; nil to determine it by port and target.
  /// - Returns: the response.
  func respond(to request: Request, as mark: ClientMark?, by route: Route? = nil) async -> Response {
    environment.openRequests.enter()
    defer { environment.openRequests.leave() }
    // Check after entering: the environment sets this flag first and then waits for the requests that have entered.
    guard !environment.state.withLock({ $0.isOver }) || Self.isOfLiveLink(request.target) else { return Self.over }
    if let route {
      return CallStatus.translated(await pipeline.respond(to: request, by: route), for: request)
    }
    let response = await ClientMark.$isOfSetup.withValue(mark?.isSetup == true) {
      await pipeline.respond(to: request, at: upstream, as: mark)
    }
    return CallStatus.translated(response, for: request)
  }
}

extension Environment {
  /// The fast path of replay: returns the recorded response if it is in memory and nothing has to be rewritten.
  ///
  /// - Parameters:
  ///   - request: a request on an upstream's own port, or for its own URL.
  ///   - upstream: the upstream's index.
  ///   - isLive: whether requests may also be sent to upstreams.
  /// - Returns: the response; nil if the request needs ``Pipeline``.
  func answer(_ request: borrowing RequestView, at upstream: Int, isLive: Bool) -> PreparedResponse? {
    // Rules may compare parts of the request that are not available here.
    guard let replay, !replay.hasRules else { return nil }
    let target = request.target
    let body = request.body
    guard target.first == UInt8(ascii: "/") else { return nil }
    // A WebSocket handshake differs from a plain request for the same URL.
    if replay.hasWebSockets, request.header("Upgrade") != nil { return nil }
    // With live upstreams, cookies have to be attributed to the upstream that set them.
    if isLive, intercepted == nil, upstreams.count > 1, !replay.recordedSetCookies.isEmpty {
      return nil
    }
    // If recorded responses depend on a range or a condition, those header fields are compared.
    if replay.hasVariants, Self.hasVariant(request) { return nil }
    // Endpoint URLs in a query or body are rewritten before matching, but not on this path.
    if addresses.mayContainEndpoint(target) { return nil }
    if !body.isEmpty, addresses.mayContainEndpoint(body) { return nil }
    // Dates are moved back to the recording's time before matching, but not on this path.
    if let shifter = replay.shifter, shifter.mayConcern(target) || shifter.mayConcern(body) { return nil }
    let key = replay.maker.key(
      method: request.method, upstream: upstream, target: target,
      contentType: body.isEmpty ? nil : request.header("Content-Type"), body: body)
    switch nextPrepared(for: key) {
    case nil: return nil
    case .ready(let response): return response
    case .toPrepare(let index):
      var isCoded = false
      if replay.codings(of: index) != nil {
        isCoded = replay.isCoded(
          index, accepted: request.header("Accept-Encoding").map { String(decoding: $0, as: UTF8.self) })
      }
      return prepared(index, isCoded: isCoded)
    }
  }

  /// Whether a request has one of the fields of `RequestVariant`.
  private static func hasVariant(_ request: borrowing RequestView) -> Bool {
    request.header("Range") != nil || request.header("If-None-Match") != nil
      || request.header("If-Modified-Since") != nil || request.header("If-Match") != nil
      || request.header("If-Unmodified-Since") != nil || request.header("If-Range") != nil
  }
}
