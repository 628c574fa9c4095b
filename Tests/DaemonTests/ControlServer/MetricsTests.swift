import LaunchContract
import HTTPMessages
import TestSupport
import Testing

@testable import Daemon

@Suite("The page of metrics", .timeLimit(.minutes(5)))
struct MetricsTests {
  @Test("counts environments, leases and calls in Prometheus's text format")
  func page() async throws {
    try await withSurface { served in
      _ = try await served.call("GET", "/v1/ports")
      _ = try await served.call("GET", "/nothing")
      let answer = try await served.call("GET", "/metrics")
      #expect(answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
      let lines = answer.text.split(separator: "\n").map(String.init)
      for line in [
        #"diorama_environments{state="ready"} 1"#, #"diorama_environments_ended_total{reason="request"} 2"#,
        #"diorama_control_requests_total{operation="listPorts",status="200"} 1"#,
        #"diorama_control_requests_total{operation="none",status="404"} 1"#, #"diorama_info{version="1.2.3"} 1"#,
      ] {
        #expect(lines.contains(line), "\(line)")
      }
      let sample = try Regex(#"^[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+$"#)
      let comment = try Regex("^# (HELP [a-z_]+ .+|TYPE [a-z_]+ (counter|gauge))$")
      let strange = lines.filter { $0.firstMatch(of: sample) == nil && $0.firstMatch(of: comment) == nil }
      #expect(strange == [])
      #expect(answer.text.hasSuffix("\n"))
    }
  }
}
