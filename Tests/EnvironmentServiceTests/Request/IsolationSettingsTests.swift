import Basics
import EnvironmentConfiguration
import Foundation
import Testing

@Suite("Settings of isolation")
struct IsolationSettingsTests {
  @Test(
    "match hosts",
    arguments: [
      ("api.example.com", "api.example.com", 443, true), ("API.example.com", "api.example.com", 80, true),
      ("api.example.com", "example.com", 443, false), ("api.example.com:8080", "api.example.com", 8080, true),
      ("api.example.com:8080", "api.example.com", 443, false), ("*.example.com", "api.example.com", 443, true),
      ("*.example.com", "a.b.example.com", 443, true), ("*.example.com", "example.com", 443, false),
      ("*.example.com", "badexample.com", 443, false), ("*", "anything", 1, true), ("*:443", "anything", 443, true),
      ("*:443", "anything", 80, false), ("[::1]", "[::1]", 80, true), ("192.0.2.1", "192.0.2.1", 80, true),
    ])
  func hosts(pattern: String, host: String, port: Int, matches: Bool) throws {
    #expect(try HostPattern(pattern).matches(host: host, port: port) == matches)
  }

  @Test(
    "reject what is not a host, and name the setting",
    arguments: [
      (
        #"{"allow": ["https://api.example.com"]}"#, "isolation.allow[0]: 'https://api.example.com' is not a host; write"
      ),
      (#"{"deny": ["a.example", ""]}"#, "isolation.deny[1]"), (#"{"deny": ["*."]}"#, "isolation.deny[0]: '*.' is not"),
      (#"{"deny": ["a:0"]}"#, "isolation.deny[0]: 'a:0' is not"), (#"{"kind": "jail"}"#, "isolation.kind"),
      (
        #"{"map": {"api.example.com": "http://127.0.0.1"}}"#,
        "isolation.map.api.example.com: 'api.example.com' is not an origin such as https://api.example.com"
      ),
      (#"{"allow": ["a"], "deny": ["b", "A"]}"#, "isolation.deny[1]: 'A' is allowed, too"),
      (#"{"map": {"https://a.example": "127.0.0.1"}}"#, "isolation.map"),
      (#"{"hostPorts": [0]}"#, "isolation.hostPorts[0]"),
    ])
  func problems(json: String, problem: String) throws {
    let error = #expect(throws: CodedError.self) {
      try EnvironmentConfiguration(decoding: Data(#"{"isolation": \#(json)}"#.utf8), from: .caller)
    }
    #expect(error?.problem.contains(problem) == true, "\(error?.problem ?? "")")
  }

  @Test("are combined with general ones, and are part of the control API")
  func combined() throws {
    let general = Data(#"{"isolation": {"kind": "auto", "deny": ["a.example"], "map": {"http://a": "http://b"}}}"#.utf8)
    let own = Data(#"{"isolation": {"kind": "proxy", "deny": ["b.example"], "map": {"http://a": "http://c"}}}"#.utf8)
    let all = try EnvironmentConfiguration(decoding: own, from: .caller)
      .inside(EnvironmentConfiguration(decoding: general, from: .caller)).isolation
    #expect(all?.kind == "proxy" && all?.deny == ["a.example", "b.example"] && all?.map == ["http://a": "http://c"])
    #expect(try EnvironmentConfiguration(decoding: own, from: .api).isolation?.kind == "proxy")
  }
}
