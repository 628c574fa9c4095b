import Basics
import Foundation
import HTTPMessages
import HTTPServer
import TestSupport
import Testing

@Suite("diorama cassette diff, check --live, check --openapi", .timeLimit(.minutes(5)))
struct CassetteDriftTests {
  private let folder: Folder

  init() throws { folder = try Folder() }

  /// An upstream with fixed responses to `GET`, which records its requests.
  private final class Backend: Sendable {
    struct Handler: RequestHandler {
      let answers: [String: Response]
      let asked: Guarded<[String]>

      func respond(to request: Request) async throws -> Response {
        asked.withLock { $0.append("\(request.method) \(request.target) \(request.headers["Authorization"] ?? "-")") }
        return answers[request.target] ?? Response(status: 404)
      }
    }

    let url: String
    private let server: HTTPServer
    private let list = Guarded([String]())

    init(_ answers: [String: Response]) throws {
      server = try HTTPServer()
      url = "http://127.0.0.1:\(try server.listen(handler: Handler(answers: answers, asked: list)).port)"
    }

    var asked: [String] { list.withLock { $0 } }

    func stop() async { await server.stop(grace: .seconds(2)) }
  }

  private func json(_ text: String) -> Response {
    Response(status: 200, headers: ["Content-Type": "application/json"], body: .bytes(Array(text.utf8)))
  }

  /// A HAR entry.
  private func entry(_ method: String, _ url: String, _ answer: String, _ headers: String = "") -> String {
    """
    {"startedDateTime": "2018-10-08T09:00:00Z", "time": 1, "request": {"method": "\(method)", "url": "\(url)",
    "headers": [\(headers)]}, "response": {"status": 200, "statusText": "OK",
    "headers": [{"name": "Content-Type", "value": "application/json"}],
    "content": {"mimeType": "application/json", "text": \(quoted(answer))}}}
    """
  }

