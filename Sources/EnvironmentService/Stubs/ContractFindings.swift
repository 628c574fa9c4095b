import Basics
import CassetteChecks
import Cassettes
import ControlAPI
import HTTPMessages
import Stubs
import Transforms

/// Violations of an environment's OpenAPI document, without duplicates.
struct ContractFindings: Sendable, Codable {
  /// Violations by stub responses, and by requests that were not rejected. They fail the environment.
  var violations: [String] = []
  /// Violations by rejected requests, and contradictions within the document.
  var notes: [String] = []

  /// The maximum number of lines of each kind, and their maximum length.
  static let limit = 1000
  static let lengthLimit = 2000
}

extension Environment {
  /// Whether the OpenAPI document answers requests that stubs and collections do not.
  var answersByContract: Bool { stubs.contract != nil && mode == .mock }

  /// Adds lines to the report.
  func addFindings(_ lines: [String], to list: WritableKeyPath<ContractFindings, [String]>) {
    guard !lines.isEmpty else { return }
    let lines = lines.map { String(redactor.redact($0).prefix(ContractFindings.lengthLimit)) }
    state.withLock { state in
      for line in lines where state.contractFindings[keyPath: list].count < ContractFindings.limit {
        guard !state.contractFindings[keyPath: list].contains(line) else { continue }
        state.contractFindings[keyPath: list].append(line)
        changes.note()
      }
    }
    changes.keepIfPossible()
  }

  /// Checks a response of a stub or a collection, and its request.
  func checkContract(_ label: String, _ response: Response, to request: StubRequest) {
    guard let contract = stubs.contract else { return }
    let message = request.decodedMessage
    check(message, contract, url: request.url, status: response.status)
    // Documents cannot describe WebSockets.
    guard response.status != 101 else { return }
    addFindings(contract.violations(of: response, to: message).map { "\(label): \($0)" }, to: \.violations)
  }

  /// Checks a request that the cassette or the upstream has answered. Only a body in memory is checked.
  func checkContract(_ request: DescribedRequest, status: Int) {
    guard let contract = stubs.contract else { return }
    let asked = request.stubRequest(in: self)
    var message = asked.decodedMessage
    if case .bytes = request.outgoing.body {} else { message.body = request.outgoing.body }
    check(message, contract, url: asked.url, status: status)
  }

  /// A request that was rejected may be invalid on purpose.
  private func check(_ request: Request, _ contract: OpenAPIMock, url: String, status: Int) {
    guard !(400..<500 ~= status) else { return }
    let url = redactor.redactURL(url)
    addFindings(contract.violations(of: request).map { "\(request.method) \(url): \($0)" }, to: \.violations)
  }
}

extension StubRequest {
  /// The request with its body decoded.
  var decodedMessage: Request { Request(method: method, target: target, headers: headers, body: .bytes(content)) }
}

extension StubServer {
  /// Random numbers that depend on the seed and the request alone, so that the same request gets the same answer.
  func randomBytes(for request: Request) -> StubBytes {
    var hash = SipHash()
    let body: [UInt8] = if case .bytes(let bytes) = request.body { bytes } else { [] }
    for part in [Array(request.method.utf8), Array(request.target.utf8), body] {
      part.withUnsafeBytes { hash.append($0) }
      hash.append(0)
    }
    let words = hash.finish()
    let key = [words.0, words.1].map { String($0, radix: 16) }.joined(separator: "-")
    return StubBytes(derivation, key: "contract \(key)", ordinal: 0)
  }

  /// The path of the OpenAPI document that is nearest to a target; nil without a document.
  func nearestPath(to target: String) -> Report.NearestStub? {
    guard let nearest = contract?.nearest(to: target) else { return nil }
    return .init(stub: "contract \(nearest)", differences: ["the path is not in the OpenAPI document"])
  }
}
