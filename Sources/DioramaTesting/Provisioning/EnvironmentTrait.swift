import EnvironmentConfiguration
public import Testing

/// Provisions an environment around each test; write it as `.environment(…)`.
public struct EnvironmentTrait: TestTrait, SuiteTrait, TestScoping {
  let configuration: TestEnvironment.Configuration

  /// A suite's trait applies to all tests in the suite.
  public var isRecursive: Bool { true }

  /// Provisions the environment, runs the test inside it, and ends it; called by Swift Testing.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    // The traits of a test and its suites share one environment. The first trait called provisions it.
    guard TestEnvironment.scopedTest != test.id else { return try await function() }
    let reporter = Reporter.swiftTesting(test.sourceLocation)
    let traits = test.traits.compactMap { $0 as? EnvironmentTrait }
    let configuration = (traits.isEmpty ? [self] : traits).reduce(TestEnvironment.Configuration()) {
      $1.configuration.inside($0)
    }
    let run = ScopedRun(test: test, testCase: testCase, configuration: configuration)
    if let verification = test.traits.lazy.compactMap({ $0 as? VerificationTrait }).last {
      return try await verification.verify(run, reporter, performing: function)
    }
    let result: ScopedRun.Result
    do { result = try await run.finish(function) } catch {
      return reporter.fail(error.description)
    }
    if let outcome = result.outcome { reporter.report(outcome) }
    if let error = result.error { throw error }
  }
}

extension TestEnvironment {
  /// The running test, if its traits have provisioned its environment.
  @TaskLocal static var scopedTest: Test.ID?
}

extension Trait where Self == EnvironmentTrait {
  /// Runs each test in its own environment, available as ``TestEnvironment/current``.
  ///
  /// A suite's trait applies to all tests in the suite. A test's settings override its suite's. Settings with names,
  /// such as toggles, values and upstreams, are combined by name; rules and lists are added.
  ///
  /// ```swift
  /// @Suite(.environment(upstreams: ["api": "https://dev.api1.com"]))
  /// struct BookingTests {
  ///   @Test(.environment(.replay, toggles: ["skip-onboarding": true])) func booksASlot() async throws { … }
  /// }
  /// ```
  ///
  /// The parameters are those of ``TestEnvironment/Configuration``.
  public static func environment(
    _ mode: TestEnvironment.Mode? = nil, upstreams: [String: String] = [:],
    access: [String: TestEnvironment.UpstreamAccess] = [:],
    stubs: String? = nil, stubTemplates: Bool? = nil, collections: String? = nil, openAPI: String? = nil,
    proto: [String] = [], protoPaths: [String] = [],
    faults: [TestEnvironment.Fault] = [], toggles: [String: TestEnvironment.Value] = [:],
    values: [String: TestEnvironment.Value] = [:],
    defaults: [String: TestEnvironment.Value] = [:], credentials: [TestEnvironment.Credential] = [],
    credentialFaults: [TestEnvironment.CredentialFault] = [],
    clock: TestEnvironment.ClockSettings? = nil, seed: String? = nil, cassette: String? = nil,
    policies: TestEnvironment.Policies? = nil, streams: TestEnvironment.StreamPace? = nil,
    allowedHosts: [String] = [], decodedLimit: Int? = nil, ports: [String] = [],
    rules: TestEnvironment.MatchingRules? = nil, order: TestEnvironment.PlaybackOrder? = nil,
    playsUniquely: Bool? = nil, redaction: TestEnvironment.RedactionRules? = nil,
    rewriting: TestEnvironment.RewritingRules? = nil, dates: TestEnvironment.DateShift? = nil,
    isolation: TestEnvironment.IsolationSettings? = nil,
    resources: [String: TestEnvironment.ResourceRequest] = [:], host: TestEnvironment.Host? = nil
  ) -> Self {
    environment(
      TestEnvironment.Configuration(
        mode, upstreams: upstreams, access: access, stubs: stubs, stubTemplates: stubTemplates,
        collections: collections, openAPI: openAPI, proto: proto, protoPaths: protoPaths, faults: faults,
        toggles: toggles, values: values,
        defaults: defaults,
        credentials: credentials, credentialFaults: credentialFaults, clock: clock, seed: seed, cassette: cassette,
        policies: policies, streams: streams, allowedHosts: allowedHosts, decodedLimit: decodedLimit, ports: ports,
        rules: rules, order: order, playsUniquely: playsUniquely, redaction: redaction,
        rewriting: rewriting, dates: dates, isolation: isolation, resources: resources,
        host: host))
  }

  /// Runs each test in its own environment, with a configuration that tests can share.
  ///
  /// - Parameter configuration: the settings of the test, or of each test of a suite.
  /// - Returns: the trait.
  public static func environment(_ configuration: TestEnvironment.Configuration) -> Self {
    EnvironmentTrait(configuration: configuration)
  }
}
