import LaunchContract
import HTTPMessages
import TestSupport
import Testing

@testable import Daemon

@Suite("A route of the control API", .timeLimit(.minutes(5)))
struct RoutingTests {
  @Test("is told by method and path; another method is told which there are")
  func methods() async throws {
    try await withSurface { served in
      for (target, allow) in [
        ("/v1/environments", "GET, HEAD, POST"), ("/v1/environments/e1", "DELETE, GET, HEAD, PATCH"),
        ("/v1/environments/e1/clock", "POST"), ("/v1/ports/20005", "DELETE"), ("/v1/health", "GET, HEAD"),
      ] {
        let answer = try await served.call("PUT", target, body: "{}")
        #expect(answer.status == 405 && answer.headers["Allow"] == allow, "\(target): \(answer.head)")
        #expect(answer.detail == "this path takes \(allow)")
      }
    }
  }

  @Test(
    "is not there under another path",
    arguments: ["/", "/v1", "/v1/environments/", "/v1/environments/e1/", "/v1//ports", "/V1/ports", "/v1/ports/1/2"])
  func unknown(target: String) async throws {
    let answer = try await withSurface { try await $0.call("GET", target) }
    #expect(answer.status == 404 && answer.detail.contains("/openapi.json"), "\(answer.head)")
  }

  @Test("takes a path's percent-encoding for what it stands for, and refuses one that is broken")
  func encoding() async throws {
    try await withSurface { served in
      for (name, status) in [("%65%31", 200), ("e1%2Fclock", 400), ("%ff", 400)] {
        let answer = try await served.call("GET", "/v1/environments/\(name)")
        #expect(answer.status == status, "\(name)")
      }
    }
  }

  @Test("answers HEAD as GET, without the body")
  func head() async throws {
    let answer = try await withSurface { try await $0.call("HEAD", "/v1/environments") }
    #expect(answer.status == 200 && answer.body.isEmpty)
  }

  @Test(
    "refuses a parameter that does not fit, by name",
    arguments: [
      ("/v1/environments/e1/journal?after=-1", "after: -1 is not from 0 to 9007199254740991"),
      ("/v1/environments/e1/journal?after=+1", "after: it is a string, not a whole number of 64 bits"),
      ("/v1/environments/e1/journal?limit=0", "limit: 0 is not from 1 to 1000"),
      ("/v1/environments/e1/journal?limit=1&limit=2", "limit: it is there twice"),
      ("/v1/environments/e1/journal?since=1", "'since' is not known; there is after and limit"),
      ("/v1/environments?after=1", "'after' is not known; this call takes no query"),
      ("/v1/environments/e%0A1", "id: it is not an id: letters, digits, '.', '_' and '-'"),
    ])
  func parameters(target: String, detail: String) async throws {
    let answer = try await withSurface { try await $0.call("GET", target) }
    #expect(answer.status == 400 && answer.detail == detail, "\(answer.text)")
  }

  @Test("passes on what the host says of a failure", arguments: [404, 409, 410, 422, 429, 503, 507])
  func failures(status: Int) async throws {
    let operations = FakeOperations(failure: DaemonError(status, "A title", "a detail; what to do next"))
    let answer = try await withSurface(operations) { try await $0.call("GET", "/v1/environments/e1/report") }
    #expect(answer.status == status && answer.detail == "a detail; what to do next")
    #expect(answer.json["title"]?.string == "A title" && answer.json["status"]?.int == status)
  }

  @Test("is closed once the daemon ends; that it is there is still told")
  func closing() async throws {
    try await withSurface { served in
      served.server.close()
      let answer = try await served.call("GET", "/v1/environments")
      #expect(answer.status == 503 && answer.headers["Retry-After"] == "1")
      #expect(try await served.call("GET", "/v1/health").status == 200)
    }
  }
}
