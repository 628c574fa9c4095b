import Basics
import EnvironmentConfiguration
import HTTPMessages
public import Testing
public import XCTest

extension TestEnvironment {
  /// Provisions an environment for an XCTest test case. Call it in `setUp`.
  ///
  /// The environment is ``current`` until the test ends. A teardown block ends it, and fails the test at the line of
  /// this call if the report contains errors.
  ///
  /// ```swift
  /// override func setUp() async throws {
  ///   environment = try await TestEnvironment.provision(
  ///     for: self, mode: .once, upstreams: ["api": "https://dev.api1.com"])
  /// }
  /// ```
  ///
  /// The parameters are those of ``TestEnvironment/Configuration``. Failures are reported at the line of the call.
  public static func provision(
    for testCase: XCTestCase, mode: Mode? = nil, upstreams: [String: String] = [:],
    access: [String: UpstreamAccess] = [:], stubs: String? = nil, stubTemplates: Bool? = nil,
    collections: String? = nil, openAPI: String? = nil, proto: [String] = [], protoPaths: [String] = [],
    faults: [Fault] = [], toggles: [String: Value] = [:],
    values: [String: Value] = [:],
    defaults: [String: Value] = [:], credentials: [Credential] = [],
    credentialFaults: [CredentialFault] = [], clock: ClockSettings? = nil, seed: String? = nil, cassette: String? = nil,
    policies: Policies? = nil, streams: StreamPace? = nil, allowedHosts: [String] = [], decodedLimit: Int? = nil,
    ports: [String] = [], rules: MatchingRules? = nil, order: PlaybackOrder? = nil, playsUniquely: Bool? = nil,
    redaction: RedactionRules? = nil, rewriting: RewritingRules? = nil, dates: DateShift? = nil,
    isolation: IsolationSettings? = nil,
    resources: [String: ResourceRequest] = [:], host: Host? = nil,
    file: StaticString = #filePath, line: UInt = #line
  ) async throws -> TestEnvironment {
    let configuration = Configuration(
      mode, upstreams: upstreams, access: access, stubs: stubs, stubTemplates: stubTemplates, collections: collections,
      openAPI: openAPI, proto: proto, protoPaths: protoPaths, faults: faults, toggles: toggles, values: values,
      defaults: defaults,
      credentials: credentials, credentialFaults: credentialFaults, clock: clock, seed: seed, cassette: cassette,
      policies: policies, streams: streams, allowedHosts: allowedHosts, decodedLimit: decodedLimit, ports: ports,
      rules: rules, order: order, playsUniquely: playsUniquely, redaction: redaction,
      rewriting: rewriting, dates: dates, isolation: isolation, resources: resources,
      host: host)
    return try await provision(configuration, for: testCase, file: file, line: line)
  }

  /// Provisions an environment for an XCTest test case. Call it in `setUp`.
  ///
  /// - Parameters:
  ///   - configuration: the settings of the environment.
  ///   - testCase: the test case.
  ///   - file: the test's file; by default the caller's.
  ///   - line: the line at which failures are reported; by default the caller's.
  /// - Returns: the environment.
  /// - Throws: ``DioramaTestingError``, whose message says what is wrong and what to do next.
  public static func provision(
    _ configuration: Configuration, for testCase: XCTestCase, file: StaticString = #filePath, line: UInt = #line
  ) async throws -> TestEnvironment {
    let reporter = Reporter.xctest(file: file, line: line)
    let environment = try await make(
      configuration, for: TestIdentity(testCase, file: "\(file)"), reporter: reporter)
    ofTestCase.withLock { $0 = environment }
    // XCTest runs the block within the test case, and no other code of the test case at the same time.
    nonisolated(unsafe) let testCase = testCase
    testCase.addTeardownBlock {
      let hasFailed = (testCase.testRun?.totalFailureCount ?? 0) > 0
      ofTestCase.withLock { if $0 === environment { $0 = nil } }
      if let ending = await environment.finish(hasFailed: hasFailed) {
        reporter.report(ending, attachingTo: testCase)
      }
    }
    return environment
  }

  /// Provisions an environment inside a test. The test ends it with `await environment.end()`.
  ///
  /// Use it if the test must set something up first (such as a backend to record from), needs more than one
  /// environment, or names its cases itself.
  ///
  /// ```swift
  /// @Test(arguments: Clinic.all) func books(at clinic: Clinic) async throws {
  ///   let environment = try await TestEnvironment.provision(case: clinic.name, upstreams: ["api": backend.url])
  ///   …
  ///   await environment.end()
  /// }
  /// ```
  ///
  /// The parameters are those of ``TestEnvironment/Configuration``. Failures are reported at the line of the call.
  public static func provision(
    case name: String? = nil, mode: Mode? = nil, upstreams: [String: String] = [:],
    access: [String: UpstreamAccess] = [:], stubs: String? = nil, stubTemplates: Bool? = nil,
    collections: String? = nil, openAPI: String? = nil, proto: [String] = [], protoPaths: [String] = [],
    faults: [Fault] = [], toggles: [String: Value] = [:],
    values: [String: Value] = [:],
    defaults: [String: Value] = [:], credentials: [Credential] = [],
    credentialFaults: [CredentialFault] = [], clock: ClockSettings? = nil, seed: String? = nil, cassette: String? = nil,
    policies: Policies? = nil, streams: StreamPace? = nil, allowedHosts: [String] = [], decodedLimit: Int? = nil,
    ports: [String] = [], rules: MatchingRules? = nil, order: PlaybackOrder? = nil, playsUniquely: Bool? = nil,
    redaction: RedactionRules? = nil, rewriting: RewritingRules? = nil, dates: DateShift? = nil,
    isolation: IsolationSettings? = nil,
    resources: [String: ResourceRequest] = [:], host: Host? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> TestEnvironment {
    let configuration = Configuration(
      mode, upstreams: upstreams, access: access, stubs: stubs, stubTemplates: stubTemplates, collections: collections,
      openAPI: openAPI, proto: proto, protoPaths: protoPaths, faults: faults, toggles: toggles, values: values,
      defaults: defaults,
      credentials: credentials, credentialFaults: credentialFaults, clock: clock, seed: seed, cassette: cassette,
      policies: policies, streams: streams, allowedHosts: allowedHosts, decodedLimit: decodedLimit, ports: ports,
      rules: rules, order: order, playsUniquely: playsUniquely, redaction: redaction,
      rewriting: rewriting, dates: dates, isolation: isolation, resources: resources,
      host: host)
    return try await provision(configuration, case: name, sourceLocation: sourceLocation)
  }

  /// Provisions an environment inside a test. The test ends it with `await environment.end()`.
  ///
  /// - Parameters:
  ///   - configuration: the settings of the environment.
  ///   - name: the name of the case of a parameterized test; nil to make a name from the case's arguments.
  ///   - sourceLocation: the location at which failures are reported; by default the caller's.
  /// - Returns: the environment.
  /// - Throws: ``DioramaTestingError``, whose message says what is wrong and what to do next.
  public static func provision(
    _ configuration: Configuration, case name: String? = nil, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> TestEnvironment {
    let identity =
      Test.current.map { TestIdentity($0, case: Test.Case.current, named: name) }
      ?? TestIdentity(outsideOfTestsIn: sourceLocation.filePath)
    return try await make(configuration, for: identity, reporter: .swiftTesting(sourceLocation))
  }
}
