import Basics
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import Daemon

@Suite("Control API routing", .timeLimit(.minutes(5)))
struct RoutingTests {
  @Test("finds operations by method and path, and lists the allowed methods")
  func methods() async throws {
    try await withControlServer { served in
      for (target, allow) in [
        ("/v1/environments", "GET, HEAD, POST"), ("/v1/environments/e1", "DELETE, GET, HEAD, PATCH"),
        ("/v1/environments/e1/clock", "POST"), ("/v1/ports/20005", "DELETE"), ("/v1/health", "GET, HEAD"),
      ] {
        let answer = try await served.call("PUT", target, body: "{}")
        #expect(answer.status == 405 && answer.headers["Allow"] == allow, "\(target): \(answer.head)")
        #expect(answer.detail == "use \(allow)")
      }
    }
  }

  @Test(
    "returns 404 for other paths",
    arguments: ["/", "/v1", "/v1/environments/", "/v1/environments/e1/", "/v1//ports", "/V1/ports", "/v1/ports/1/2"])
  func unknown(target: String) async throws {
    let answer = try await withControlServer { try await $0.call("GET", target) }
    #expect(answer.status == 404 && answer.detail.contains("/openapi.json"), "\(answer.head)")
  }

  @Test("decodes percent-encoded paths, and refuses invalid encoding")
  func encoding() async throws {
    try await withControlServer { served in
      for (name, status) in [("%65%31", 200), ("e1%2Fclock", 400), ("%ff", 400)] {
        let answer = try await served.call("GET", "/v1/environments/\(name)")
        #expect(answer.status == status, "\(name)")
      }
    }
  }

  @Test("answers HEAD like GET, without the body")
  func head() async throws {
    let answer = try await withControlServer { try await $0.call("HEAD", "/v1/environments") }
    #expect(answer.status == 200 && answer.body.isEmpty)
  }

  @Test(
    "names an invalid parameter",
    arguments: [
      ("/v1/environments/e1/journal?after=-1", "after: -1 is not between 0 and 9007199254740991"),
      ("/v1/environments/e1/journal?after=+1", "after: expected a 64-bit integer, not a string"),
      ("/v1/environments/e1/journal?limit=0", "limit: 0 is not between 1 and 1000"),
      ("/v1/environments/e1/journal?limit=1&limit=2", "limit: given twice"),
      ("/v1/environments/e1/journal?since=1", "'since' is not a query item; this call takes after and limit"),
      ("/v1/environments?after=1", "'after' is not a query item; this call takes no query"),
      ("/v1/environments/e%0A1", "id: not an id: letters, digits, '.', '_' and '-'"),
    ])
  func parameters(target: String, detail: String) async throws {
    let answer = try await withControlServer { try await $0.call("GET", target) }
    #expect(answer.status == 400 && answer.detail == detail, "\(answer.text)")
  }

  @Test("passes on the manager's errors", arguments: [404, 409, 410, 422, 429, 503, 507])
  func failures(status: Int) async throws {
    let operations = FakeOperations(failure: DaemonError(status, "A title", "a detail; what to do next"))
    let answer = try await withControlServer(operations) { try await $0.call("GET", "/v1/environments/e1/report") }
    #expect(answer.status == status && answer.detail == "a detail; what to do next")
    #expect(answer.json["title"]?.string == "A title" && answer.json["status"]?.int == status)
  }

  @Test("refuses calls once the daemon is stopping, except health")
  func closing() async throws {
    try await withControlServer { served in
      served.server.close()
      let answer = try await served.call("GET", "/v1/environments")
      #expect(answer.status == 503 && answer.headers["Retry-After"] == "1")
      #expect(try await served.call("GET", "/v1/health").status == 200)
    }
  }
}

@Suite("Metrics", .timeLimit(.minutes(5)))
struct MetricsTests {
  @Test("counts environments, leases and calls in Prometheus's text format")
  func page() async throws {
    try await withControlServer { served in
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
