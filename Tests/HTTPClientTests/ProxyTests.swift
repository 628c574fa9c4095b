import Basics
import Foundation
import HTTPMessages
import TestSupport
import Testing
@testable import HTTPClient

@Suite("Proxies", .timeLimit(.minutes(5)))
struct ProxyTests {
  /// The first head that a proxy receives, and the result of the request.
  private func ask(
    _ url: String, _ variables: (String) -> [String: String], headers: Headers = [:], answer: String = ok("by proxy")
  ) async throws -> (head: String?, result: Result<Response, any Error>) {
    let heads = Guarded<String?>(nil)
    let proxy = try ScriptedUpstream { connection in
      heads.withLock { $0 = nil }
      guard let head = try connection.readHead() else { return }
      heads.withLock { $0 = head }
      try connection.write(answer)
    }
    defer { proxy.stop() }
    let client = try HTTPClient(.init(environment: variables(proxy.origin.authority)))
    let result: Result<Response, any Error>
    do {
      let request = Request(method: "GET", target: "/a%7Eb/../c?x=1", headers: headers)
      result = .success(try await client.send(request, to: Origin(parsing: url)))
    } catch {
      result = .failure(error)
    }
    return (heads.withLock { $0 }, result)
  }

  @Test(
    "get the absolute form and nothing else",
    arguments: [
      { ["http_proxy": $0] }, { ["http_proxy": "http://\($0)/", "no_proxy": "api2.test"] }, { ["all_proxy": $0] },
      { ["ALL_PROXY": $0] },
    ] as [@Sendable (String) -> [String: String]])
  func absoluteForm(variables: @Sendable (String) -> [String: String]) async throws {
    let (head, result) = try await ask("http://api.test:8080", variables, headers: ["X-A": "1"])
    #expect(head == "GET http://api.test:8080/a%7Eb/../c?x=1 HTTP/1.1\r\nHost: api.test:8080\r\nX-A: 1\r\n\r\n")
    #expect(try await result.get().body.collect(upTo: 99) == [UInt8]("by proxy".utf8))
  }

  @Test("get their credentials from the variable")
  func credentials() async throws {
    let (head, _) = try await ask("http://api.test", { ["http_proxy": "http://me:secret@\($0)"] })
    #expect(head?.contains("Proxy-Authorization: Basic bWU6c2VjcmV0\r\n") == true)
  }

  @Test("ignore HTTP_PROXY, which a CGI server sets, and hosts in no_proxy")
  func notUsed() async throws {
    for variables: (String) -> [String: String] in [
      { ["HTTP_PROXY": $0] }, { ["https_proxy": $0] }, { ["http_proxy": $0, "no_proxy": "x.test,.invalid"] },
      { ["http_proxy": $0, "NO_PROXY": "*"] }, { ["http_proxy": "", "no_proxy": $0] },
    ] {
      let (head, result) = try await ask("http://api.invalid", variables)
      #expect(head == nil)
      let error = #expect(throws: UpstreamError.self) { try result.get() }
      #expect(error?.kind == .unresolved, "\(String(describing: error))")
    }
  }

  @Test("are used for loopback addresses too")
  func loopback() async throws {
    let (head, _) = try await ask("http://127.0.0.1:9", { ["http_proxy": $0] })
    #expect(head?.hasPrefix("GET http://127.0.0.1:9/a%7Eb") == true)
  }

  @Test("tunnel HTTPS, and a refused tunnel is reported as the proxy's error")
  func tunnelRefused() async throws {
    let (head, result) = try await ask(
      "https://api.test", { ["https_proxy": $0] }, headers: ["X-A": "1"],
      answer: "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
    #expect(head == "CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n")
    let error = #expect(throws: UpstreamError.self) { try result.get() }
    #expect(error?.kind == .proxy, "\(String(describing: error))")
  }

  @Test("that cannot be reached are reported as proxy errors", arguments: ["http://api.test", "https://api.test"])
  func missing(url: String) async throws {
    let (descriptor, port) = try ScriptedUpstream.listen(backlog: nil)
    defer { close(descriptor) }
    for proxy in ["127.0.0.1:\(port)", "nowhere.invalid:80"] {
      let client = try HTTPClient(.init(environment: ["all_proxy": proxy]))
      let error = try await #require(throws: UpstreamError.self) {
        try await client.send(Request(method: "GET", target: "/"), to: Origin(parsing: url))
      }
      #expect(error.kind == .proxy, "\(error)")
    }
  }
}

@Suite("Client settings")
struct SettingsTests {
  private func settings(_ variables: [String: String], authorities: String? = nil) -> Settings {
    Settings(.init(certificateAuthorities: authorities, environment: variables))
  }

  @Test("prefer the proxy of a scheme to that for all")
  func proxies() {
    let settings = settings(["https_proxy": "a", "HTTPS_PROXY": "b", "ALL_PROXY": "c", "NO_PROXY": "d"])
    #expect(settings.proxy(for: "https") == "a")
    #expect(settings.proxy(for: "http") == "c")
    #expect(settings.noProxy == "d")
  }

  @Test("treat an empty variable as unset")
  func empty() {
    let settings = settings(["http_proxy": "", "all_proxy": "c", "SSL_CERT_FILE": ""])
    #expect(settings.proxy(for: "http") == "c")
    #expect(settings.authoritiesFile == nil)
  }

  @Test("prefer the configured authorities to those of a variable")
  func authorities() {
    let variables = ["CURL_CA_BUNDLE": "a", "SSL_CERT_FILE": "b", "SSL_CERT_DIR": "c"]
    #expect(settings(variables, authorities: "d").authoritiesFile == "d")
    #expect(settings(variables).authoritiesFile == "a")
    #expect(settings(variables).authoritiesFolder == nil)
    let others = settings(["SSL_CERT_FILE": "b", "SSL_CERT_DIR": "c"])
    #expect(others.authoritiesFile == "b")
    #expect(others.authoritiesFolder == "c")
  }

  @Test("clamp invalid times")
  func times() {
    for seconds in [0, -1, .infinity, .nan, 1e300] {
      let settings = Settings(.init(connectSeconds: seconds, stallSeconds: seconds, environment: [:]))
      #expect(settings.connectMilliseconds > 0)
      #expect(settings.stallNanoseconds > 0)
    }
  }
}
