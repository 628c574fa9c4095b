import Basics
public import Foundation
import LaunchContract
public import Testing
import XCTest

/// A stub that a test has added to its environment.
public struct Stub: Sendable {
  let environment: TestEnvironment
  let ids: [String]
  /// What messages call the stub.
  public let name: String

  /// Removes the stub. Later requests are answered by other stubs, the cassette or the upstream.
  ///
  /// - Throws: ``DioramaTestingError`` if the environment cannot be reached.
  public func remove() async throws(DioramaTestingError) {
    for id in ids { _ = try await environment.admin("DELETE", "/mappings/\(id)", nil) }
  }
}

extension TestEnvironment {
  /// A request that the environment has received.
  public struct ReceivedRequest: Sendable {
    /// The method as sent.
    public let method: String
    /// The URL as the upstream would see it, with the query.
    public let url: String
    /// The header fields by name.
    public let headers: [String: String]
    /// The body.
    public let body: Data

    init(_ json: JSON) {
      method = json["method"]?.string ?? ""
      url = json["absoluteUrl"]?.string ?? ""
      let fields = (json["headers"]?.object ?? []).map { member in
        (member.key, member.value.array?.map(\.text).joined(separator: ", ") ?? member.value.text)
      }
      headers = Dictionary(fields) { first, _ in first }
      body = json["bodyAsBase64"]?.string.flatMap { Data(base64Encoded: $0) } ?? Data()
    }

