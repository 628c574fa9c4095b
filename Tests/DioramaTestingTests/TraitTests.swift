import Basics
import DioramaTesting
import Foundation
import LaunchContract
import Testing

/// The launch contract of a program.
func contract(of environment: TestApplication.LaunchContext = .current) async throws -> LaunchContract {
  let app = shell(#"printf %s "$DIORAMA_CONTRACT""#, in: environment)
  app.passesArgumentPairs = false
  try await app.launch()
  try await app.wait(for: .exited(0))
  return try LaunchContract.read(app.standardOutput, source: "the test")
}

@Suite("Environment trait", .environment(.mock, toggles: ["a": 1, "b": 1], seed: "suite", ports: ["debug"]))
struct TraitTests {
  @Test("applies to every test of its suite")
  func inherited() async throws {
    let contract = try await contract()
    #expect(contract.toggles == ["a": .int(1), "b": .int(1)])
    #expect(contract.seed == "suite")
    #expect(contract.mode == "mock")
    #expect(contract.environment.name == "TraitTests/applies to every test of its suite")
    #expect(contract.ports["debug"] == (try TestEnvironment.current.port("debug")))
  }

  @Test(
    "of a test overrides that of its suite",
    .environment(
      toggles: ["b": 2, "c": [1.5]], values: ["location": "here"], defaults: ["seen": true],
      clock: .frozen(at: "2018-10-08T09:00:00Z", timeZone: "Europe/London"), seed: "test"))
  func merged() async throws {
    let contract = try await contract()
    #expect(contract.toggles == ["a": .int(1), "b": .int(2), "c": .array([.double(1.5)])])
    #expect(contract.values == ["location": .string("here")])
    #expect(contract.defaults == ["seen": .bool(true)])
    #expect(contract.seed == "test")
    #expect(contract.clock.start == "2018-10-08T09:00:00Z")
    #expect(contract.clock.timeZone == "Europe/London")
    #expect(try TestEnvironment.current.seed == "test")
  }

  @Suite("in a nested suite")
  struct Inner {
    @Test("applies")
    func inherited() async throws {
      #expect(try await contract().seed == "suite")
    }
  }

  @Test("provisions an environment for each case", arguments: 1...8)
  func cases(_ number: Int) async throws {
    let environment = try TestEnvironment.current
    #expect(environment.name.hasSuffix("(\(number))"))
    let contract = try await contract()
    #expect(contract.environment.name == environment.name)
  }

  @Test("is current in the test's child tasks")
  func childTasks() async throws {
    let environment = try TestEnvironment.current
    async let child = TestEnvironment.current
    #expect(try await child === environment)
  }

  @Test("reports an undeclared name")
  func undeclared() throws {
    let environment = try TestEnvironment.current
    let error = #expect(throws: DioramaTestingError.self) { try environment.port("debgu") }
    #expect(error?.description == "unknown port 'debgu'; did you mean 'debug'? Declare it with ports:")
    #expect(throws: DioramaTestingError.self) { try environment.endpoint("api") }
  }

  @Test(
    "passes credentials in a file with owner-only access, which is removed with the program",
    .environment(credentials: [.init(service: "clinic", account: "token", secret: "hush")]))
  func credentials() async throws {
    let app = shell(#"echo "$DIORAMA_CONTRACT"; read -r _"#, in: .current)
    app.passesArgumentPairs = false
    try await app.launch()
    let path = String(try await app.wait(forOutput: /file:\/.*\n/).dropFirst(5).dropLast())
    let permissions = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(permissions == 0o600)
    #expect(try LaunchContract.read("file:\(path)", source: "").credentials?.items.count == 1)
    try await app.write("\n")
    try await app.wait(for: .exited(0))
    #expect(!FileManager.default.fileExists(atPath: (path as NSString).deletingLastPathComponent))
    #expect(!app.standardOutput.contains("hush"))
  }
}

@Test("A test without a suite can have the trait", .environment(.mock))
func free() throws {
  #expect(try TestEnvironment.current.name == "A test without a suite can have the trait")
}
