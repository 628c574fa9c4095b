import ControlAPI
import Basics
@testable import Transforms
import Cassettes
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("A HAR written by another tool")
struct ForeignCassetteTests {
  private static func entry(_ url: String, headers: String = "", body: String = "hello") -> String {
    """
    {"startedDateTime": "2020-01-02T03:04:05.678+01:00", "time": 1, "cache": {},
     "request": {"method": "GET", "url": "\(url)", "httpVersion": "HTTP/2", "headers": [], "queryString": [],
       "cookies": [], "headersSize": -1, "bodySize": -1},
     "response": {"status": 200, "statusText": "", "httpVersion": "HTTP/2", "cookies": [], "redirectURL": null,
       "headers": [{"name": "content-type", "value": "text/plain"}\(headers)], "headersSize": -1, "bodySize": -1,
       "content": {"size": 5, "mimeType": "text/plain", "text": "\(body)"}}}
    """
  }

  private static func har(_ entries: [String]) -> String {
    #"{"log": {"version": "1.2", "creator": {"name": "browser", "version": "1"}, "entries": ["#
      + entries.joined(separator: ",") + "]}}"
  }

  @Test("is replayed at one endpoint per origin, at the date of its earliest entry")
  func replays() async throws {
    try await withService { fixture in
      try fixture.write(
        Self.har([
          Self.entry("https://a.test/x?y=1"), Self.entry("http://b.test:8080/z", body: "see https://a.test/x"),
        ]), to: "c.har")
      let report = try await fixture.run(.replay) { environment async throws in
        #expect(environment.upstreams.map(\.origin.description) == ["https://a.test", "http://b.test:8080"])
        #expect(environment.clock.start.flatMap { RFC3339.parse($0) } == RFC3339.parse("2020-01-02T02:04:05.678Z"))
        #expect(try await environment.get("/x?y=1").text == "hello")
        let other = try await environment.get("/z", of: 1)
        #expect(other.text == "see http://127.0.0.1:\(environment.upstreams[0].port)/x")
        #expect(try await ask(environment.mainPort, request("GET", "/a.test/x?y=1")).text == "hello")
      }
      #expect(report.ok)
      #expect(report.unused.isEmpty)
    }
  }

  @Test("is assigned to declared upstreams by origin; other entries are unused, with a note")
  func origins() async throws {
    try await withService { fixture in
      try fixture.write(
        Self.har([Self.entry("https://a.test/x"), Self.entry("https://ads.test/y")]), to: "c.har")
      let environment = try fixture.provision(.replay, ["api": try Origin(parsing: "https://a.test")])
      #expect(environment.notes.count == 1)
      #expect(environment.notes.first?.hasPrefix("1 of 2 interactions") == true)
      #expect(try await environment.get("/x").text == "hello")
      #expect(environment.report().unused.map(\.url) == ["https://ads.test/y"])
    }
  }
}
