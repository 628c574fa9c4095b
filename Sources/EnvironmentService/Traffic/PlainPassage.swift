import Transforms
import Cassettes
import Dispatch
import HTTPClient
import HTTPMessages
import HTTPServer

/// The fast path for requests that are only forwarded: moves bytes to the upstream and back, without a task or a thread
/// switch.
///
/// The result must be the same as with ``Pipeline`` and ``Forwarding``: it is for requests and short responses in which
/// nothing is rewritten. Any other response is handed over to them.
final class PlainPassage: Passage {
  private let way: PlainWay
  private let answer: LateAnswer
  private let method: String
  private let target: String
  /// Nil once there is a response, which breaks the reference cycle.
  private var transfer: RawTransfer?

  /// The size in bytes of a response head that fits after any request.
  private static let plainHeadSize = 2048

  private init(_ way: PlainWay, _ answer: LateAnswer, method: String, target: String) {
    self.way = way
    self.answer = answer
    self.method = method
    self.target = target
    way.environment.openRequests.enter()
  }

  deinit { way.environment.openRequests.leave() }

  /// Forwards a request if the fast path can handle it; otherwise returns nil.
  static func begin(_ request: borrowing RequestView, _ way: PlainWay, _ answer: LateAnswer) -> PlainPassage? {
    let target = request.target
    let body = request.body
    // A response to HEAD declares a length, but has no body.
    guard target.first == AddressByte.slash, target.isVisible, request.method.isToken,
      !request.method.equalsIgnoringASCIICase("HEAD"), !request.method.equalsIgnoringASCIICase("CONNECT"),
      !way.addresses.mayContainEndpoint(target), !way.addresses.mayContainEndpoint(body)
    else { return nil }
    let passage = PlainPassage(
      way, answer, method: String(decoding: request.method, as: UTF8.self),
      target: String(decoding: target, as: UTF8.self))
    var raw = RawRequest(method: passage.method, target: passage.target, body: Array(body), host: way.authority)
    let isPlain = request.forEachHeader { name, value in
      switch RequestField(name) {
      case .own: return true
      case .connection: return value.keepsOrCloses
      case .special: return false
      // With several upstreams, each must receive only the cookies that it set.
      case .cookie where way.environment.upstreams.count > 1: return false
      case .cookie, .passed:
        guard name.isToken, value.isPlainText, !way.addresses.mayContainEndpoint(value) else { return false }
        raw.append(name, value)
        return true
      }
    }
    guard isPlain, way.enter() else { return nil }
    raw.seal()
    guard let transfer = way.client.send(raw, to: way.origin, by: way.access, passage) else {
      way.leave()
      return nil
    }
    passage.transfer = transfer
    return passage
  }

  func cancel() {
    transfer?.cancel()
    note(.left, status: 499, text: "the app disconnected before the upstream had responded", isLost: true)
  }

  private func note(_ kind: Journal.Kind, status: Int, text: String? = nil, isLost: Bool = false) {
    way.environment.note(kind, status: status, method: method, url: way.url + target, text: text, isLost: isLost)
  }

  /// Continues on the slow path.
  private func goOn(with result: Result<Response, any Error>) {
    let given = Forwarding.Given(result: result)
    answer.respond { [way] request in
      way.environment.openRequests.enter()
      defer { way.environment.openRequests.leave() }
      return await way.pipeline.respond(to: request, at: way.upstream, given: given)
    }
  }
}

extension PlainPassage: RawReceiver {
  func came(_ response: RawResponse) {
    transfer = nil
    guard answer.isAwaited else { return }
    guard isPlain(response) else { return goOn(with: .success(response.response)) }
    let count = response.bytes.count
    guard var plain = RawAnswer(status: response.status, body: response.takeBody(), count: count) else {
      return goOn(with: .failure(UpstreamError(kind: .other, message: "out of memory for a response; free some")))
    }
    _ = response.forEachField { name, value in
      if ResponseField(name).isPassed, let name = name.text, let text = value.text {
        plain.add(name, text, size: value.count)
      }
      return true
    }
    answer.send(plain)
    note(.forwarded, status: response.status)
  }

  func began(_ response: Response) {
    transfer = nil
    guard answer.isAwaited else {
      if case .stream(let pipe, _) = response.body { pipe.abandon() }
      return
    }
    goOn(with: .success(response))
  }

  func failed(_ error: any Error) {
    transfer = nil
    goOn(with: .failure(error))
  }

  /// Whether nothing in the response can need rewriting.
  private func isPlain(_ response: RawResponse) -> Bool {
    // A 204 or 304 has no body, whatever its fields declare.
    guard !response.isOdd, response.headSize <= Self.plainHeadSize, 200...599 ~= response.status,
      response.status != 204, response.status != 304
    else {
      return false
    }
    let matcher = way.matcher
    var isText = false
    let isPlain = response.forEachField { name, value in
      switch ResponseField(name) {
      case .connection: return value.keepsOrCloses
      case .own: return true
      case .special: return false
      case .contentType:
        let type = way.mediaType(value)
        isText = isText || type.isText
        return !type.isStream && !matcher.mayOccur(in: value)
      case .passed: return name.isToken && !matcher.mayOccur(in: value)
      }
    }
    return isPlain && (!isText || !matcher.mayOccur(in: response.bytes))
  }
}

extension UnsafeRawBufferPointer {
  /// The bytes as a C string; they must be null-terminated.
  fileprivate var text: UnsafePointer<CChar>? { baseAddress?.assumingMemoryBound(to: CChar.self) }

  /// Whether all bytes are visible ASCII, as required in a request line.
  fileprivate var isVisible: Bool {
    for byte in self where byte &- 0x21 >= 0x5E { return false }
    return true
  }
}