    /// The body as a value.
    ///
    /// - Parameter type: the type to decode by a `JSONDecoder` with default settings.
    /// - Returns: the value.
    /// - Throws: a `DecodingError`.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
      try JSONDecoder().decode(type, from: body)
    }
  }

  /// Answers requests with a stub, before the cassette and the upstream. In mode `mock`, stubs are all there is.
  ///
  /// ```swift
  /// try await environment.stub(.get("/prescriptions")) { try .json([Prescription.mock()]) }
  /// try await environment.stub(.get("/profile")) { .responses(.status(500), .json(profile)) }
  /// ```
  ///
  /// Of the stubs that match a request, the one added last answers.
  ///
  /// - Parameters:
  ///   - pattern: the requests to answer.
  ///   - name: the stub's name in reports; by default the method and the path.
  ///   - response: returns the response; called once.
  /// - Returns: the stub, for removing it.
  /// - Throws: ``DioramaTestingError`` if the stub is not valid or the environment cannot be reached.
  @discardableResult
  public func stub(
    _ pattern: RequestPattern, name: String? = nil, _ response: () throws -> StubResponse
  ) async throws(DioramaTestingError) -> Stub {
    let request = try pattern.json()
    let given: StubResponse
    do { given = try response() } catch let error as DioramaTestingError { throw error } catch {
      throw DioramaTestingError(.usage, "the stub's response can't be made: \(error)")
    }
    let responses = try given.json()
    let label = name ?? "\(request["method"]?.string ?? "") \(Self.path(of: request))"
    var ids: [String] = []
    // The states of a scenario count the answers.
    let scenario = "sequence \(UUID().uuidString)"
    // The first is added last, because of equal stubs the last one answers.
    for (number, response) in responses.enumerated().reversed() {
      var mapping: [JSON.Member] = [.init("request", request), .init("response", response)]
      if name != nil || responses.count > 1 {
        mapping.append(.init("name", .string(responses.count > 1 ? "\(label), response \(number + 1)" : label)))
      }
      if responses.count > 1 {
        mapping.append(.init("scenarioName", .string(scenario)))
        mapping.append(.init("requiredScenarioState", .string(number == 0 ? "Started" : "\(number)")))
        if number + 1 < responses.count { mapping.append(.init("newScenarioState", .string("\(number + 1)"))) }
      }
      let added = try await admin("POST", "/mappings", .object(mapping))
      if let id = added["id"]?.string { ids.append(id) }
    }
    return Stub(environment: self, ids: ids, name: label)
  }

  /// Answers requests with a closure that receives each request.
  ///
  /// ```swift
  /// try await environment.stub(.post("/orders")) { request in
  ///   let order = try request.decoded(as: Order.self)
  ///   return order.items.isEmpty ? .status(422) : .json(Receipt(total: order.total), status: 201)
  /// }
  /// ```
  ///
  /// The closure handles concurrent requests concurrently. If it throws, the app gets status 500, and the test fails at
  /// the line of the call. A request waits at most one minute.
  ///
  /// - Parameters:
  ///   - pattern: the requests to answer.
  ///   - name: the stub's name in reports; by default the method and the path.
  ///   - sourceLocation: where the test fails; by default the call.
  ///   - response: returns the response to a request.
  /// - Returns: the stub, for removing it.
  /// - Throws: ``DioramaTestingError`` if the pattern is not valid or the environment cannot be reached.
  @discardableResult
  public func stub(
    _ pattern: RequestPattern, name: String? = nil, sourceLocation: SourceLocation = #_sourceLocation,
    _ response: @escaping @Sendable (ReceivedRequest) async throws -> StubResponse
  ) async throws(DioramaTestingError) -> Stub {
    let request = try pattern.json()
    let label = name ?? "\(request["method"]?.string ?? "") \(Self.path(of: request))"
    var mapping: [JSON.Member] = [
      .init("request", request), .init("response", .object([.init("callback", .bool(true))])),
    ]
    if let name { mapping.append(.init("name", .string(name))) }
    guard let id = try await admin("POST", "/mappings", .object(mapping))["id"]?.string else {
      throw DioramaTestingError(.environment, "the environment returned no id for the stub \(label)")
    }
    let calls = ClosureCalls(
      backend: backend, stub: id,
      fail: { [reporter] in reporter.fail("the stub \(label) can't answer: \($0)", at: sourceLocation) },
      response: response)
    Task { await calls.run() }
    return Stub(environment: self, ids: [id], name: label)
  }

  private static func path(of request: JSON) -> String {
    ["url", "urlPathTemplate", "urlPath"].lazy.compactMap { request[$0]?.string }.first ?? ""
  }

  /// The requests that the environment has received, in order. Requests are kept while it has stubs, and in mode
  /// `mock`.
  ///
  /// ```swift
  /// let orders = try await environment.requests(matching: .post("/orders"))
  /// ```
  ///
  /// - Parameter pattern: the requests to return.
  /// - Returns: the requests.
  /// - Throws: ``DioramaTestingError`` if the pattern is not valid or the environment cannot be reached.
  public func requests(matching pattern: RequestPattern) async throws(DioramaTestingError) -> [ReceivedRequest] {
    let found = try await admin("POST", "/requests/find", try pattern.json())
    try checkLog(found)
    return (found["requests"]?.array ?? []).map(ReceivedRequest.init)
  }

  /// Fails the test at this line unless the environment has received the requests.
  ///
  /// ```swift
  /// try await environment.verify(.post("/orders").body(\.total, 12), count: 1)
  /// ```
  ///
  /// - Parameters:
  ///   - pattern: the requests to count.
  ///   - count: how many there must be; nil for at least one.
  ///   - sourceLocation: where the test fails; by default the call.
  /// - Throws: ``DioramaTestingError`` if the pattern is not valid or the environment cannot be reached.
  public func verify(
    _ pattern: RequestPattern, count: Int? = nil, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws(DioramaTestingError) {
    let request = try pattern.json()
    let answer = try await admin("POST", "/requests/count", request)
    try checkLog(answer)
    let found = answer["count"]?.int ?? 0
    guard count.map({ $0 != found }) ?? (found == 0) else { return }
    let expected = count.map { $0 == 1 ? "1 request" : "\($0) requests" } ?? "at least 1 request"
    var text = "expected \(expected) like \(Self.summary(of: request)), received \(found)"
    let near = try await admin("POST", "/near-misses/request-pattern", request)["nearMisses"]?.array ?? []
    let others = near.filter { $0["matchResult"]?["distance"]?.double ?? 0 > 0 }.compactMap { miss in
      miss["request"].map { request in
        let body = request["body"]?.string ?? ""
        return "\(request["method"]?.text ?? "") \(request["url"]?.text ?? "")"
          + (body.isEmpty ? "" : " \(String(body.prefix(200)).escapedForTerminal)")
      }
    }
    if !others.isEmpty { text += "; the nearest are:\n  " + others.joined(separator: "\n  ") }
    reporter.fail(text, at: sourceLocation)
  }

  /// - Throws: ``DioramaTestingError`` if the environment keeps no requests.
  private func checkLog(_ answer: JSON) throws(DioramaTestingError) {
    guard answer["requestJournalDisabled"] == .bool(true) else { return }
    throw DioramaTestingError(
      .usage,
      "the environment keeps no requests because it has no stubs or collections; add one before the app runs, or use "
        + "mode mock")
  }

  private static func summary(_ members: [JSON.Member]) -> String {
    String(decoding: JSON.object(members).encoded(.line), as: UTF8.self)
  }

  private static func summary(of request: JSON) -> String {
    let rest = (request.object ?? []).filter { !["method", "url", "urlPath", "urlPathTemplate"].contains($0.key) }
    let head = "\(request["method"]?.string ?? "") \(path(of: request))"
    return rest.isEmpty ? head : "\(head) with \(summary(rest))"
  }

  /// Calls the admin API.
  func admin(_ method: String, _ path: String, _ body: JSON?) async throws(DioramaTestingError) -> JSON {
    if let json = try await adminIfPresent(method, path, body) { return json }
    throw DioramaTestingError(.usage, "the environment answered 404 to \(method) \(path)")
  }

  /// Calls the admin API; nil if what the path names doesn't exist.
  func adminIfPresent(_ method: String, _ path: String, _ body: JSON?) async throws(DioramaTestingError) -> JSON? {
    try await Self.adminIfPresent(backend, method, path, body)
  }

  fileprivate static func adminIfPresent(
    _ backend: any EnvironmentBackend, _ method: String, _ path: String, _ body: JSON?
  ) async throws(DioramaTestingError) -> JSON? {
    let answer: (status: Int, body: [UInt8])
    do { answer = try await backend.admin(method, path, body.map { $0.encoded() } ?? []) } catch {
      throw DioramaTestingError(.environment, error.message)
    }
    let json = try? JSON.parse(answer.body)
    guard answer.status < 400 else {
      let problem = json?["errors"]?.array?.first?["detail"]?.string ?? json?["detail"]?.string
      if answer.status == 404, problem == nil { return nil }
      throw DioramaTestingError(
        answer.status == 408 ? .timedOut : .usage,
        problem ?? "the environment answered \(answer.status) to \(method) \(path)")
    }
    return json ?? .null
  }
}

