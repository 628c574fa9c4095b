import LaunchContract
import HTTPMessages
import TestSupport
import Testing

@testable import Daemon

@Suite("Control API request bodies", .timeLimit(.minutes(5)))
struct BodyTests {
  @Test(
    "must have a JSON content type, which a web form can't have",
    arguments: [
      nil, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a", "application/jsonp",
      "application/merge-patch+json", "application/json; charset=latin1", "",
    ])
  func type(type: String?) async throws {
    let answer = try await withControlServer { try await $0.call("POST", "/v1/ports", body: "{}", type: type) }
    #expect(answer.status == 415 && answer.detail.contains("application/json"), "\(answer.head)")
  }

  @Test("may have a charset parameter, or be a merge patch for PATCH")
  func types() async throws {
    try await withControlServer { served in
      for type in [
        "application/json", "Application/JSON", "application/json; charset=UTF-8",
        "application/json ;charset=\"utf-8\"",
      ] {
        #expect(try await served.call("POST", "/v1/ports", body: "{}", type: type).status == 201, "\(type)")
      }
      let patch = try await served.call(
        "PATCH", "/v1/environments/e1", body: #"{"toggles": {"a": null}}"#, type: "application/merge-patch+json")
      #expect(patch.status == 200)
    }
  }

  @Test("are refused beyond the limit, with and without a Content-Length")
  func length() async throws {
    try await withControlServer { served in
      let limit = served.server.bodyLimit
      let fits = "{" + String(repeating: " ", count: limit - 2) + "}"
      #expect(try await served.call("POST", "/v1/ports", body: fits).status == 201)
      let tooLong = try await served.call("POST", "/v1/ports", body: fits + " ")
      #expect(tooLong.status == 413 && tooLong.detail.contains("\(limit)"))
      let chunk = String(limit + 1, radix: 16) + "\r\n" + fits + " \r\n0\r\n\r\n"
      let chunked = try await served.send(
        served.request(
          "POST", "/v1/ports", headers: ["Content-Type: application/json", "Transfer-Encoding: chunked"]) + chunk)
      #expect(chunked.status == 413)
    }
  }

  @Test(
    "are refused with the first problem",
    arguments: [
      ("", "the body is empty; send {}"),
      ("{", "not JSON: line 1, column 2: expected a member's name in quotes, found the end of the text"),
      (
        #"{"count": 1, "colour": 2}"#, "colour: unknown member; the members are count, names, owner, ttlSeconds, hold"
      ),
      (#"{"count": "1"}"#, "count: expected a 64-bit integer, not a string"),
      (#"{"count": 1e99}"#, "count: expected a 64-bit integer, not a number"),
      (#"{"owner": {"pid": 7, "startTime": 1}}"#, "owner.startTime: unknown member; the members are pid"),
    ])
  func details(body: String, detail: String) async throws {
    let answer = try await withControlServer { try await $0.call("POST", "/v1/ports", body: body) }
    #expect(answer.status == 400 && answer.detail == detail, "\(answer.text)")
  }

  @Test("are refused if they are nested too deeply")
  func depth() async throws {
    try await withControlServer { served in
      for depth in [100, 600, 200_000] {
        let value = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let answer = try await served.call("POST", "/v1/environments", body: #"{"toggles": {"a": \#(value)}}"#)
        #expect(answer.status == 400 && !answer.detail.isEmpty, "\(depth): \(answer.text.prefix(300))")
      }
    }
  }

  @Test("that never end don't block other clients")
  func slow() async throws {
    try await withControlServer { served in
      let port = served.port
      let slow = try await onThread { try RawClient(port: port) }
      let head = served.request(
        "POST", "/v1/ports", headers: ["Content-Type: application/json", "Content-Length: 100000"])
      try await onThread { try slow.send(head + "{") }
      #expect(try await served.call("POST", "/v1/ports", body: "{}").status == 201)
      slow.close()
    }
  }
}
