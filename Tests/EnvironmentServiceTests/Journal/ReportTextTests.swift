import ControlAPI
import Basics
import Cassettes
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("The report as text")
struct ReportTextTests {
  @Test("styles both sides of a difference, and has the same text without colors")
  func differences() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        _ = try await environment.get("/a?page=1&x=a,%20got%20b")
      }
      let report = try await fixture.run(.replay) { environment async throws in
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

  @Test("has no control characters except styles, and neither has an error")
  func terminals() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let text = "\u{1B}[31m\u{9B}\u{202E}"
      try fixture.writeCassette(url: "\(upstream.origin)/\\u001b\\r\\n\\u009b\\u202e\\u2028", text: "x")
      let report = try await fixture.run(.replay) { environment async throws in
        #expect(try await environment.get("/a?\u{9B}\u{202E}=%1B").status == 501)
        environment.fail("failed\r\n\(text)")
      }
      let lines = ReportText(report).lines { "<\($1) \($0)>" }
      let all = lines.joined(separator: "\n")
      #expect(lines.contains("<bad failed\\r\\n\\u{1b}[31m\\u{9b}\\u{202e}>"), "\(all)")
      #expect(
        lines.contains(#"<doubtful unused: interaction 0, GET \#(upstream.origin)/\u{1b}\r\n\u{9b}\u{202e}\u{2028}>"#),
        "\(all)")
      #expect(lines.contains(#"<bad not recorded: GET \#(upstream.origin)/a?\u{9b}\u{202e}=%1B>"#), "\(all)")
      #expect(!all.unicodeScalars.contains { $0 == "\u{1B}" || $0 == "\r" || $0 == "\u{9B}" || $0 == "\u{202E}" })
      let error = CodedError(.broken, "no\r\n\(text)")
      #expect(error.message == #"no\r\n\u{1b}[31m\u{9b}\u{202e}"#)
    }
  }
}