  private func quoted(_ text: String) -> String { "\"\(text.replacing("\"", with: "\\\""))\"" }

  private func write(_ name: String, upstream: String, _ entries: String...) throws {
    try folder.write(
      """
      {"log": {"version": "1.2", "creator": {"name": "diorama", "version": "1"}, "_diorama": {"format": 1,
      "recordedAt": "2018-10-08T09:00:00Z", "upstreams": {"api": "\(upstream)"}},
      "entries": [\(entries.joined(separator: ","))]}}
      """, to: "\(name).har")
  }

  private func check(_ words: String...) async throws -> Child.Outcome {
    try await Diorama.run(["cassette", "check"] + words)
  }

  @Test("diff exits with 1 if the shape differs, and only counts changed values")
  func diff() async throws {
    let api = "http://127.0.0.1:1"
    try write("old", upstream: api, entry("GET", "\(api)/a", #"{"a": 1, "b": 2}"#), entry("GET", "\(api)/x", "{}"))
    try write("values", upstream: api, entry("GET", "\(api)/a", #"{"a": 2, "b": 3}"#), entry("GET", "\(api)/x", "{}"))
    try write("new", upstream: api, entry("GET", "\(api)/a", #"{"a": "1"}"#), entry("GET", "\(api)/y/z", "{}"))
    let old = folder.file("old")
    let same = try await Diorama.run("cassette", "diff", old, old)
    #expect((same.status, same.text, same.words) == (0, "", ""))
    let values = try await Diorama.run("cassette", "diff", old, folder.file("values"))
    #expect(values.status == 0)
    #expect(values.text == "2 values of 1 interaction changed (--values shows them)\n")
    let shown = try await Diorama.run("cassette", "diff", "--values", old, folder.file("values"))
    #expect(
      shown.text == """
        changed: interaction 0, GET \(api)/a
          value: body $.a: was 1, is 2
          value: body $.b: was 2, is 3

        """)
    let new = try await Diorama.run("cassette", "diff", old, folder.file("new"))
    #expect(new.status == 1)
    #expect(
      new.text == """
        changed: interaction 0, GET \(api)/a
          body $.a: was a number, is a string
          body $.b: gone, was a number
        gone: interaction 1, GET \(api)/x
        added: interaction 1, GET \(api)/y/z

        """)
    let answer = try object(try await Diorama.run("cassette", "diff", "--json", old, folder.file("new")).text)
    #expect(answer["same"] as? Bool == false)
    #expect(
      (answer["interactions"] as? [[String: Any]])?.map { $0["what"] as? String } == ["changed", "gone", "added"])
  }

  @Test("check --live repeats safe requests, reports changes, and writes nothing")
  func live() async throws {
    let backend = try Backend(["/a": json(#"{"a": "1"}"#), "/b": json(#"{"b": 2}"#)])
    let api = backend.url
    try write(
      "booking", upstream: api, entry("GET", "\(api)/a", #"{"a": 1}"#), entry("POST", "\(api)/p", "{}"),
      entry("GET", "\(api)/b", #"{"b": 1}"#), entry("HEAD", "\(api)/a", ""))
    let before = try folder.read("booking.har")
    let outcome = try await check("--live", folder.file("booking"))
    #expect(outcome.status == 1, "\(outcome.words)")
    #expect(
      outcome.text == """
        \(folder.file("booking.har")): 3 requests repeated, 1 changed in shape
        interaction 0, GET \(api)/a
          body $.a: was a number, is a string
        1 value of 1 answer changed (--values shows them)
        interaction 1: POST is not repeated: it may change something

        """)
    #expect(backend.asked == ["GET /a -", "GET /b -", "HEAD /a -"])
    await backend.stop()
    #expect(try folder.read("booking.har") == before)
    #expect(folder.names == ["booking.har"])
  }

  @Test("check --live sends requests to the given upstream with the given credentials")
  func replaced() async throws {
    let backend = try Backend(["/a": json(#"{"self": "http://old.example/a"}"#)])
    try write(
      "booking", upstream: "http://old.example",
      entry(
        "GET", "http://old.example/a", #"{"self": "http://old.example/a"}"#,
        #"{"name": "Authorization", "value": "Bearer <redacted>"}"#))
    let words = ["--live", "--upstream", "api=\(backend.url)", folder.file("booking")]
    let outcome = try await Diorama.run(
      ["cassette", "check", "--header", "api/Authorization=env:CHECK_TOKEN"] + words,
      variables: ["CHECK_TOKEN": "Bearer secret"])
    #expect(outcome.status == 0, "\(outcome.words)")
    #expect(outcome.text == "\(folder.file("booking.har")): 1 request repeated, none changed in shape\n")
    #expect(try await Diorama.run(["cassette", "check"] + words).status == 0)
    #expect(backend.asked == ["GET /a Bearer secret", "GET /a -"])
    await backend.stop()
  }

  @Test(
    "check --live redacts secrets that it sends, that rules name, and in common fields"
  )
  func secret() async throws {
    var answer = json(#"{"echo": "canary-key-1", "token": 5, "a": 1}"#)
    answer.headers.append("X-Echo", "canary-key-1")
    answer.headers.append("Set-Cookie", "sid=canary-2")
    let backend = try Backend(["/a": answer])
    let api = backend.url
    // Recorded before a rule for its tokens existed.
    try write(
      "booking", upstream: api, entry("GET", "\(api)/a", #"{"echo": "<redacted:api/X-Api-Key>", "token": 4, "a": 2}"#))
    try folder.write(#"{"redaction": {"json": ["$.token"]}}"#, to: "diorama.json", mode: 0o600)
    for words in [[], ["--json"]] {
      let outcome = try await Diorama.run(
        [
          "cassette", "check", "--live", "--values", "--upstream", "api=\(api)", "--header",
          "api/X-Api-Key=env:CHECK_KEY", "--config", folder.file("diorama.json"), folder.file("booking"),
        ] + words,
        variables: ["CHECK_KEY": "canary-key-1"])
      #expect(!outcome.text.contains("canary"), "\(outcome.text)")
      #expect(!outcome.text.contains("$.token") && !outcome.text.contains("$.echo"), "\(outcome.text)")
      if words.isEmpty { #expect(outcome.text.contains("value: body $.a: was 2, is 1"), "\(outcome.text)") }
    }
    await backend.stop()
  }

  @Test("doesn't send headers and client certificates to a URL that only the cassette names")
  func secretsOfCassettes() async throws {
    let backend = try Backend(["/a": json("{}")])
    let api = backend.url
    try write("booking", upstream: api, entry("GET", "\(api)/a", "{}"))
    try folder.write("-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n", to: "me.pem", mode: 0o600)
    let advice =
      "would go to \(api), which only the cassette names; name the upstream yourself: --upstream api=\(api)\n"
    let booking = folder.file("booking")
    for (words, what) in [
      (["--header", "api/Authorization=env:CHECK_TOKEN"], "the header Authorization"),
      (["--client-certificate", "api=\(folder.file("me.pem"))"], "the client certificate"),
    ] {
      for command in [
        ["cassette", "check", "--live"] + words + [booking],
        ["run", "--mode", "extend", "--cassette", booking] + words + ["--", "true"],
        ["run", "--rerecord-after", "30", "--cassette", booking] + words + ["--", "true"],
      ] {
        let outcome = try await Diorama.run(command, variables: ["CHECK_TOKEN": "Bearer secret"])
        expectOneLine(outcome, status: 64, naming: "diorama: \(what) \(advice)")
      }
    }
    #expect(backend.asked == [])
    // Without secrets, the cassette's own upstreams are used.
    let plain = try await check("--live", "--insecure", "api", booking)
    #expect(plain.status == 0, "\(plain.words)")
    #expect(backend.asked == ["GET /a -"])
    await backend.stop()
  }

  @Test("check --live exits with 69 and names an unreachable upstream")
  func unreachable() async throws {
    // Nothing listens on port 1.
    let api = "http://127.0.0.1:1"
    try write("booking", upstream: api, entry("GET", "\(api)/a", "{}"), entry("GET", "\(api)/b", "{}"))
    let outcome = try await check("--live", folder.file("booking"))
    #expect(outcome.status == 69)
    #expect(outcome.lines.count == 1)
    #expect(outcome.words.hasPrefix("diorama: upstream api: http://127.0.0.1:1"), "\(outcome.words)")
    let json = try await check("--live", "--json", folder.file("booking"))
    #expect(json.status == 69)
    #expect(json.text.contains("\"same\" : false"))
    #expect(outcome.text.contains("interaction 1: not asked: upstream api could not be reached"), "\(outcome.text)")
  }

  @Test("check --live names requests without a complete response, and sends the others")
  func badAnswers() async throws {
    let backend = try ScriptedUpstream { connection in
      switch try connection.readHead()?.split(separator: " ").dropFirst().first {
      case "/garbage": try connection.write("no HTTP at all\r\n\r\n")
      case "/cut": try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
      default:
        try connection.write(
          "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 7\r\nConnection: close\r\n\r\n{\"a\":1}"
        )
      }
    }
    let api = "\(backend.origin)"
    try write(
      "booking", upstream: api, entry("GET", "\(api)/garbage", "{}"), entry("GET", "\(api)/cut", "{}"),
      entry("GET", "\(api)/b", #"{"b": 1}"#))
    let outcome = try await check("--live", folder.file("booking"))
    #expect(outcome.status == 69)
    #expect(outcome.lines.count == 2)
    #expect(outcome.lines.first?.hasPrefix("diorama: upstream api: GET /garbage: ") == true, "\(outcome.words)")
    #expect(outcome.lines.last?.hasPrefix("diorama: upstream api: GET /cut: ") == true, "\(outcome.words)")
    #expect(outcome.text.contains("1 request repeated, 1 changed in shape"), "\(outcome.text)")
    try await onThread { backend.stop() }
  }

  @Test("check --live times out")
  func timeOut() async throws {
    let silent = try SilentListener()
    try write("booking", upstream: silent.url, entry("GET", "\(silent.url)/a", "{}"))
    let outcome = try await check("--live", "--timeout", "0.2", folder.file("booking"))
    #expect(outcome.status == 69)
    #expect(outcome.lines.count == 1)
    #expect(outcome.words.contains("upstream api"), "\(outcome.words)")
  }

  @Test("check --openapi reports differences from the document, and skipped parts")
  func document() async throws {
    let api = "http://127.0.0.1:1"
    try write("booking", upstream: api, entry("GET", "\(api)/a", #"{"a": 1, "b": 1}"#))
    try folder.write(
      """
      openapi: 3.1.0
      paths:
        /a:
          get:
            responses:
              200:
                content:
                  application/json: {schema: {properties: {a: {type: string}, c: {}}, if: {}}}
      """, to: "api.yaml")
    let document = folder.file("api.yaml")
    let outcome = try await check("--openapi", document, folder.file("booking"))
    let schema = "#/paths/~1a/get/responses/200/content/application~1json/schema"
    #expect(outcome.status == 1, "\(outcome.words)")
    #expect(
      outcome.text == """
        \(folder.file("booking.har")): 1 interaction, 1 not matching \(document)
        interaction 0, GET \(api)/a
          response body /a: is a number, not string, \(schema)/properties/a/type
          response body /b: is not in the document, \(schema)
        not checked: \(schema)/if: `if` is not looked at

        """)
    expectOneLine(
      try await check("--openapi", folder.file("none.yaml"), folder.file("booking")), status: 66, naming: "none.yaml")
    try folder.write("swagger: '2.0'", to: "old.yaml")
    expectOneLine(
      try await check("--openapi", folder.file("old.yaml"), folder.file("booking")), status: 65, naming: "Swagger 2.0")
  }

  @Test(
    "reject invalid arguments in one line",
    arguments: [
      ["check", "--live", "--openapi", "x", "y"], ["check", "--live", "--recover", "y"], ["check", "--values", "y"],
      ["check", "--openapi", "x", "--timeout", "1", "y"], ["check", "--live", "--upstream", "api", "y"],
      ["check", "--live", "--header", "api/X=hunter2", "y"], ["check", "--live", "--timeout", "soon", "y"],
      ["diff", "x"], ["diff", "x", "y", "z"], ["check", "--live"],
    ])
  func usage(_ words: [String]) async throws {
    expectOneLine(try await Diorama.run(["cassette"] + words), status: 64, naming: "--help")
  }
}

/// A socket that accepts connections (in the kernel) and never answers.
private final class SilentListener: Sendable {
  let url: String
  private let descriptor: Int32

  init() throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let port = try withUnsafeMutablePointer(to: &address) { pointer in
      try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        try #require(bind(descriptor, address, length) == 0 && listen(descriptor, 8) == 0)
        try #require(getsockname(descriptor, address, &length) == 0)
        return UnsafeRawPointer(address).load(as: sockaddr_in.self).sin_port
      }
    }
    url = "http://127.0.0.1:\(UInt16(bigEndian: port))"
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }
}
