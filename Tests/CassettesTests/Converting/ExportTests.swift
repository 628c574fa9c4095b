import Basics
@testable import CassetteConversion
import HTTPMessages
import LaunchContract
import Testing

@testable import Cassettes

@Suite("Exporting")
struct ExportTests {
  private let origin = Origin(scheme: "https", host: "api.example.com", port: 443)

  private func interaction(
    _ method: String = "GET", _ target: String = "/a", type: String? = nil, body: String = "",
    answer: RecordedBody = .bytes(Array("ok".utf8)), headers: Headers = [:], status: Int = 200
  ) -> Interaction {
    Interaction(
      upstream: "api", startedAt: "2018-10-08T09:00:00Z", milliseconds: 1,
      request: RecordedRequest(
        method: method, url: "https://api.example.com\(target)", headers: type.map { ["Content-Type": $0] } ?? [:],
        body: .bytes(Array(body.utf8))),
      response: RecordedResponse(status: status, reason: "", headers: headers, body: answer))
  }

  private func stubs(_ interactions: Interaction...) throws -> ([JSON], [String]) {
    let (file, losses) = WireMockExport.write(
      interactions.enumerated().map { ($0.offset, $0.element) }, origin: origin)
    return (
      try JSON.parse(file)["mappings"]?.array ?? [], losses.map { $0.line(("interaction", "interactions")) }
    )
  }

