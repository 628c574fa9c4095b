import ControlAPI
import Basics
import Cassettes
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Toggles as OFREP flags")
struct FlagTests {
  private static let toggles: [String: JSON] = [
    "on": .bool(true), "off": .bool(false), "count": .int(10), "rate": .double(10), "half": .double(0.5),
    "text": .string("a\"b"), "list": .array([.int(1)]), "deep": .object(["a": .double(2)]), "none": .null,
    "a key/with %20": .bool(true), "naïve": .int(1), "100%": .bool(true),
  ]

  private func withFlags(_ body: (Environment) async throws -> Void) async throws {
    try await withService { fixture in try await body(try fixture.provision(.mock) { $0.toggles = Self.toggles }) }
  }

  @Test(
    "have a value of the right type, a variant, and the reason STATIC",
    arguments: [
      ("on", "true", "on"), ("off", "false", "off"), ("count", "10", "value"), ("rate", "10.0", "value"),
      ("half", "0.5", "value"), ("text", #""a\"b""#, "value"), ("list", "[1]", "value"),
      ("deep", #"{"a":2.0}"#, "value"),
    ])
  func one(key: String, value: String, variant: String) async throws {
    try await withFlags { environment in
      let answer = try await environment.flags("/\(key)")
      #expect(answer.status == 200)
      #expect(answer.headers["Content-Type"] == "application/json")
      #expect(answer.text == #"{"key":"\#(key)","reason":"STATIC","value":\#(value),"variant":"\#(variant)"}"#)
      #expect(environment.report().toggles.read == [key: Self.toggles[key] ?? .null])
    }
  }

  @Test(
    "refuse content types that a page can send without a preflight request",
    arguments: ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a", nil])
  func types(type: String?) async throws {
    try await withFlags { environment in
      var headers: Headers = ["Host": "127.0.0.1:\(environment.mainPort)"]
      if let type { headers.append("Content-Type", type) }
      let target = "/__diorama/ofrep/v1/evaluate/flags/on"
      let answer = try await ask(environment.mainPort, request("POST", target, headers, "{}"))
      #expect(answer.status == 415)
      #expect(environment.report().toggles.read.isEmpty)
    }
  }

  @Test(
    "are found by keys percent-encoded or not",
    arguments: [
      ("a%20key%2Fwith%20%2520", "a key/with %20"), ("a%20key/with%20%2520", "a key/with %20"),
      ("na%C3%AFve", "naïve"), ("100%25", "100%"), ("100%", "100%"), ("%6Fn", "on"), ("on?x=1", "on"),
    ])
  func keys(sent: String, key: String) async throws {
    try await withFlags { environment in
      let answer = try await environment.flags("/\(sent)")
      #expect(answer.status == 200, "\(answer.text)")
      #expect(try answer.json["key"]?.string == key)
    }
  }

  @Test("that do not exist, or have no value, are FLAG_NOT_FOUND", arguments: ["nothing", "none", "", "on/"])
  func missing(key: String) async throws {
    try await withFlags { environment in
      let answer = try await environment.flags("/\(key)")
      #expect(answer.status == 404)
      #expect(try answer.json["errorCode"]?.string == "FLAG_NOT_FOUND")
      #expect(try answer.json["key"]?.string == key)
      #expect(try answer.json["errorDetails"]?.string?.isEmpty == false)
      #expect(environment.report().toggles.read == [:])
    }
  }

  @Test("are returned all at once with an ETag, then 304 as long as none has changed")
  func bulk() async throws {
    try await withFlags { environment in
      let answer = try await environment.flags("")
      #expect(answer.status == 200)
      let flags = try #require(try answer.json["flags"]?.array)
      #expect(flags.compactMap { $0["key"]?.string } == Self.toggles.keys.filter { $0 != "none" }.sorted())
      #expect(flags.allSatisfy { $0["reason"]?.string == "STATIC" && $0["variant"]?.string != nil })
      #expect(answer.text.contains(#""value":10.0"#))
      let tag = try #require(answer.headers["ETag"])
      for known in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
        let again = try await environment.flags("", ["If-None-Match": known])
        #expect(again.status == 304)
        #expect(again.headers["ETag"] == tag)
        #expect(again.body.isEmpty)
      }
      #expect(try await environment.flags("", ["If-None-Match": "\"x\""]).status == 200)
      try await environment.update(toggles: ["on": .bool(false)], timeout: .zero)
      let changed = try await environment.flags("", ["If-None-Match": tag])
      #expect(changed.status == 200)
      #expect(changed.headers["ETag"] != tag)
    }
  }

  @Test("count as read if requested by key, not if all are loaded at once")
  func reading() async throws {
    try await withFlags { environment async throws in
      #expect(try await environment.flags("").status == 200)
      #expect(environment.report().toggles.read == [:])
      #expect(environment.report().toggles.unread == Self.toggles.keys.sorted())
      #expect(try await environment.flags("/on").status == 200)
      #expect(environment.report().toggles.read == ["on": .bool(true)])
      #expect(environment.report().toggles.unread == Self.toggles.keys.filter { $0 != "on" }.sorted())
    }
  }

  @Test(
    "accept any context",
    arguments: ["", "{}", #"{"context": {}}"#, #"{"context": {"targetingKey": "u", "n": 1}, "x": 1}"#])
  func contexts(body: String) async throws {
    try await withFlags { environment async throws in
      #expect(try await environment.flags("/on", body: body).status == 200)
      #expect(try await environment.flags("", body: body).status == 200)
    }
  }

  @Test(
    "refuse invalid request bodies",
    arguments: [
      ("{", "PARSE_ERROR"), ("[]", "PARSE_ERROR"), ("\u{0}", "PARSE_ERROR"), (#"{"context": []}"#, "INVALID_CONTEXT"),
      (#"{"context": "u"}"#, "INVALID_CONTEXT"), (#"{"context": {"targetingKey": 1}}"#, "INVALID_CONTEXT"),
    ])
  func broken(body: String, code: String) async throws {
    try await withFlags { environment in
      for path in ["/on", ""] {
        let answer = try await environment.flags(path, body: body)
        #expect(answer.status == 400)
        #expect(try answer.json["errorCode"]?.string == code)
        #expect(try answer.json["key"]?.string == (path.isEmpty ? nil : "on"))
        #expect(try answer.json["errorDetails"]?.string?.isEmpty == false)
      }
      #expect(environment.report().toggles.read == [:])
    }
  }

  @Test("are evaluated by POST only, and refuse an endless body")
  func limits() async throws {
    try await withFlags { environment in
      let host: Headers = ["Host": "127.0.0.1:\(environment.mainPort)"]
      let answer = try await ask(environment.mainPort, request("GET", "/__diorama/ofrep/v1/evaluate/flags/on", host))
      #expect(answer.status == 405)
      #expect(answer.headers["Allow"] == "POST")
      #expect(try await environment.flags("/on", body: String(repeating: " ", count: 2 << 20)).status == 413)
    }
  }
}

extension Environment {
  /// Sends a request like a provider: without a token.
  func flags(_ path: String, _ headers: Headers = [:], body: String = "{}") async throws -> RawClient.Answer {
    var headers = headers
    headers.append("Host", "127.0.0.1:\(mainPort)")
    headers.append("Content-Type", "application/json")
    return try await ask(
      mainPort, request("POST", "/__diorama/ofrep/v1/evaluate/flags" + path, headers, body))
  }
}
