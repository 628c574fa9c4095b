import Basics
import DioramaTesting
import Foundation
import HTTPMessages
import TestSupport
import Testing

@Suite("Stubs of a test", .environment(.mock, upstreams: ["api": "https://api.example.com"]))
struct StubbingTests {
  struct Prescription: Codable, Equatable {
    var id: Int
    var dose: Double
  }

  private func send(
    _ method: String, _ path: String, _ body: String = "", in environment: TestEnvironment
  ) async throws -> RawClient.Answer {
    let port = UInt16(try environment.endpoint("api").port ?? 0)
    return try await onThread {
      try RawClient(port: port).exchange(
        "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }
  }

  @Test("answer with values of the test's own types, and are found by their path")
  func values() async throws {
    let environment = try TestEnvironment.current
    let given = [Prescription(id: 7, dose: 1.0)]
    try await environment.stub(.get("/prescriptions")) { .json(given) }
    try await environment.stub(.get("/patients/{id}").query("full", "true")) { .text("Ann", status: 203) }
    let answer = try await send("GET", "/prescriptions", in: environment)
    #expect(answer.headers["Content-Type"] == "application/json")
    #expect(try JSONDecoder().decode([Prescription].self, from: Data(answer.body)) == given)
    let patient = try await send("GET", "/patients/7?full=true", in: environment)
    #expect(patient.status == 203)
    #expect(patient.text == "Ann")
  }

  @Test("answer several times in order, and the last answer repeats")
  func responses() async throws {
    let environment = try TestEnvironment.current
    try await environment.stub(.get("/profile")) {
      .responses(.status(500), .text("one"), .text("two").header("X-Last", "yes"))
    }
    var seen: [String] = []
    for _ in 0..<4 {
      let answer = try await send("GET", "/profile", in: environment)
      seen.append("\(answer.status) \(answer.text) \(answer.headers["X-Last"] ?? "")")
    }
    #expect(seen == ["500  ", "200 one ", "200 two yes", "200 two yes"])
  }

  @Test("answer with a closure that receives the request, also concurrently")
  func closure() async throws {
    let environment = try TestEnvironment.current
    let both = Monitor(0)
    try await environment.stub(.post("/doses/{id}")) { .status(404) }
    let stub = try await environment.stub(.post("/doses/{id}")) { request in
      // The second request is answered first.
      let isFirst = both.withLock { count in
        count += 1
        return count == 1
      }
      if isFirst { try await both.wait { $0 == 2 } }
      let given = try request.decoded(as: Prescription.self)
      return .json(Prescription(id: given.id, dose: given.dose * 2)).header("X-Method", request.method)
    }
    async let first = send("POST", "/doses/1", #"{"id": 1, "dose": 1.5}"#, in: environment)
    async let second = send("POST", "/doses/2", #"{"id": 2, "dose": 4}"#, in: environment)
    for (answer, id, dose) in [(try await first, 1, 3.0), (try await second, 2, 8.0)] {
      #expect(try JSONDecoder().decode(Prescription.self, from: Data(answer.body)) == Prescription(id: id, dose: dose))
      #expect(answer.headers["X-Method"] == "POST")
    }
    try await stub.remove()
    #expect(try await send("POST", "/doses/1", in: environment).status == 404)
    try await withKnownIssue {
      try await environment.stub(.get("/broken")) { _ in throw CancellationError() }
      #expect(try await send("GET", "/broken", in: environment).status == 500)
    } matching: { issue in
      issue.comments.contains { $0.rawValue.contains("the stub GET /broken can't answer: CancellationError()") }
    }
  }

  @Test("are required to verify requests, because requests are not kept without them")
  func unlogged() async throws {
    let environment = try await TestEnvironment.provision(
      mode: .proxy, upstreams: ["api": "https://api.example.com"], policies: .init(allowNoRequests: true))
    let error = await #expect(throws: DioramaTestingError.self) { try await environment.verify(.get("/a"), count: 0) }
    #expect(error?.description.contains("keeps no requests") == true, "\(error.map { "\($0)" } ?? "")")
    await #expect(throws: DioramaTestingError.self) { try await environment.requests(matching: .get("/a")) }
    await environment.end()
  }

  @Test("work together with faults, which a test can change")
  func faults() async throws {
    let environment = try TestEnvironment.current
    try await environment.stub(.get("/profile")) { .text("Ann") }
    try await environment.faults.set(.status(429, retryAfter: .seconds(5)).on(.get("/profile")).nth(2).named("limit"))
    var seen: [String] = []
    for _ in 0..<3 {
      let answer = try await send("GET", "/profile", in: environment)
      seen.append("\(answer.status) \(answer.headers["Retry-After"] ?? "")")
    }
    #expect(seen == ["200 ", "429 5", "200 "])
    try await environment.verify(.get("/profile"), count: 3)
    try await environment.faults.set(.cut(afterBytes: 1), .bandwidth(bytesPerSecond: 100), .delay(.milliseconds(1)))
    await #expect(throws: RawClient.Failure.self) { try await send("GET", "/profile", in: environment) }
    await #expect(throws: DioramaTestingError.self) { try await environment.faults.set(.status(99)) }
    try await environment.faults.removeAll()
    #expect(try await send("GET", "/profile", in: environment).text == "Ann")
  }

  @Test("replace earlier ones, can be removed, and break connections")
  func changed() async throws {
    let environment = try TestEnvironment.current
    try await environment.stub(.any("/a")) { .text("first") }
    let second = try await environment.stub(.any("/a"), name: "second") { .text("second") }
    #expect(try await send("GET", "/a", in: environment).text == "second")
    try await second.remove()
    #expect(try await send("GET", "/a", in: environment).text == "first")
    try await environment.stub(.post("/a")) { .fault(.connectionReset) }
    await #expect(throws: RawClient.Failure.self) { try await send("POST", "/a", in: environment) }
  }

  @Test("show which requests came, count them, and fail the test at the line that expects others")
  func verification() async throws {
    let environment = try TestEnvironment.current
    try await environment.stub(.post("/orders")) { .status(201) }
    _ = try await send("POST", "/orders?x=1", #"{"total": 12.0, "items": [{"count": 2}]}"#, in: environment)
    try await environment.verify(.post("/orders").body(\.total, 12), count: 1)
    try await environment.verify(
      .post("/orders").body(\.items[0].count, 2).query("x", "1").header("Content-Length", "40"))
    try await environment.verify(.post("/orders").body(\.total, 13), count: 0)
    try await environment.verify(.post("/orders").body(json: ["items": [["count": 2]], "total": 12]))
    try await environment.verify(.post("/orders").body(containing: "items").upstream("api"))
    let orders = try await environment.requests(matching: .post("/orders"))
    #expect(orders.map(\.url) == ["https://api.example.com/orders?x=1"])
    #expect(orders.first?.headers["Content-Length"] == "40")
    struct Order: Decodable { var total: Double }
    #expect(try orders.first?.decoded(as: Order.self).total == 12)
    try await withKnownIssue {
      try await environment.verify(.post("/orders").body(\.total, 13), count: 1)
    } matching: { issue in
      issue.sourceLocation?.line == #line - 2
        && issue.comments.first?.rawValue.hasPrefix("expected 1 request like POST /orders with ") == true
        && issue.comments.first?.rawValue.hasSuffix(
          "received 0; the nearest are:\n  POST /orders?x=1 {\"total\": 12.0, \"items\": [{\"count\": 2}]}") == true
    }
  }

  @Test("distinguish strings in a body from numbers")
  func strings() async throws {
    let environment = try TestEnvironment.current
    try await environment.stub(.post("/names").body(\.name, "Ann \"A\"").body(\.code, "7")) { .status(201) }
    try await environment.stub(.post("/text").body(json: "Ann")) { .status(202) }
    let name = try await send("POST", "/names", #"{"name": "Ann \"A\"", "code": "7"}"#, in: environment)
    #expect(name.status == 201)
    #expect(try await send("POST", "/text", #""Ann""#, in: environment).status == 202)
    try await environment.verify(.post("/names").body(\.code, "7"), count: 1)
    try await environment.verify(.post("/names").body(\.code, 7), count: 0)
  }

  @Test("that cannot be made are refused with the reason")
  func refused() async throws {
    let environment = try TestEnvironment.current
    let body = await #expect(throws: DioramaTestingError.self) {
      try await environment.stub(.get("/a")) { .json(Double.infinity) }
    }
    #expect(body?.description.contains("cannot be encoded as JSON") == true)
    let header = await #expect(throws: DioramaTestingError.self) {
      try await environment.stub(.get("/a")) { .text("x").header("X", "a\nb") }
    }
    #expect(header?.description == "response.headers.X: no message can have this header")
    let path = await #expect(throws: DioramaTestingError.self) {
      try await environment.stub(.get("/{a}b")) { .text("x") }
    }
    #expect(path?.description.contains("neither a text nor one name in braces") == true)
  }

  @Test("serve collections of the test's own types, which it reads and changes while the app uses them")
  func collections() async throws {
    let environment = try TestEnvironment.current
    let all = try await environment.collection(
      "prescriptions", at: "/prescriptions/{id}", items: [Prescription(id: 7, dose: 1)])
    #expect(try await send("GET", "/prescriptions/7", in: environment).text == #"{"dose":1,"id":7}"#)
    #expect(try await send("POST", "/prescriptions", #"{"dose": 2.5}"#, in: environment).status == 201)
    #expect(try await all.items == [Prescription(id: 7, dose: 1), Prescription(id: 8, dose: 2.5)])
    #expect(try await all.put(Prescription(id: 7, dose: 3)) == Prescription(id: 7, dose: 3))
    #expect(try await send("GET", "/prescriptions?dose=3", in: environment).text == #"[{"dose":3,"id":7}]"#)
    #expect(try await all["8"]?.dose == 2.5)
    #expect(try await all.remove("8")?.dose == 2.5)
    #expect(try await all.remove("8") == nil)
    #expect(try await all["8"] == nil)
    #expect(try await all.remove("") == nil)
    #expect(try await all[""] == nil)
    #expect(try await send("GET", "/prescriptions/8", in: environment).status == 404)
    try await all.remove()
    let uses: [() async throws -> Void] = [
      { _ = try await all.items }, { _ = try await all["7"] }, { try await all.remove() },
      { _ = try await all.put(Prescription(id: 7, dose: 1)) }, { _ = try await all.remove("7") },
    ]
    for use in uses {
      let error = await #expect(throws: DioramaTestingError.self) { try await use() }
      #expect(error?.description == "there is no collection 'prescriptions'")
    }
  }

  @Test("refuse collections and items that are not valid, with the place")
  func invalidCollections() async throws {
    let environment = try TestEnvironment.current
    let item = [Prescription(id: 7, dose: 1)]
    let errors: [(String, () async throws -> Void)] = [
      (
        "path: '/a' does not end with the id in braces, such as /patients/{id}",
        { _ = try await environment.collection("a", at: "/a", items: item) }
      ),
      ("items[0]", { _ = try await environment.collection("a", at: "/a/{id}", id: \.code, items: item) }),
      (
        "the id of the collection 'a' has to be a member, such as \\.id",
        { _ = try await environment.collection("a", of: Prescription.self, at: "/a/{id}", id: \.[0]) }
      ),
    ]
    for (text, make) in errors {
      let error = await #expect(throws: DioramaTestingError.self) { try await make() }
      #expect(error?.description.hasPrefix(text) == true, "\(error?.description ?? "")")
    }
    // Names and ids may have any characters.
    struct Note: Codable, Equatable { var code: String }
    let notes = try await environment.collection(
      "my notes/ä", at: "/notes/{code}", id: \.code, items: [Note(code: "a/b ?%")])
    #expect(try await notes["a/b ?%"] == Note(code: "a/b ?%"))
    #expect(try await send("GET", "/notes/a%2Fb%20%3F%25", in: environment).status == 200)
  }
}
