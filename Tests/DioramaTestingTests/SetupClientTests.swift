import Basics
import Diorama
import DioramaTesting
import Foundation
import HTTPMessages
import HTTPServer
import LaunchContract
import TestSupport
import Testing

@Suite("Client for a test's own requests")
struct SetupClientTests {
  private struct Registration: Codable, Equatable {
    var id: Int
    var email: String
    var token: String
  }

  private let folder: Folder

  init() throws { folder = try Folder() }

  private func provision(
    _ mode: TestEnvironment.Mode, _ url: String, _ sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> TestEnvironment {
    try await TestEnvironment.provision(
      mode: mode, upstreams: ["api": url], cassette: folder.file("setup"), sourceLocation: sourceLocation)
  }

  private static let registersAnn =
    #"curl -s -H 'Content-Type: application/json' -d '{"name": "Ann"}' "$DIORAMA_ENDPOINT_API/users""#

  /// What the app prints when it registers the same user as the test.
  private func app(in environment: TestEnvironment) async throws -> String {
    let app = shell(Self.registersAnn, in: .environment(environment))
    app.passesArgumentPairs = false
    try await app.launch()
    try await app.wait(for: .exited(0))
    return app.standardOutput
  }

  @Test("is recorded and replayed separately from the app's requests, with the same random values")
  func recorded() async throws {
    let count = Guarded(0)
    // Numbers the users it creates.
    let (server, url) = try serve { request in
      let body = try await request.body.collect(upTo: 1 << 20)
      let id = count.withLock { count in
        count += 1
        return count
      }
      let sent = try? JSONDecoder().decode([String: String].self, from: Data(body))
      let user = #"{"id":\#(id),"email":"\#(sent?["email"] ?? "")","token":"t-\#(id)"}"#
      return Response(
        status: 201, headers: ["Content-Type": "application/json", "X-Number": "\(id)"], body: .bytes(Array(user.utf8)))
    }
    let environment = try await provision(.record, url)
    let api = try environment.client("api")
    let email = try api.strings.email("user")
    let user: Registration = try await api.post("/users", body: ["email": email])
    #expect(user == Registration(id: 1, email: email, token: "t-1"))
    // Another client continues with the next value.
    let other = try environment.client("api").strings.email("user")
    #expect(other != email)
    let ann = try await api.post("/users", body: ["name": "Ann"], expecting: 201)
    #expect(ann.headers["x-number"] == "2")
    let output = try await app(in: environment)
    #expect(output.hasPrefix(#"{"id":3,"#))
    await environment.end()
    await server.stop(grace: .zero)

    let show = TestApplication(executable: "diorama", in: .outside)
    show.launchArguments = ["cassette", "show", folder.file("setup")]
    try await show.launch()
    try await show.wait(for: .exited(0))
    #expect(show.standardOutput.matches(of: /\/users  \(setup\)\n/).count == 2, "\(show.standardOutput)")
    #expect(try folder.read("setup.strings.json").contains("setup▸user"))

    let replay = try await provision(.replay, url)
    let again = try replay.client("api")
    // Before the test's own request, which was recorded first.
    #expect(try await app(in: replay) == output)
    #expect(try again.strings.email("user") == email)
    #expect(try again.strings.email("user") == other)
    let known: Registration = try await again.post("/users", body: ["email": email])
    #expect(known.id == 1)
    #expect(try await again.post("/users", body: ["name": "Ann"]).headers["x-number"] == "2")
    await replay.end()
  }

  private func serve(
    _ answer: @escaping @Sendable (Request) async throws -> Response
  ) throws -> (server: HTTPServer, url: String) {
    struct Handler: RequestHandler {
      let answer: @Sendable (Request) async throws -> Response
      func respond(to request: Request) async throws -> Response { try await answer(request) }
    }
    let server = try HTTPServer(HTTPServer.Configuration())
    return (server, "http://127.0.0.1:\(try server.listen(handler: Handler(answer: answer)).port)")
  }

  @Test("passes results to the app as a credential, a value or an argument")
  func handedOver() async throws {
    let environment = try await TestEnvironment.provision(
      mode: .mock, upstreams: ["api": "https://api.example.com"],
      credentials: [.init(service: "clinic", account: "auth-token", secret: "old")])
    try await environment.stub(.post("/users")) {
      .text(#"{"id":1,"email":"a@example.com","token":"t-1"}"#, type: "application/json")
    }
    let user: Registration = try await environment.client("api").post("/users", body: ["name": "Ann"])
    try environment.add(.init(service: "clinic", account: "auth-token", secret: user.token))
    try environment.add(.init(service: "clinic", account: "pin", group: "shared", secret: "1234"))
    try await environment.update(values: ["user": .init(user.id)])
    // A contract with secrets is in a file.
    let app = shell(#"cat "${DIORAMA_CONTRACT#file:}""#, in: .environment(environment))
    try await app.launch()
    try await app.wait(for: .exited(0))
    let contract = try LaunchContract.read(app.standardOutput, source: "the test")
    let items = contract.credentials?.items ?? []
    #expect(
      items.map {
        "\($0.account) \(String(decoding: Data(base64Encoded: $0.secret.revealed) ?? Data(), as: UTF8.self))"
      }
        == ["auth-token t-1", "pin 1234"])
    #expect(contract.values == ["user": .int(1)])
    await environment.end()
    #expect(throws: DioramaTestingError.self) {
      try environment.add(.init(service: "clinic", account: "pin", secret: "1"))
    }
  }

  @Test("fails with method, path, status and the beginning of the body")
  func refused() async throws {
    let environment = try await TestEnvironment.provision(mode: .mock, upstreams: ["api": "https://api.example.com"])
    try await environment.stub(.any("/users")) { .text("the email is taken", status: 409) }
    let api = try environment.client("api")
    let port = try environment.endpoint("api").port ?? 0
    let conflict = await #expect(throws: DioramaTestingError.self) {
      try await api.post("/users", body: ["email": "a@example.com"])
    }
    #expect(
      conflict?.description
        == "POST /users of upstream 'api' (http://127.0.0.1:\(port)/users): status 409 instead of a status below 400: "
        + "the email is taken")
    #expect(try await api.put("/users", body: [1], expecting: 409).body == Data("the email is taken".utf8))
    let other = await #expect(throws: DioramaTestingError.self) {
      try await api.delete("/users", expecting: 204)
    }
    #expect(other?.description.contains("status 409 instead of 204") == true)
    let shape = await #expect(throws: DioramaTestingError.self) {
      let _: Registration = try await api.get("/users", expecting: 409)
    }
    #expect(shape?.description.contains("the body is not a valid Registration") == true)
    let path = await #expect(throws: DioramaTestingError.self) { try await api.get("users") }
    #expect(path?.kind == .usage)
    let header = await #expect(throws: DioramaTestingError.self) {
      try await api.get("/users", headers: ["X": "a\r\nb"])
    }
    #expect(header?.description == "not a valid header: 'X'")
    #expect(throws: DioramaTestingError.self) { try environment.client("ap") }
    await environment.end()
    let ended = await #expect(throws: DioramaTestingError.self) { try await api.get("/users") }
    #expect(ended?.description.contains("has ended") == true)
  }

  @Test("fails with the reason if there is no response")
  func missing() async throws {
    let environment = try await TestEnvironment.provision(
      mode: .mock, upstreams: ["api": "https://api.example.com"])
    let miss = await #expect(throws: DioramaTestingError.self) {
      try await environment.client("api").get("/users")
    }
    #expect(miss?.description.contains("GET https://api.example.com/users has no stub") == true)
    await withKnownIssue { await environment.end() }
  }
}
