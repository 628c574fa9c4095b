import Cassettes
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("The report as a text")
struct ReportTextTests {
  @Test("tells apart in a difference what was recorded and what came, and is the same text without colours")
  func differences() async throws {
    let upstream = try numbered()
    try await withWorld(upstream) { world in
      try await world.record(["api": upstream.origin]) { environment async throws in
        _ = try await environment.get("/a?page=1&x=a,%20got%20b")
      }
      let report = try await world.run(.replay) { environment async throws in
        for query in ["page=2&x=a,%20got%20b", "x=a,%20got%20b", "page=1&x=a,%20got%20b&more=1"] {
          #expect(try await environment.get("/a?\(query)").status == 501)
        }
      }
      let lines = ReportText(report).lines { "<\($1) \($0)>" }
      for line in [
        "    query item `page`: <good recorded `1`>, <bad got `2`>",
        "    query item `page`: <good recorded `1`>, <bad missing in the request>",
        "    query item `more`: not recorded, <bad got `1`>",
      ] { #expect(lines.contains(line), "\(lines.joined(separator: "\n"))") }
      #expect(ReportText(report).lines { text, _ in text } == ReportText(report).lines())
      #expect(ReportText(report).lines().contains("    query item `page`: recorded `1`, got `2`"))
    }
  }
}
