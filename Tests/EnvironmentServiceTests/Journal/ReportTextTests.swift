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

  private func report(_ unmatched: [Report.Unmatched] = [], failures: [String] = []) -> Report {
    Report(
      environment: .init(id: "e", name: "e"), mode: "replay", cassette: "/c.har", recordedAt: nil,
      clock: .init(kind: "system", start: nil, now: "2018-10-08T09:00:00Z"), requests: .init(), unmatched: unmatched,
      unused: [], strings: .init(), toggles: .init(), durationSeconds: 0.5, failures: failures,
      ok: unmatched.isEmpty && failures.isEmpty)
  }

  private static func missed(_ path: String, near: [(method: String, path: String)] = []) -> Report.Unmatched {
    .init(
      method: "GET", url: "https://a.test\(path)",
      nearest: near.enumerated().map {
        .init(index: $0, method: $1.method, url: "https://a.test\($1.path)", differences: ["d\($0)"], rules: nil)
      }, fix: .init(interaction: nil, causes: [], advice: "", isRecordable: true))
  }

  @Test("is one line for output without a report")
  func failure() {
    #expect(ReportText(report()).failure == nil)
    let first = "replay failed: not recorded: GET https://a.test/x"
    #expect(ReportText(report([Self.missed("/x")])).failure == first)
    #expect(ReportText(report([Self.missed("/x"), Self.missed("/y")])).failure == first + " (and 1 more)")
    #expect(ReportText(report(failures: ["too slow"])).failure == "replay failed: too slow")
  }

  @Test("shows a second interaction only if its method and path are those of the request")
  func nearest() {
    let same = Self.missed("/x?a=1", near: [("GET", "/x?a=2"), ("GET", "/x?a=3")])
    #expect(ReportText(report([same])).lines().filter { $0.contains("nearest:") }.count == 2)
    for other in [("GET", "/y"), ("POST", "/x?a=2")] {
      let lines = ReportText(report([Self.missed("/x?a=1", near: [("GET", "/x?a=2"), other])])).lines()
      #expect(lines.filter { $0.contains("nearest:") }.count == 1 && !lines.contains("    d1"), "\(lines)")
    }
  }

  @Test("shows the time of a clock that was moved, and the rate of a scaled one")
  func clock() {
    var report = report()
    report.clock = .init(kind: "scaled", start: "2018-10-08T09:00:00Z", now: "2019-01-01T00:00:00Z", rate: 60)
    #expect(ReportText(report).lines()[0].contains("clock scaled:60 at 2019-01-01T00:00:00Z"))
  }

  @Test("names the option that refuses a host which the recording does not have, if the command is isolated")
  func deny() {
    let unknown = Self.missed("/x")
    let known = Self.missed("/y", near: [("GET", "/x")])
    var report = report([unknown])
    #expect(!ReportText(report).lines().contains { $0.contains("--deny") })
    report.isolation = .init(kind: "namespaces")
    #expect(ReportText(report).lines().contains("or refuse hosts that the command does not need: --deny a.test"))
    report.unmatched = [known]
    #expect(!ReportText(report).lines().contains { $0.contains("--deny") })
  }

  @Test("says that the command failed whose recording became the cassette")
  func replaced() {
    var report = report()
    report.mode = "record"
    report.recording = .init(written: 1)
    for (status, text) in [(4, "interaction, although the command failed with status 4, "), (0, "interaction, 0.50 s")]
    {
      report.commandStatus = Int32(status)
      #expect(ReportText(report).lines()[0].contains(text))
    }
  }
}