  @Test("writes a strictly valid HAR without our own members, which reads back byte for byte")
  func har() throws {
    let all: [UInt8] = Array(0...255)
    var odd = interaction("POST", "/b", type: "application/octet-stream", answer: .bytes(all))
    odd.request.body = .bytes(all)
    let latin = interaction(
      "POST", "/c", type: "text/plain; charset=iso-8859-1", body: "\u{E9}", answer: .bytes(Array("\u{E9}".utf8)),
      headers: ["Content-Type": "text/html; charset=iso-8859-1"])
    var broken = interaction(answer: .bytes([0x1F, 0x8B, 1]), headers: ["Content-Encoding": "gzip"])
    broken.response.isBodyAsSent = true
    let (file, losses) = HARExport.write([interaction(), odd, latin, broken])
    let document = try JSON.parse(file)
    #expect(HARRules.breaches(of: document) == [])
    #expect(document["log"]?["_diorama"] == nil)
    #expect(document["log"]?["entries"]?.array?.allSatisfy { $0["_diorama"] == nil } == true)
    let back = try HAR.read(file, name: "out.har").interactions
    #expect(back[1].request.body == .bytes(all) && back[1].response.body == .bytes(all))
    #expect(back[2].response.body == .bytes(Array("\u{E9}".utf8)))
    #expect(back[3].response.isBodyAsSent)
    #expect(
      losses.map { $0.line(("interaction", "interactions")) } == [
        "interaction 1: its request's body is no text: it is in Base64, which only a field of ours says",
        "interaction 2: its request's body is not in the charset that it names: readers may take it for other bytes",
        "interaction 3: its body could not be decoded: it is as it was on the wire, which only a field of ours says",
      ])
  }

  @Test("lists what other tools' formats lack of a cassette's header and strings")
  func headers() {
    let header = CassetteHeader(
      recordedAt: "2018-10-08T09:00:00Z", timeZone: "Europe/London", locale: "en_GB", seed: "s",
      upstreams: [.init(name: "api", origin: origin)])
    let common = [
      "the time zone (Europe/London) has no place in", "the locale (en_GB) has no place in",
      "the seed (s) has no place in", "2 recorded strings have no place in",
    ]
    #expect(
      HARExport.losses(of: header, strings: 2).map(\.text)
        == common.map { "\($0) HAR" } + ["the names of the upstreams (api) have no place in HAR"])
    #expect(
      WireMockExport.losses(of: header, strings: 2).map(\.text)
        == common.map { "\($0) WireMock" } + [
          "the recording date (2018-10-08T09:00:00Z) and all times have no place in WireMock"
        ])
  }

  @Test("writes a stub mapping: target as sent, status, repeated headers, readable body")
  func mapping() throws {
    var recorded = interaction(
      "GET", "/a%7Eb?x=1", headers: ["Set-Cookie": "a=1", "X-Y": "z", "set-cookie": "b=2", "Content-Length": "2"])
    recorded.response.reason = "Fine"
    let (mappings, losses) = try stubs(recorded)
    #expect(losses == [])
    #expect(
      mappings == [
        try JSON.parse(
          Array(
            """
            {"request": {"method": "GET", "url": "/a%7Eb?x=1"},
             "response": {"status": 200, "statusMessage": "Fine",
               "headers": {"Set-Cookie": ["a=1", "b=2"], "X-Y": "z"}, "body": "ok"}}
            """.utf8))
      ])
  }

  @Test(
    "matches a body as Diorama would, or byte for byte",
    arguments: [
      ("application/json", "{\"a\": 1.0}", "equalToJson", "{\"a\": 1.0}"), ("text/plain", "plain", "equalTo", "plain"),
      ("application/json", "{broken", "equalTo", "{broken"), ("text/plain", "\u{E9}", "binaryEqualTo", "w6k="),
    ])
  func bodies(type: String, body: String, pattern: String, value: String) throws {
    let (mappings, _) = try stubs(interaction("POST", type: type, body: body))
    let patterns = mappings[0]["request"]?["bodyPatterns"]?.array
    #expect(patterns == [.object([.init(pattern, .string(value))])])
  }

  @Test("requires no body if none was recorded, since WireMock would accept any")
  func noBody() throws {
    let (mappings, _) = try stubs(interaction("POST"), interaction("GET"))
    #expect(mappings[0]["request"]?["bodyPatterns"] == .array([.object([.init("absent", .bool(true))])]))
    #expect(mappings[1]["request"]?["bodyPatterns"] == nil)
  }

  @Test("exports repeats of a request as a scenario")
  func repeats() throws {
    let (mappings, _) = try stubs(interaction(), interaction("GET", "/b"), interaction(), interaction())
    #expect(mappings.map { $0["scenarioName"]?.string } == ["interaction 0", nil, "interaction 0", "interaction 0"])
    #expect(mappings.map { $0["requiredScenarioState"]?.string } == ["Started", nil, "answer 2", "answer 3"])
    #expect(mappings.map { $0["newScenarioState"]?.string } == ["answer 2", nil, "answer 3", nil])
  }

  @Test("lists what WireMock does differently")
  func differences() throws {
    let (_, losses) = try stubs(
      interaction("GET", "/a?x=1&y=2", headers: ["Content-Encoding": "gzip"]),
      interaction("POST", type: "application/x-www-form-urlencoded", body: "a=1"),
      interaction(answer: .bytes(Array("see https://api.example.com/x".utf8))),
      interaction(headers: ["Location": "https://api.example.com/y"], status: 302),
      interaction("HEAD", answer: .empty, headers: ["Content-Length": "5"]))
    #expect(
      losses == [
        "interaction 0: its query items are matched in recorded order only",
        "interaction 1: its form is matched byte for byte",
        "interaction 0: Content-Encoding (gzip) is left out: the body is stored decoded",
        "interactions 2-3: its answer names https://api.example.com, which WireMock does not turn into its own address",
        "interaction 4: Content-Length of an answer without a body is left out",
      ])
  }

  @Test("leaves WebSockets out of a WireMock export, with a message")
  func webSockets() throws {
    var webSocket = interaction("WEBSOCKET", "/chat", status: 101)
    webSocket.webSocket = [WebSocketFrame(isFromApp: true, time: 0, message: WebSocketMessage(.text, Array("a".utf8)))]
    let (mappings, losses) = try stubs(webSocket)
    #expect(mappings == [])
    #expect(losses.count == 1)
  }
}
