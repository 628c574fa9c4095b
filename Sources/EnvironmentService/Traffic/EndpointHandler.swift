import Basics
import Transforms
import Cassettes
import Dispatch
import HTTPMessages
import HTTPServer
import Synchronization

/// The request handler of one listening port of an environment: an upstream's own endpoint, or the main port.
///
/// The fast path answers replay hits without a `String` or an allocation; everything else goes to ``Pipeline``.
final class EndpointHandler: RequestHandler {
  /// Set once, when all ports of the environment are known. This retain cycle ends with the environment, which releases
  /// its listeners.
  private let pipeline = SetOnce<Pipeline>()
  /// The way to its upstream, if requests are only passed on.
  private let way = SetOnce<PlainWay>()
  /// Requests that arrived early: ports are open before the environment is complete, and after a restart apps wait for
  /// them.
  private let opening = Guarded(Opening())
  private let upstream: Int?
  private let client: UpstreamClient?

  /// - Parameters:
  ///   - upstream: the index of the upstream; nil on the main port.
  ///   - client: the way to the backends; nil where the mode may not reach them.
  init(upstream: Int?, client: UpstreamClient?) {
    self.upstream = upstream
    self.client = client
  }

  /// What comes for an upstream is passed on and back; on the main port much else is asked for. Patterns may take their
  /// time, while others' requests wait for the same thread.
  var isBrief: Bool {
    guard upstream != nil, let environment else { return false }
    return environment.redactor.rules.patterns.isEmpty && environment.replay?.maker.book == nil
  }

  private static var over: Response {
    Problem(status: 503, title: "The environment has ended", detail: "provision another one").response
  }

  /// What is answered after the end, too: who follows learns of it there.
  private static func isOfLiveLink(_ target: String) -> Bool {
    ["/__diorama/state", "/__diorama/acknowledge"].contains(target.prefix { $0 != "?" })
  }

  private struct Opening {
    var isOver = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  func open(to environment: Environment) {
    let pipeline = Pipeline(environment: environment, client: client)
    self.pipeline.set(pipeline)
    if let upstream, let client, let way = PlainWay(pipeline, client, upstream: upstream) {
      self.way.set(way)
    }
    abandon()
  }

  /// There will be no environment; or there is one.
  func abandon() {
    let waiting = opening.withLock { opening in
      opening.isOver = true
      defer { opening.waiting = [] }
      return opening.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  private var environment: Environment? { pipeline.value?.environment }

  /// The environment, once it stands; nil where it could not be made.
  private func opened() async -> Environment? {
    if let environment { return environment }
    await withCheckedContinuation { continuation in
      let isOver = opening.withLock { opening in
        if !opening.isOver { opening.waiting.append(continuation) }
        return opening.isOver
      }
      if isOver { continuation.resume() }
    }
    return environment
  }

  func answer(_ request: borrowing RequestView) -> PreparedResponse? {
    guard let upstream, let environment else { return nil }
    return environment.answer(request, at: upstream, isLive: client != nil)
  }

  func pass(_ request: borrowing RequestView, to answer: LateAnswer) -> (any Passage)? {
    guard let way = way.value, way.environment.endpointAccess.admitsAtOnce(request, at: way.port) else { return nil }
    return PlainPassage.begin(request, way, answer)
  }

  func closed(_ connection: UInt64) {
    // Apps follow on the main port.
    guard upstream == nil, let environment else { return }
    DispatchQueue.global().async {
      environment.live { live, _ in live.closed(connection) }
    }
  }

  func respond(to request: Request) async throws -> Response {
    guard let environment = await opened(), let pipeline = pipeline.value else { return Self.over }
    environment.openRequests.enter()
    defer { environment.openRequests.leave() }
    // After entering: the end says so first, and then waits for those that have entered.
    guard !environment.state.withLock({ $0.isOver }) || Self.isOfLiveLink(request.target) else { return Self.over }
    return await pipeline.respond(to: request, at: upstream)
  }
}

extension Environment {
  /// The first step of a request's way: the recorded response, where that is at hand and nothing is to be translated.
  ///
  /// - Parameters:
  ///   - request: at an upstream's own port.
  ///   - upstream: its index.
  ///   - isLive: whether upstreams may be asked, too.
  /// - Returns: nil for a request that has to go all the way.
  fileprivate func answer(_ request: borrowing RequestView, at upstream: Int, isLive: Bool) -> PreparedResponse? {
    // By rules more may count than is at hand here.
    guard let replay, !replay.hasRules, endpointAccess.admitsAtOnce(request, at: upstreams[upstream].port)
    else { return nil }
    let target = request.target
    let body = request.body
    guard target.first == UInt8(ascii: "/") else { return nil }
    // A handshake is no plain request for the same address.
    if replay.hasWebSockets, request.header("Upgrade") != nil { return nil }
    // Whose a cookie is has to be known where others are asked live.
    if isLive, upstreams.count > 1, !replay.recordedSetCookies.isEmpty {
      return nil
    }
    // Where a recording hung on what part was asked for, or on a condition, these count.
    if replay.hasVariants, Self.hasVariant(request) { return nil }
    // An endpoint's address in a query or a body becomes the upstream's before it is matched: not here.
    if addresses.mayContainEndpoint(target) { return nil }
    if !body.isEmpty, addresses.mayContainEndpoint(body) { return nil }
    // Dates go back to the recording's time before they are matched: not here, either.
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

/// A reference that is set at most once and read without a lock; `AtomicLazyReference.load()` is a generic call at run time.
private struct SetOnce<Value: AnyObject & Sendable>: ~Copyable, Sendable {
  private let reference = Atomic<Unmanaged<Value>?>(nil)

  deinit { reference.load(ordering: .acquiring)?.release() }

  func set(_ value: Value) { reference.store(.passRetained(value), ordering: .releasing) }

  var value: Value? { reference.load(ordering: .acquiring)?.takeUnretainedValue() }
}
