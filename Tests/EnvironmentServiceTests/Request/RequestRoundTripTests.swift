import Cassettes
import ControlAPI
import EnvironmentService
import Foundation
import HTTPMessages
import LaunchContract
import Testing

@Suite("A world that is asked for from another process")
struct RequestRoundTripTests {
  @Test("is the same there, credentials and all")
  func same() throws {
    var world = EnvironmentSpecification(name: "Booking/books", mode: .extend)
    world.cassette = CassetteLocation("/tmp/tape")
    world.upstreams = [.init(name: "api", origin: try Origin(parsing: "https://dev.api1.com"))]
    world.seed = "s"
    world.clock.kind = "scaled"
    world.clock.rate = 60
    world.clock.start = RFC3339.parse("2018-10-08T09:00:00.125Z")
    world.clock.timeZone = "Europe/London"
    world.clock.locale = "en_GB"
    world.toggles = ["a": .object(["b": .array([.int(1), .double(0.5), .null])])]
    world.defaults = ["seen": .bool(true)]
    world.values = ["location": .string("51.5,-0.1")]
    world.credentials = [.init(service: "clinic", account: "token", group: "team", secret: [0, 255, 10])]
    world.credentialFaults = [.init("failWrite", nth: 2, error: "cancelled")]
    world.redaction.json = ["$..pin"]
    world.playsUniquely = true
    world.rules = try MatchingRules.read(
      Array(#"{"rules": [{"path": "/a/**", "ignore": {"json": ["$.t"]}, "compare": {"body": "json"}}]}"#.utf8),
      name: "r")
    world.order = .state
    var policies = CassettePolicies()
    policies.expiresAfterDays = 30.5
    policies.expired = .warn
    policies.recordsAnewAfterDays = 20
    policies.unused = .fail
    world.policies = policies
    world.streams = .scaled(2.5)
    world.decodedLimit = 5_000_000
    world.command = "Tests.Booking/books"
    world.caller = .test
    let sent = try JSONEncoder().encode(try ProvisioningRequest(world, ports: ["debug"]))
    let request = try ContractJSON.decode(ProvisioningRequest.self, from: sent, source: "the wire")
    #expect(request.ports == ["debug"])
    let there = try EnvironmentSpecification(request)
    #expect(there.name == world.name && there.mode == world.mode && there.seed == world.seed)
    #expect(there.cassette?.har == world.cassette?.har)
    #expect(there.upstreams == world.upstreams)
    #expect(there.clock.kind == "scaled" && there.clock.rate == 60 && there.clock.start == world.clock.start)
    #expect(there.clock.timeZone == "Europe/London" && there.clock.locale == "en_GB")
    #expect(there.toggles == world.toggles && there.defaults == world.defaults && there.values == world.values)
    #expect(there.contractCredentials == world.contractCredentials)
    #expect(there.rules == world.rules && there.order == .state)
    #expect(there.redaction == world.redaction)
    #expect(there.policies == policies)
    #expect(there.streams == .scaled(2.5) && there.decodedLimit == 5_000_000)
    #expect(there.playsUniquely && there.command == world.command)
    #expect(there.caller == EnvironmentSpecification.Caller.test)
  }

  @Test("settles what depends on this process: its folder, and whether it is a continuous integration run")
  func settled() throws {
    var world = EnvironmentSpecification(name: "n", mode: .once)
    world.cassette = CassetteLocation("../tape.har")
    let folder = FileManager.default.currentDirectoryPath
    let path = try ProvisioningRequest(world).cassette
    #expect(path == ((folder as NSString).deletingLastPathComponent as NSString).appendingPathComponent("tape"))
    #expect(try ProvisioningRequest(world).mode == "once")
    world.isContinuousIntegration = true
    #expect(try ProvisioningRequest(world).mode == "replay")
  }

  @Test("is refused before it is sent where it could not be said")
  func refused() throws {
    var world = EnvironmentSpecification(name: "n", mode: .mock)
    let origin = try Origin(parsing: "https://a.example")
    world.upstreams = [.init(name: "api", origin: origin), .init(name: "api", origin: origin)]
    #expect(throws: EnvironmentError.self) { try ProvisioningRequest(world) }
    var fast = EnvironmentSpecification(name: "n", mode: .mock)
    fast.clock.rate = .nan
    #expect(throws: EnvironmentError.self) { try ProvisioningRequest(fast) }
  }
}
