@testable import CassetteChecks
import HTTPMessages
import Testing

@testable import Cassettes

@Suite("Live requests and their drift")
struct LiveTests {
  private func finding(_ recording: Recording, _ question: Int = 0, _ live: Answer) throws -> LiveFinding {
    let questions = try LiveQuestions(recording).questions
    return try LiveFinding(live, to: questions[question], in: recording, known: KnownShapes(recording))
  }

  @Test("repeats only safe methods, each request once")
  func questions() throws {
    let recording = Recording.of(
      .call("GET", "/a", "{}"), .call("POST", "/a", sends: "{}"), .call("GET", "/a", "{}"), .call("HEAD", "/a"),
      .call("OPTIONS", "/a"), .call("DELETE", "/a"), .call("GET", "/b?k=%3Credacted%3E", "{}"),
      .call("GET", "/c", status: 304), .call("get", "/d"))
    let questions = try LiveQuestions(recording)
    #expect(questions.questions.map(\.interactions) == [[0, 2], [3], [4]])
    let left: [LiveQuestions.Left] = [
      .init(interactions: [1], reason: "POST is not repeated: it may change something"),
      .init(interactions: [5], reason: "DELETE is not repeated: it may change something"),
      .init(interactions: [6], reason: "a part of the URL is redacted"),
      .init(interactions: [7], reason: "304 says nothing of what there is"),
      .init(interactions: [8], reason: "get is not repeated: it may change something"),
    ]
    #expect(questions.left == left)
  }

  @Test("reports a WebSocket as skipped")
  func webSocket() throws {
    var socket = Interaction.call("WEBSOCKET", "/news", status: 101)
    socket.webSocket = []
    let questions = try LiveQuestions(Recording.of(socket))
    #expect(questions.questions.isEmpty)
    #expect(questions.left == [.init(interactions: [0], reason: "a WebSocket is not repeated")])
  }

  @Test("sends the recorded headers without conditions, connection headers, redacted ones and unknown codings")
  func headers() throws {
    let headers: Headers = [
      "Host": "dev.api1.com", "Accept": "*/*", "If-None-Match": "\"x\"", "Connection": "keep-alive, X-Hop",
      "X-Hop": "1", "Authorization": "Bearer <redacted>", "X-Key": "<redacted:clinic/token>",
      "Accept-Encoding": "zstd, br, gzip", ":authority": "x",
    ]
    let recording = Recording.of(.call("GET", "/a").asked(with: headers))
    let plain = try #require(try LiveQuestions(recording).questions.first)
    #expect(plain.request.headers == ["Accept": "*/*", "Accept-Encoding": "gzip, br"])
    #expect(plain.redacted == ["Authorization", "X-Key"])
    let own = try LiveQuestions(
      recording,
      replacing: [
        .init(backend: "api", name: "authorization", value: "Bearer x"), .init(backend: "b", name: "X-Key", value: "y"),
      ])
    #expect(own.questions.first?.request.headers["Authorization"] == "Bearer x")
    #expect(own.questions.first?.redacted == ["X-Key"])
  }

  @Test("compares with the recording that is nearest to the response")
  func nearest() throws {
    let recording = Recording.of(
      .call("GET", "/a", status: 404, #"{"title":"x"}"#), .call("POST", "/a", sends: "{}"),
      .call("GET", "/a", #"{"n":1}"#), .call("GET", "/a", #"{"n":2}"#))
    #expect(try finding(recording, 0, .json(#"{"n":2}"#)).interaction == 3)
    #expect(try finding(recording, 0, .json(#"{"title":"x"}"#, status: 404)).changes.isEmpty)
  }

  @Test("reports a changed state, not drift, if an earlier request has created the resource")
  func state() throws {
    let recording = Recording.of(
      .call("POST", "/v1/users", sends: "{}", status: 201, #"{"id":"8c3f0a1b2c","token":"t0k3n-of-ann"}"#),
      .call("POST", "/v1/appointments", sends: "{}", status: 303, "", ["Location": "/v1/appointments/17"]),
      .call("GET", "/v1/appointments/17", #"{"a":1,"b":1}"#), .call("GET", "/v1/clinics", #"{"a":1,"b":1}"#),
      .call("GET", "/v1/me", #"{"a":1}"#).asked(with: ["Authorization": "Bearer t0k3n-of-ann"]),
      .call("GET", "/v1/people/8c3f0a1b2c", #"{"a":1}"#))
    let appointment = try finding(recording, 0, .json("{}", status: 404))
    #expect(appointment.changes.shape == [])
    #expect(appointment.doubtful.map(\.description) == ["status: was 200, is 404"])
    #expect(appointment.after == 1)
    let fields = try finding(recording, 0, .json(#"{"a":"1","c":1}"#))
    #expect(fields.changes.lines == ["body $.a: was a number, is a string"])
    #expect(fields.doubtful.map(\.description) == ["body $.b: gone, was a number", "body $.c: new, a number"])
    #expect(try finding(recording, 0, .json("{}", status: 500)).changes.lines == ["status: was 200, is 500"])
    let clinics = try finding(recording, 1, .json(#"{"a":1}"#))
    #expect(clinics.changes.lines == ["body $.b: gone, was a number"])
    #expect(clinics.after == nil)
    let me = try finding(recording, 2, .json("{}", status: 401))
    #expect(me.after == 0)
    #expect(try finding(recording, 2, .json("{}")).changes.lines == ["body $.a: gone, was a number"])
    #expect(
      me.hint == "the recorded Authorization may be out of date; give one with --header api/Authorization=env:VAR")
    #expect(try finding(recording, 3, .json("{}", status: 404)).after == 0)
  }

  @Test("does not assume a state change by a request that was refused, safe, or for another upstream")
  func noState() throws {
    var other = Interaction.call("POST", "/a", sends: "{}")
    other.upstream = "other"
    let recording = Recording.of(
      .call("POST", "/a", sends: "{}", status: 409), .call("GET", "/a/b", "{}"), other, .call("GET", "/a", #"{"n":1}"#))
    #expect(try finding(recording, 1, .json("{}", status: 404)).changes.lines == ["status: was 200, is 404"])
  }

  @Test("reports that a redacted credential was not sent")
  func redacted() throws {
    let recording = Recording.of(.call("GET", "/a", "{}").asked(with: ["Cookie": "s=<redacted>"]))
    let finding = try finding(recording, 0, .json("{}", status: 401))
    #expect(finding.changes.lines == ["status: was 200, is 401"])
    #expect(finding.hint == "the recorded Cookie is redacted; give one with --header api/Cookie=env:VAR")
  }
}
