import Basics
import EnvironmentConfiguration
import Foundation
import LaunchContract
import Testing

@testable import Daemon
@testable import DioramaCommand
@testable import DioramaTesting

@Suite("The table of settings")
struct ConfigurationTableTests {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private static func file(_ path: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  @Test("provides all options in the help of run and env create, in at most 80 columns")
  func help() {
    for help in [RunCommand.command.help, EnvironmentCreate.command.help] {
      for option in EnvironmentConfiguration.fields.compactMap({ Options.Option($0.member) }) {
        #expect(help.contains("  \(option.usage)"), "\(option.name)")
      }
      #expect(help.split(separator: "\n").allSatisfy { $0.count <= 80 })
    }
  }

  @Test("provides the request's schema in the OpenAPI document, with the same names and limits")
  func openAPI() throws {
    let schema = try #require(Schemas.all["ProvisioningRequest"])
    guard case .object(let rule) = schema else {
      Issue.record("not an object")
      return
    }
    let members = EnvironmentConfiguration.members.filter { $0.scope != .caller }
    for member in members {
      let served = try #require(rule.members.first { $0.name == member.name })
      #expect(served.schema.document == member.schema.accepting(.api).document, "\(member.name)")
    }
    #expect(rule.members.count == members.count + 2)
  }

  @Test("has a parameter in the Swift API for each setting")
  func swift() throws {
    let source = try Self.file("Sources/DioramaTesting/Settings/Configuration.swift")
    for field in EnvironmentConfiguration.fields where field.member.scope == .everywhere {
      guard let name = field.swiftName else { continue }
      #expect(source.contains("///   - \(name): "), "\(name) is not documented")
      #expect(source.contains(" \(name): ") || name == "mode", "\(name)")
      for file in ["TestEnvironment+Provision", "EnvironmentTrait"] {
        let forwarding = try Self.file("Sources/DioramaTesting/Provisioning/\(file).swift")
        // A mode that is not given must not outrank the project file's.
        let passed = name == "mode" ? "Mode? = nil" : "\(name): \(name)"
        #expect(
          forwarding.contains(" " + passed) || forwarding.contains("." + passed), "\(file) does not pass on \(name)")
      }
    }
  }

  @Test("matches the JSON Schema and the reference page, which DIORAMA_UPDATE=1 rewrites")
  func files() throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let schema = String(decoding: try encoder.encode(ConfigurationReference.jsonSchema), as: UTF8.self) + "\n"
    for (path, text) in [
      ("Config/diorama.schema.json", schema),
      ("Sources/DioramaTesting/DioramaTesting.docc/ConfigurationReference.md", ConfigurationReference.page),
    ] {
      if ProcessInfo.processInfo.environment["DIORAMA_UPDATE"] == "1" {
        try text.write(to: Self.root.appendingPathComponent(path), atomically: true, encoding: .utf8)
      }
      #expect(
        try Self.file(path) == text, "\(path) is out of date: DIORAMA_UPDATE=1 swift test --filter ConfigurationTable")
    }
    for field in EnvironmentConfiguration.fields where field.member.scope != .api && !field.path.contains("[]") {
      #expect(ConfigurationReference.page.contains("| `\(field.path)` |"))
    }
  }

  /// An invalid value as JSON, as options and in Swift, with its error message.
  struct Mistake: Sendable, CustomTestStringConvertible {
    var json: String
    var options: [String]
    var configuration: TestEnvironment.Configuration
    var problem: String
    var testDescription: String { json }
  }

  private static let mistakes = [
    Mistake(
      json: #"{"decodedLimit": 0}"#, options: ["--decoded-limit", "0"], configuration: .init(decodedLimit: 0),
      problem: "0 is not between 1 and 1099511627776"),
    Mistake(
      json: #"{"clock": {"start": "noon"}}"#, options: ["--start", "noon"],
      configuration: .init(clock: .frozen(at: "noon")), problem: "'noon' is not a time such as 2018-10-08T09:00:00Z"
    ),
    Mistake(
      json: #"{"clock": {"timeZone": "Europe/Lndon"}}"#, options: ["--time-zone", "Europe/Lndon"],
      configuration: .init(clock: .system(timeZone: "Europe/Lndon")),
      problem: "'Europe/Lndon' is not a time zone; give an IANA name such as Europe/London"),
    Mistake(
      json: #"{"streams": "scaled:0"}"#, options: ["--streams", "scaled:0"],
      configuration: .init(streams: .scaled(by: 0)), problem: "needs a factor from 0.001 to 1000000"),
    Mistake(
      json: #"{"upstreams": {"api": "https://a.test/path"}}"#, options: ["--upstream", "api=https://a.test/path"],
      configuration: .init(upstreams: ["api": "https://a.test/path"]), problem: "'https://a.test/path' is not an origin"
    ),
    Mistake(
      json: #"{"allowedHosts": ["http://a"]}"#, options: ["--allowed-host", "http://a"],
      configuration: .init(allowedHosts: ["http://a"]),
      problem: "'http://a' is not a host name; give one without scheme and port, or * for all"),
    Mistake(
      json: #"{"policies": {"expiresAfterDays": 0}}"#, options: ["--expires-after", "0"],
      configuration: .init(policies: .init(expiresAfterDays: 0)), problem: "0 is not between 0.01 and 36525"),
    Mistake(
      json: #"{"ports": ["a b", "a_b"]}"#, options: ["--port", "a b", "--port", "a_b"],
      configuration: .init(ports: ["a b", "a_b"]),
      problem: "'a b' and 'a_b' would share DIORAMA_PORT_A_B; rename one"),
  ]

  @Test("reports an invalid value with the same message in each syntax", arguments: mistakes)
  func sameMessage(_ mistake: Mistake) throws {
    let api = #expect(throws: CodedError.self) {
      try EnvironmentConfiguration(decoding: Data(mistake.json.utf8), from: .api)
    }
    let file = #expect(throws: CodedError.self) {
      try EnvironmentConfiguration(decoding: Data(mistake.json.utf8), from: .caller)
    }
    let command = #expect(throws: CodedError.self) {
      let options = try Options(mistake.options, table: RunCommand.command.options, command: "run")
      _ = try ConfigurationOptions(options, command: "run", variables: [:]).configuration()
    }
    var test = mistake.configuration
    test.settings.mode = "mock"
    let swift = #expect(throws: DioramaTestingError.self) {
      _ = try test.resolved(for: TestIdentity(outsideOfTestsIn: "/tmp/Tests/Some.swift"), variables: [:])
    }
    for text in [api?.problem, file?.problem, command?.message, swift?.description] {
      #expect(text?.contains(mistake.problem) == true, "\(text ?? "")")
    }
  }
}
