import Basics
import Cassettes
import ControlAPI
import EnvironmentService
import Foundation
import HTTPMessages
import LaunchContract
import Testing

@Suite("A fixture that is asked for from another process")
struct RequestRoundTripTests {
  @Test("is the same there, credentials and all")
  func same() throws {
    var fixture = EnvironmentSpecification(name: "Booking/books", mode: .extend)
    fixture.cassette = CassetteLocation("/tmp/tape")
    fixture.upstreams = [.init(name: "api", origin: try Origin(parsing: "https://dev.api1.com"))]
    fixture.seed = "s"
    fixture.clock.kind = "scaled"
    fixture.clock.rate = 60
    fixture.clock.start = RFC3339.parse("2018-10-08T09:00:00.125Z")
    fixture.clock.timeZone = "Europe/London"
    fixture.clock.locale = "en_GB"
    fixture.toggles = ["a": .object(["b": .array([.int(1), .double(0.5), .null])])]
    fixture.defaults = ["seen": .bool(true)]
    fixture.values = ["location": .string("51.5,-0.1")]
    fixture.credentials = [.init(service: "clinic", account: "token", group: "team", secret: [0, 255, 10])]
    fixture.credentialFaults = [.init("failWrite", nth: 2, error: "cancelled")]
    fixture.redaction.json = ["$..pin"]
    fixture.playsUniquely = true
    fixture.rules = try MatchingRules.read(
      Array(#"{"rules": [{"path": "/a/**", "ignore": {"json": ["$.t"]}, "compare": {"body": "json"}}]}"#.utf8),
      name: "r")
    fixture.order = .state
    var policies = CassettePolicies()
    policies.expiresAfterDays = 30.5
    policies.expired = .warn
    policies.recordsAnewAfterDays = 20
    policies.unused = .fail
    fixture.policies = policies
    fixture.streams = .scaled(2.5)
    fixture.decodedLimit = 5_000_000
    fixture.command = "Tests.Booking/books"
    fixture.caller = .test
    let sent = try JSONEncoder().encode(try ProvisioningRequest(fixture, ports: ["debug"]))
    let request = try JSON.decode(ProvisioningRequest.self, from: sent, source: "the wire")
    #expect(request.ports == ["debug"])
    let there = try EnvironmentSpecification(request)
    #expect(there.name == fixture.name && there.mode == fixture.mode && there.seed == fixture.seed)
    #expect(there.cassette?.har == fixture.cassette?.har)
    #expect(there.upstreams == fixture.upstreams)
    #expect(there.clock.kind == "scaled" && there.clock.rate == 60 && there.clock.start == fixture.clock.start)
    #expect(there.clock.timeZone == "Europe/London" && there.clock.locale == "en_GB")
    #expect(there.toggles == fixture.toggles && there.defaults == fixture.defaults && there.values == fixture.values)
    #expect(there.contractCredentials == fixture.contractCredentials)
    #expect(there.rules == fixture.rules && there.order == .state)
    #expect(there.redaction == fixture.redaction)
    #expect(there.policies == policies)
    #expect(there.streams == .scaled(2.5) && there.decodedLimit == 5_000_000)
    #expect(there.playsUniquely && there.command == fixture.command)
    #expect(there.caller == EnvironmentSpecification.Caller.test)
  }

  @Test("settles what depends on this process: its folder, and whether it is a continuous integration run")
  func settled() throws {
    var fixture = EnvironmentSpecification(name: "n", mode: .once)
    fixture.cassette = CassetteLocation("../tape.har")
    let folder = FileManager.default.currentDirectoryPath
    let path = try ProvisioningRequest(fixture).cassette
    #expect(path == ((folder as NSString).deletingLastPathComponent as NSString).appendingPathComponent("tape"))
    #expect(try ProvisioningRequest(fixture).mode == "once")
    fixture.isContinuousIntegration = true
    #expect(try ProvisioningRequest(fixture).mode == "replay")
  }

  @Test("is refused before it is sent where it could not be said")
  func refused() throws {
    var fixture = EnvironmentSpecification(name: "n", mode: .mock)
    let origin = try Origin(parsing: "https://a.example")
    fixture.upstreams = [.init(name: "api", origin: origin), .init(name: "api", origin: origin)]
    #expect(throws: CodedError.self) { try ProvisioningRequest(fixture) }
    var fast = EnvironmentSpecification(name: "n", mode: .mock)
    fast.clock.rate = .nan
    #expect(throws: CodedError.self) { try ProvisioningRequest(fast) }
  }
}
