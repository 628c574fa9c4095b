import Basics
import Cassettes
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import LaunchContract
import Testing

@testable import EnvironmentService

@Suite("A configuration")
struct SpecificationTests {
  private func specification(_ body: String) throws -> EnvironmentSpecification {
    let configuration: EnvironmentConfiguration
    do throws(CodedError) {
      configuration = try EnvironmentConfiguration(decoding: Data(body.utf8), from: .api)
    } catch {
      throw CodedError(.usage, error.problem)
    }
    return try EnvironmentSpecification(configuration)
  }

  @Test("is converted to a specification")
  func whole() throws {
    let specification = try specification(
      #"""
      {"name": "Booking/books a slot", "mode": "extend", "cassette": "/c/./login.har",
       "upstreams": {"b": "http://b.test:81", "a": "https://a.test"},
       "clock": {"kind": "scaled", "start": "2018-10-08T09:00:00Z", "rate": 60, "timeZone": "Europe/London",
                 "locale": "en_GB"},
       "seed": "s", "toggles": {"rate": 10.0}, "defaults": {"d": 1}, "values": {"v": null},
       "credentials": [{"service": "s", "account": "a", "text": "pässword"},
                       {"service": "s", "account": "b", "group": "g", "secret": "AP8="}],
       "credentialFaults": [{"fault": "failWrite", "nth": 2}], "ports": ["debug"], "matching": {"playsUniquely": true},
       "command": "pytest", "caller": "command"}
      """#)
    #expect(specification.name == "Booking/books a slot")
    #expect(specification.mode == .extend)
    #expect(specification.cassette?.har == "/c/login.har")
    #expect(specification.upstreams.map(\.name) == ["a", "b"])
    #expect(specification.upstreams[1].origin.description == "http://b.test:81")
    #expect(specification.clock.kind == "scaled" && specification.clock.rate == 60)
    #expect(specification.clock.start == Date(timeIntervalSince1970: 1_538_989_200))
    #expect(specification.toggles == ["rate": .double(10)])
    #expect(specification.values == ["v": .null])
    #expect(specification.credentials.map(\.secret) == [Array("pässword".utf8), [0, 255]])
    #expect(specification.credentialFaults.map(\.fault) == ["failWrite"])
    #expect(specification.playsUniquely && specification.caller == .command && specification.command == "pytest")
  }

  @Test("has no required members, and errors give advice in the API's syntax")
  func empty() throws {
    let specification = try specification("{}")
    #expect(specification.name == "environment")
    #expect(specification.mode == .once)
    let error = #expect(throws: CodedError.self) { try Provisioning.plan(specification) }
    #expect(
      error?.message
        == #"no cassette is given; name it with "cassette": "/PATH", or use "mode": "mock" if there is nothing to record"#
    )
    #expect(try self.specification(#"{"cassette": "/a/login"}"#).name == "login")
  }

  @Test(
    "with an invalid member is refused, and the error names the member",
    arguments: [
      (#"{"mode": "replya"}"#, "mode: 'replya' is not valid; did you mean 'replay'?"),
      (#"{"caller": "x"}"#, "caller: "), (#"{"name": "a\u0000"}"#, "name: not a string without control characters"),
      (#"{"cassette": "c/login"}"#, "cassette: not an absolute path"),
      (#"{"cassette": "/c/../login"}"#, "cassette: not an absolute path without '..'"),
      (#"{"cassette": "/"}"#, "cassette: "),
      (#"{"cassette": "/c/"}"#, "cassette: '/c/' is a folder"), (#"{"cassette": "/c/.."}"#, "cassette: "),
      (#"{"cassette": ""}"#, "cassette: must not be empty"), (#"{"cassette": "/c/a\nb"}"#, "cassette: "),
      (#"{"upstreams": {"api": "https://a.test/path"}}"#, "upstreams.api: "),
      (#"{"upstreams": {"api": "ftp://a.test"}}"#, "upstreams.api: "),
      (#"{"upstreams": {"": "https://a.test"}}"#, "upstreams.: invalid name: must not be empty"),
      (#"{"policies": {"expired": "warn"}}"#, "policies.expired: nothing expires without"),
      (#"{"clock": {"kind": "frozn"}}"#, "clock.kind: 'frozn' is not valid; did you mean 'frozen'?"),
      (#"{"clock": {"start": "yesterday"}}"#, "clock.start: "), (#"{"clock": {"rate": 0}}"#, "clock.rate: "),
      (#"{"clock": {"timeZone": "Europe/Lndon"}}"#, "clock.timeZone: "),
      (
        #"{"credentials": [{"service": "s", "account": "a"}]}"#,
        "credentials[0]: give exactly one of secret and text"
      ),
      (
        #"{"credentials": [{"service": "s", "account": "a", "text": "x", "secret": "eA=="}]}"#,
        "credentials[0]: give exactly one of secret and text"
      ),
      (
        #"{"credentials": [{"service": "s", "account": "a", "secret": "h@"}]}"#,
        "credentials[0].secret: not base64"
      ),
      (#"{"credentials": [{"service": "", "account": "a", "text": "x"}]}"#, "credentials[0].service: "),
      (
        #"{"credentials": [{"service": "s", "account": "a", "text": "x"}, {"service": "s", "account": "a", "text": "y"}]}"#,
        "credentials[1]: 's/a' is given twice"
      ),
      (#"{"credentialFaults": [{"fault": "lockd"}]}"#, "credentialFaults[0].fault: "),
      (#"{"credentialFaults": [{"fault": "failRead"}]}"#, "credentialFaults[0].nth: "),
      (#"{"ports": ["a b", "a_b"]}"#, "ports[1]: 'a b' and 'a_b' would share DIORAMA_PORT_A_B"),
      (#"{"ports": [""]}"#, "ports[0]: must not be empty"),
      (#"{"toggles": {"": 1}}"#, "toggles.: invalid name: must not be empty"),
      (#"{"defaults": {"d": {"a": null}}}"#, ""),
    ])
  func bad(body: String, start: String) {
    let error = #expect(throws: CodedError.self) { try specification(body) }
    #expect(error?.kind == .usage)
    #expect(error?.message.hasPrefix(start) == true, "\(error?.message ?? "")")
    #expect(error?.message.contains("\n") == false)
  }

  @Test("has limits for all members")
  func limits() {
    func refuses(_ configure: (inout EnvironmentConfiguration) -> Void) {
      var configuration = EnvironmentConfiguration()
      configure(&configuration)
      #expect(throws: CodedError.self) { try EnvironmentSpecification(configuration) }
    }
    let long = String(repeating: "x", count: 5_000)
    refuses { $0.name = long }
    refuses { $0.seed = long }
    refuses { $0.cassette = "/" + long }
    refuses { $0.cassette = "/a/" + String(repeating: "x", count: 250) }
    refuses {
      $0.upstreams = Dictionary(uniqueKeysWithValues: (0..<65).map { ("a\($0)", .init(url: "https://a\($0).test")) })
    }
    refuses { $0.ports = (0..<65).map { "p\($0)" } }
    refuses { $0.toggles = Dictionary(uniqueKeysWithValues: (0...10_000).map { ("t\($0)", .null) }) }
    refuses { $0.toggles = [long: .null] }
    refuses {
      $0.credentials = [.init(service: "s", account: "a", text: Secret(String(repeating: "x", count: 70_000)))]
    }
    refuses { $0.credentials = (0...1000).map { .init(service: "s", account: "\($0)", text: Secret("x")) } }
    refuses { $0.clock = .init(rate: .nan) }
  }

  @Test("provides advice with the API request that records what is missing")
  func advice() throws {
    let specification = try specification(#"{"cassette": "/c/login", "upstreams": {"api": "https://a.test"}}"#)
    #expect(
      specification.recordAdvice(.extend, upstreams: [("api", "https://a.test")])
        == #"POST /v1/environments {"mode": "extend", "cassette": "/c/login", "upstreams": {"api": "https://a.test"}}"#)
  }

  @Test(
    "gives advice in the syntax of its caller",
    arguments: [
      ("command", "--upstream 'a b=http://h'", "--allow-no-requests", "--env VARIABLE=api"),
      (
        "test", #"upstreams: ["a b": "http://h"]"#, "policies: .init(allowNoRequests: true)",
        "its launch contract or DIORAMA_ENDPOINT_API"
      ),
      (
        "api", #""upstreams": {"a b": "http://h"}"#, #""policies": {"allowNoRequests": true}"#,
        "DIORAMA_ENDPOINT_API from the contract"
      ),
      (
        "pytest", #"@pytest.mark.diorama(upstreams={"a b": "http://h"})"#,
        #"@pytest.mark.diorama(policies={"allowNoRequests": True})"#,
        #"diorama.endpoints["api"]"#
      ),
      (
        "node", #"upstreams: { "a b": "http://h" }"#, "policies: { allowNoRequests: true }",
        "the environment's endpoints"
      ),
    ])
  func callers(caller: String, upstream: String, permission: String, connection: String) throws {
    let specification = try specification(#"{"mode": "mock", "caller": "\#(caller)"}"#)
    #expect(specification.upstreamAdvice("a b", "http://h") == upstream)
    #expect(specification.noRequestsAdvice == permission)
    #expect(specification.connectionAdvice("api").contains(connection))
  }

  @Test("provides advice with all requested settings except secrets")
  func wholeAdvice() throws {
    let specification = try specification(
      #"""
      {"cassette": "/c/login", "upstreams": {"api": "https://a.test"}, "redaction": {"json": ["$.pin"]},
       "credentials": [{"service": "s", "account": "a", "text": "hunter2"}], "streams": "timeline", "toggles": {"t": true},
       "matching": {"rules": [{"ignore": {"query": ["_"]}}], "order": "state", "playsUniquely": true},
       "dates": {"dates": ["$.day"]}}
      """#)
    let advice = specification.recordAdvice(.extend, upstreams: [("api", "https://a.test")])
    let start =
      #"POST /v1/environments {"mode": "extend", "cassette": "/c/login", "upstreams": {"api": "https://a.test"}, "#
    #expect(advice.hasPrefix(start), "\(advice)")
    for member in [
      #""redaction": {"json": ["$.pin"]}"#, #""order": "state""#, #""streams": "timeline""#, #""toggles": {"t": true}"#,
      #""ignore": {"query": ["_"]}"#, #""playsUniquely": true"#, #""text": "…""#,
    ] { #expect(advice.contains(member), "\(member) is not in \(advice)") }
    for other in ["hunter2", "$.day", "caller", "COMMAND", "\"name\""] { #expect(!advice.contains(other)) }
    // The API accepts the request.
    let body = String(advice.dropFirst("POST /v1/environments ".count))
    #expect(
      try EnvironmentSpecification(EnvironmentConfiguration(decoding: Data(body.utf8), from: .api)).order == .state)
  }
}
