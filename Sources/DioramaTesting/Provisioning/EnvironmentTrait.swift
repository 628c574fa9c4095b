import Synchronization
public import Testing

/// Provisions an environment around each test; write it as `.environment(…)`.
public struct EnvironmentTrait: TestTrait, SuiteTrait, TestScoping {
  let settings: Settings

  /// A suite's trait holds for all tests in it.
  public var isRecursive: Bool { true }

  /// Provisions the environment, runs the test inside it, and ends it; called by Swift Testing.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    // The traits of a test and of the suites around it make one environment: the first to be asked makes it.
    guard TestEnvironment.scopedTest != test.id else { return try await function() }
    let reporter = Reporter.swiftTesting(test.sourceLocation)
    let traits = test.traits.compactMap { $0 as? EnvironmentTrait }
    let settings = (traits.isEmpty ? [self] : traits).reduce(Settings()) { $1.settings.inside($0) }
    var identity = TestIdentity(test, case: testCase)
    identity.splitsCases = true
    let environment: TestEnvironment
    do throws(DioramaTestingError) {
      environment = try await TestEnvironment.make(settings, for: identity, reporter: reporter)
    } catch {
      return reporter.fail(error.description)
    }
    let hasFailed = Atomic(false)
    let watching = IssueHandlingTrait.compactMapIssues { issue in
      if issue.isFailure { hasFailed.store(true, ordering: .relaxed) }
      return issue
    }
    do {
      try await TestEnvironment.$scopedTest.withValue(test.id) {
        try await environment.asCurrent {
          try await watching.provideScope(for: test, testCase: testCase) { try await function() }
        }
      }
    } catch {
      if let ending = await environment.finish(hasFailed: true) { reporter.report(ending) }
      throw error
    }
    let ending = await environment.finish(hasFailed: hasFailed.load(ordering: .relaxed))
    if let ending { reporter.report(ending) }
  }
}

extension TestEnvironment {
  /// The test whose traits have made the environment that it runs in.
  @TaskLocal static var scopedTest: Test.ID?
}

extension Trait where Self == EnvironmentTrait {
  /// Runs each test in an environment of its own, which is ``TestEnvironment/current`` in it.
  ///
  /// On a suite it holds for all tests in it; what a test's own trait says outranks the suite's, and toggles, values,
  /// upstreams and the like are put together.
  ///
  /// ```swift
  /// @Suite(.environment(upstreams: ["api": "https://dev.api1.com"]))
  /// struct BookingTests {
  ///   @Test(.environment(.replay, toggles: ["skip-onboarding": true])) func booksASlot() async throws { … }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - mode: what to do with requests; left out, `once`. The variable `DIORAMA_MODE` outranks it.
  ///   - upstreams: the backends, an origin such as `https://dev.api1.com` by each name. In replay the cassette's own
  ///     serve when there are none.
  ///   - access: how backends are reached, by name, where the origin does not say it all.
  ///   - toggles: switches and values that steer the app.
  ///   - values: what the app's own keys are set to.
  ///   - defaults: user defaults that the app is to find.
  ///   - credentials: what its credential store holds.
  ///   - credentialFaults: the trouble that its credential store is in, such as `.locked`.
  ///   - clock: the app's time at the start, and how it advances.
  ///   - seed: what random values are derived from; left out, as recorded, else random.
  ///   - cassette: its path, with or without `.har`; a relative one begins at the folder of the test's file. Left out,
  ///     `Cassettes/<suite>/<test>`. A parameterised test has a folder there, with a cassette for each case.
  ///   - policies: what is to become of an old recording, and of interactions that are not used.
  ///   - streams: when the parts of recorded streams leave; left out, one after the other, without waiting.
  ///   - allowedHosts: hosts beside the endpoints' and the upstreams' own by which clients may address endpoints, and
  ///     whose pages may use them while the environment records or adds secrets to requests; `*` stands for all.
  ///   - decodedLimit: the most bytes to which a compressed body is decoded, 1 GiB where it is left out; one that has more is
  ///     kept as it was sent, and not looked into for secrets.
  ///   - ports: names of free ports for the app to bind.
  ///   - rules: what counts as the same request; left out, what a rules file beside the cassette says, else the defaults.
  ///   - order: in which order interactions play; left out, what the rules say, else `request`.
  ///   - redact: what is taken out of the recording beside what always is; files beside the cassette add to it.
  ///   - shift: moves dates in recorded answers to the clock's time; left out, where a file beside the cassette says so.
  ///   - host: this process or a daemon; left out, what the variable `DIORAMA_DAEMON` says, else this process.
  /// - Returns: the trait.
  public static func environment(
    _ mode: TestEnvironment.Mode? = nil, upstreams: [String: String] = [:],
    access: [String: TestEnvironment.UpstreamAccess] = [:],
    toggles: [String: TestEnvironment.Value] = [:], values: [String: TestEnvironment.Value] = [:],
    defaults: [String: TestEnvironment.Value] = [:], credentials: [TestEnvironment.Credential] = [],
    credentialFaults: [TestEnvironment.CredentialFault] = [],
    clock: TestEnvironment.ClockSettings? = nil, seed: String? = nil, cassette: String? = nil,
    policies: TestEnvironment.Policies? = nil, streams: TestEnvironment.StreamPace? = nil,
    allowedHosts: [String] = [], decodedLimit: Int? = nil,
    ports: [String] = [],
    rules: TestEnvironment.MatchingRules? = nil, order: TestEnvironment.PlaybackOrder? = nil,
    redact: TestEnvironment.RedactionRules = TestEnvironment.RedactionRules(), shift: TestEnvironment.DateShift? = nil,
    host: TestEnvironment.Host? = nil
  ) -> Self {
    EnvironmentTrait(
      settings: Settings(
        mode: mode, upstreams: upstreams, access: access, toggles: toggles, values: values, defaults: defaults,
        credentials: credentials, credentialFaults: credentialFaults, clock: clock, seed: seed, cassette: cassette,
        policies: policies, streams: streams, allowedHosts: allowedHosts, decodedLimit: decodedLimit, ports: ports,
        rules: rules, order: order,
        redaction: redact, shift: shift,
        host: host))
  }
}
