import Basics
import Cassettes
import ControlAPI
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import HTTPMessages
import LaunchContract
import Testing

@Suite("A configuration that is sent to another process")
struct RequestRoundTripTests {
  @Test("arrives unchanged, including credentials")
  func same() throws {
    var configuration = EnvironmentConfiguration()
    configuration.name = "Booking/books"
    configuration.mode = "extend"
    configuration.cassette = "/tmp/tape"
    configuration.upstreams = ["api": "https://dev.api1.com"]
    configuration.seed = "s"
    configuration.clock = .init(
      kind: "scaled", start: "2018-10-08T09:00:00.125Z", rate: 60, timeZone: "Europe/London", locale: "en_GB")
    configuration.toggles = ["a": .object(["b": .array([.int(1), .double(0.5), .null])])]
    configuration.defaults = ["seen": .bool(true)]
    configuration.values = ["location": .string("51.5,-0.1")]
    configuration.credentials = [.init(service: "clinic", account: "token", group: "team", secret: Secret("AP8K"))]
    configuration.credentialFaults = [.init("failWrite", nth: 2, error: "cancelled")]
    configuration.resources = ["patient": .init(pool: "patients", where: ["plan": "premium"], waitSeconds: 5)]
    configuration.redaction = RedactionRules()
    configuration.redaction?.json = ["$..pin"]
    configuration.rewriting = RewritingRules()
    configuration.rewriting?.keep = ["$.iss"]
    configuration.matching = .init(
      rules: [.init(path: "/a/**", compare: .init(body: .json))], order: .state, playsUniquely: true)
    configuration.policies = .init(expiresAfterDays: 30.5, expired: "warn", rerecordAfterDays: 20, unused: "fail")
    configuration.streams = "scaled:2.5"
    configuration.decodedLimit = 5_000_000
    configuration.command = "Tests.Booking/books"
    configuration.caller = "test"
    configuration.ports = ["debug"]
    configuration.allowedHosts = ["shop.test"]
    configuration.stubs = "/tmp/stubs"
    configuration.stubTemplates = true
    configuration.collections = "/tmp/collections.json"
    configuration.openapi = "/tmp/api.yaml"
    configuration.proto = ["/tmp/pets.proto"]
    configuration.protoPaths = ["/tmp"]
    configuration.isolation = .init()
    configuration.isolation?.kind = "namespaces"
    configuration.isolation?.hostPorts = [5432]
    configuration.faults = [.string("reset,path=/a,nth=1"), .object(["status": .int(503)])]
    configuration.dates = ShiftRules()
    configuration.dates?.keep = ["$.born"]
    // A test without settings inherits all settings of its suite or project file.
    #expect(EnvironmentConfiguration().inside(configuration) == configuration)
    let sent = try JSON.encode(configuration)
    let document = try JSON.decode([String: JSON].self, from: sent, source: "")
    let names = EnvironmentConfiguration.members.filter { $0.scope != .caller }.map(\.name)
    #expect(Set(document.keys) == Set(names), "a setting is not tested here")
    #expect(try EnvironmentConfiguration(decoding: sent, from: .api) == configuration)
    let there = try EnvironmentSpecification(configuration)
    #expect(there.name == configuration.name && there.mode == .extend && there.seed == "s")
    #expect(there.cassette?.har == "/tmp/tape.har")
    #expect(there.upstreams == [.init(name: "api", origin: try Origin(parsing: "https://dev.api1.com"))])
    #expect(there.clock.kind == "scaled" && there.clock.rate == 60)
    #expect(there.clock.start == RFC3339.parse("2018-10-08T09:00:00.125Z"))
    #expect(there.clock.timeZone == "Europe/London" && there.clock.locale == "en_GB")
    #expect(there.toggles == configuration.toggles && there.defaults == configuration.defaults)
    #expect(there.values == configuration.values && there.credentials.map(\.secret) == [[0, 255, 10]])
    #expect(there.credentialFaults == configuration.credentialFaults)
    #expect(there.resources == configuration.resources)
    #expect(there.rules?.rules.count == 1 && there.order == .state && there.playsUniquely)
    #expect(there.redaction == configuration.redaction && there.rewriting == configuration.rewriting)
    #expect(there.policies?.expiresAfterDays == 30.5 && there.policies?.expired == .warn)
    #expect(there.policies?.rerecordAfterDays == 20 && there.policies?.unused == .fail)
    #expect(there.streams == .scaled(2.5) && there.decodedLimit == 5_000_000)
    #expect(there.command == "Tests.Booking/books" && there.caller == .test)
  }

  @Test("resolves what depends on this process: its folder, and whether CI is set")
  func settled() throws {
    var configuration = EnvironmentConfiguration()
    configuration.cassette = "../tape.har"
    let folder = FileManager.default.currentDirectoryPath
    func sent(isContinuousIntegration: Bool) -> EnvironmentConfiguration {
      ProvisioningRequest(configuration, isContinuousIntegration: isContinuousIntegration).configuration
    }
    let path = try #require(sent(isContinuousIntegration: false).cassette)
    #expect(path == ((folder as NSString).deletingLastPathComponent as NSString).appendingPathComponent("tape.har"))
    #expect(CassetteLocation(path).har == path)
    #expect(sent(isContinuousIntegration: false).mode == nil)
    #expect(sent(isContinuousIntegration: true).mode == "replay")
  }

  @Test("takes secrets from variables and files, and redacts the headers that they are in")
  func secrets() throws {
    var configuration = EnvironmentConfiguration()
    configuration.mode = "record"
    configuration.credentials = [.init(service: "s", account: "a", from: "env:TOKEN")]
    configuration.upstreams = ["api": .init(url: "https://a.test", access: .init(headers: ["X-K": Secret("env:KEY")]))]
    let variables = ["TOKEN": "hush", "KEY": "key\n"]
    let read = try configuration.readingSecrets(variables, isContinuousIntegration: false)
    #expect(read.credentials.map(\.secret) == [Secret("aHVzaA==")] && read.credentials.map(\.from) == [nil])
    #expect(read.upstreams["api"]?.access.headers == ["X-K": Secret("key")])
    #expect(read.redaction?.headers == ["X-K"])
    let error = #expect(throws: CodedError.self) {
      try configuration.readingSecrets(["TOKEN": "hush"], isContinuousIntegration: false)
    }
    #expect(error?.message.contains("header api/X-K: the variable KEY is not set") == true)
    // In replay, no header is sent, so none is read.
    configuration.mode = "replay"
    #expect(
      try configuration.readingSecrets(["TOKEN": "hush"], isContinuousIntegration: false)
        .upstreams["api"]?.access.headers == [:])
  }
}
