import Basics
import Transforms
import Cassettes
import Dispatch
import HTTPMessages
import HTTPServer
import Synchronization

/// What stands behind one listening port of an environment: an upstream's own endpoint, or the main port.
///
/// The fast path answers replay hits without a `String` or an allocation; all else goes to ``Exchange``.
final class EndpointHandler: RequestHandler {
  /// Told once, when all ports of the environment are known. The cycle this makes ends with the environment,
  /// which lets go of its listeners.
  private let environment = AtomicLazyReference<Environment>()
  /// To its upstream, where requests are passed on and nothing else.
  private let way = AtomicLazyReference<PlainWay>()
  /// Those who came before: ports are open before all is known, at a restart with apps that wait for them.
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
    guard upstream != nil, let environment = environment.load() else { return false }
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
    _ = self.environment.storeIfNil(environment)
    if let upstream, let client, let way = PlainWay(environment, client, upstream: upstream) {
      _ = self.way.storeIfNil(way)
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

  /// The environment, once it stands; nil where it could not be made.
  private func opened() async -> Environment? {
    if let environment = environment.load() { return environment }
    await withCheckedContinuation { continuation in
      let isOver = opening.withLock { opening in
        if !opening.isOver { opening.waiting.append(continuation) }
        return opening.isOver
      }
      if isOver { continuation.resume() }
    }
    return environment.load()
  }

  func answer(_ request: borrowing RequestView) -> PreparedResponse? {
    guard let upstream, let environment = environment.load(), let replay = environment.replay else { return nil }
    guard environment.endpointAccess.admitsAtOnce(request, at: environment.upstreams[upstream].port) else { return nil }
    // By rules more may count than is at hand here.
    guard replay.maker.book == nil else { return nil }
    let target = request.target
    let body = request.body
    guard target.first == UInt8(ascii: "/") else { return nil }
    // A handshake is no plain request for the same address.
    if replay.hasWebSockets, request.header("Upgrade") != nil { return nil }
    // Whose a cookie is has to be known where others are asked live.
    if client != nil, environment.upstreams.count > 1, !replay.recordedSetCookies.isEmpty {
      return nil
    }
    // Where a recording hung on what part was asked for, or on a condition, these count.
    if replay.index.hasVariants, Self.hasVariant(request) { return nil }
    // An endpoint's address in a query or a body becomes the upstream's before it is matched: not here.
    if environment.addresses.mayContainEndpoint(target) { return nil }
    if !body.isEmpty, environment.addresses.mayContainEndpoint(body) { return nil }
    // Dates go back to the recording's time before they are matched: not here, either.
    if let shifter = replay.shifter, shifter.mayConcern(target) || shifter.mayConcern(body) { return nil }
    let key = replay.maker.key(
      method: request.method, upstream: upstream, target: target,
      contentType: body.isEmpty ? nil : request.header("Content-Type"), body: body)
    switch environment.nextPrepared(for: key) {
    case nil: return nil
    case .ready(let response): return response
    case .toPrepare(let index):
      var isCoded = false
      if replay.codings(of: index) != nil {
        isCoded = replay.isCoded(
          index, accepted: request.header("Accept-Encoding").map { String(decoding: $0, as: UTF8.self) })
      }
      return environment.prepared(index, isCoded: isCoded)
    }
  }

  func pass(_ request: borrowing RequestView, to answer: LateAnswer) -> (any Passage)? {
    guard let way = way.load(), way.environment.endpointAccess.admitsAtOnce(request, at: way.port) else { return nil }
    return PlainPassage.begin(request, way, answer)
  }

  /// Whether a request has one of the fields of `RequestVariant`.
  private static func hasVariant(_ request: borrowing RequestView) -> Bool {
    request.header("Range") != nil || request.header("If-None-Match") != nil
      || request.header("If-Modified-Since") != nil || request.header("If-Match") != nil
      || request.header("If-Unmodified-Since") != nil || request.header("If-Range") != nil
  }

  func closed(_ connection: UInt64) {
    // Apps follow on the main port.
    guard upstream == nil, let environment = environment.load() else { return }
    DispatchQueue.global().async {
      environment.live { live, _ in live.closed(connection) }
    }
  }

  func respond(to request: Request) async throws -> Response {
    guard let environment = await opened() else { return Self.over }
    environment.exchanges.enter()
    defer { environment.exchanges.leave() }
    // After entering: the end says so first, and then waits for those that have entered.
    guard !environment.state.withLock({ $0.isOver }) || Self.isOfLiveLink(request.target) else { return Self.over }
    return await Exchange(environment: environment, client: client).respond(to: request, at: upstream)
  }
}