/// Calls a stub's closure for each request. Does not keep the environment.
private struct ClosureCalls: Sendable {
  let backend: any EnvironmentBackend
  let stub: String
  let fail: @Sendable (any Error) -> Void
  let response: @Sendable (TestEnvironment.ReceivedRequest) async throws -> TestEnvironment.StubResponse

  /// Ends when the stub is removed or the environment has ended.
  func run() async {
    var failures = 0
    // A daemon may be restarting.
    while failures < 100 {
      do throws(DioramaTestingError) {
        let taken = try await TestEnvironment.adminIfPresent(backend, "GET", "/callbacks?stub=\(stub)&timeout=20", nil)
        guard let taken, taken["ended"] != .bool(true) else { return }
        failures = 0
        for pending in taken["requests"]?.array ?? [] {
          guard let number = pending["number"]?.int, let request = pending["request"] else { continue }
          Task { await answer(number, .init(request)) }
        }
      } catch {
        if error.kind == .usage { return }
        failures += 1
        try? await Delay.sleep(until: .now + .milliseconds(100))
      }
    }
  }

  private func answer(_ number: Int, _ request: TestEnvironment.ReceivedRequest) async {
    var answer: JSON
    do {
      let responses = try await response(request).json()
      guard responses.count == 1 else {
        throw DioramaTestingError(.usage, "a closure that receives the request must return a single response")
      }
      answer = responses[0]
    } catch {
      fail(error)
      answer = .object([.init("status", .int(500)), .init("body", .string("\(error)"))])
    }
    // The app may have disconnected.
    _ = try? await TestEnvironment.adminIfPresent(backend, "POST", "/callbacks/\(number)", answer)
  }
}
