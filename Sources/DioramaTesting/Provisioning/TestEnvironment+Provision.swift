import Basics
import HTTPMessages
public import Testing
public import XCTest

extension TestEnvironment {
  /// Provisions an environment for a test case of XCTest; call it in `setUp`.
  ///
  /// It is ``current`` until the test ends, and ends in a teardown block: its report then fails the test at the line of
  /// this call.
  ///
  /// ```swift
  /// override func setUp() async throws {
  ///   environment = try await TestEnvironment.provision(
  ///     for: self, mode: .once, upstreams: ["api": "https://dev.api1.com"])
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - testCase: the test case.
  ///   - mode: what to do with requests. The variable `DIORAMA_MODE` outranks it.
  ///   - upstreams: the backends, an origin such as `https://dev.api1.com` by each name. In replay the cassette's own
  ///     serve when there are none.
  ///   - access: how backends are reached, by name, where the origin does not say it all.
  ///   - toggles: switches and values that steer the app.
  ///   - values: what the app's own keys are set to.
  ///   - defaults: user defaults that the app is to find.
  ///   - credentials: what its credential store holds.
  ///   - credentialFaults: the trouble that its credential store is in, such as `.locked`.
  ///   - clock: which time it is for the app, and how it goes on.
  ///   - seed: what random values are derived from; nil: as recorded, else random.
  ///   - cassette: its path, with or without `.har`; a relative one begins at the folder of `file`. Nil:
  ///     `Cassettes/<class>/<test>`.
  ///   - policies: what is to become of an old recording, and of interactions that are not used.
  ///   - streams: when the parts of recorded streams leave; nil: one after the other, without waiting.
  ///   - allowedHosts: hosts beside the endpoints' and the upstreams' own by which clients may address endpoints, and
  ///     whose pages may use them while the environment records or adds secrets to requests; `*` stands for all.
  ///   - decodedLimit: the most bytes to which a compressed body is decoded, 1 GiB where it is left out; one that has more is
  ///     kept as it was sent, and not looked into for secrets.
  ///   - ports: names of free ports for the app to bind.
  ///   - rules: what counts as the same request; nil: what a rules file beside the cassette says, else the defaults.
  ///   - order: in which order interactions play; nil: what the rules say, else `request`.
  ///   - redact: what is taken out of the recording beside what always is; files beside the cassette add to it.
  ///   - shift: moves dates in recorded answers to the clock's time; nil: where a file beside the cassette says so.
  ///   - host: this process or a daemon; nil: what the variable `DIORAMA_DAEMON` says, else this process.
  ///   - file: the test's file; left out, the caller's.
  ///   - line: where failures are shown; left out, the caller's line.
  /// - Returns: the environment.
  /// - Throws: ``DioramaTestingError``, saying what is wrong and what to do next.
  public static func provision(
    for testCase: XCTestCase, mode: Mode = .once, upstreams: [String: String] = [:],
    access: [String: UpstreamAccess] = [:], toggles: [String: Value] = [:], values: [String: Value] = [:],
    defaults: [String: Value] = [:], credentials: [Credential] = [],
    credentialFaults: [CredentialFault] = [], clock: ClockSettings? = nil, seed: String? = nil, cassette: String? = nil,
    policies: Policies? = nil, streams: StreamPace? = nil, allowedHosts: [String] = [], decodedLimit: Int? = nil,
    ports: [String] = [], rules: MatchingRules? = nil,
    order: PlaybackOrder? = nil,
    redact: RedactionRules = RedactionRules(), shift: DateShift? = nil, host: Host? = nil,
    file: StaticString = #filePath, line: UInt = #line
  ) async throws -> TestEnvironment {
    let settings = Settings(
      mode: mode, upstreams: upstreams, access: access, toggles: toggles, values: values, defaults: defaults,
      credentials: credentials,
      credentialFaults: credentialFaults, clock: clock, seed: seed, cassette: cassette, policies: policies,
      streams: streams, allowedHosts: allowedHosts, decodedLimit: decodedLimit,
      ports: ports,
      rules: rules, order: order, redaction: redact, shift: shift, host: host)
    let reporter = Reporter.xctest(file: file, line: line)
    let environment = try await make(
      settings, for: TestIdentity(testCase, file: "\(file)"), reporter: reporter)
    ofTestCase.withLock { $0 = environment }
    // The block runs while the test case does, and nothing else of it does then.
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

  /// Provisions an environment inside a test; the test ends it with `await environment.end()`.
  ///
  /// For tests that need a part of the environment first (a backend of their own to record from), more than one environment, or a
  /// name of their own for a case.
  ///
  /// ```swift
  /// @Test(arguments: Clinic.all) func books(at clinic: Clinic) async throws {
  ///   let environment = try await TestEnvironment.provision(case: clinic.name, upstreams: ["api": backend.url])
  ///   …
  ///   await environment.end()
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - name: which case of a parameterised test this is; nil to make a name from its arguments.
  ///   - mode: what to do with requests. The variable `DIORAMA_MODE` outranks it.
  ///   - upstreams: the backends, an origin such as `https://dev.api1.com` by each name. In replay the cassette's own
  ///     serve when there are none.
  ///   - access: how backends are reached, by name, where the origin does not say it all.
  ///   - toggles: switches and values that steer the app.
  ///   - values: what the app's own keys are set to.
  ///   - defaults: user defaults that the app is to find.
  ///   - credentials: what its credential store holds.
  ///   - credentialFaults: the trouble that its credential store is in, such as `.locked`.
  ///   - clock: which time it is for the app, and how it goes on.
  ///   - seed: what random values are derived from; nil: as recorded, else random.
  ///   - cassette: its path, with or without `.har`; a relative one begins at the folder of the test's file. Nil:
  ///     `Cassettes/<suite>/<test>`, with a further `/<case>` where there are cases.
  ///   - policies: what is to become of an old recording, and of interactions that are not used.
  ///   - streams: when the parts of recorded streams leave; nil: one after the other, without waiting.
  ///   - allowedHosts: hosts beside the endpoints' and the upstreams' own by which clients may address endpoints, and
  ///     whose pages may use them while the environment records or adds secrets to requests; `*` stands for all.
  ///   - decodedLimit: the most bytes to which a compressed body is decoded, 1 GiB where it is left out; one that has more is
  ///     kept as it was sent, and not looked into for secrets.
  ///   - ports: names of free ports for the app to bind.
  ///   - rules: what counts as the same request; nil: what a rules file beside the cassette says, else the defaults.
  ///   - order: in which order interactions play; nil: what the rules say, else `request`.
  ///   - redact: what is taken out of the recording beside what always is; files beside the cassette add to it.
  ///   - shift: moves dates in recorded answers to the clock's time; nil: where a file beside the cassette says so.
  ///   - host: this process or a daemon; nil: what the variable `DIORAMA_DAEMON` says, else this process.
  ///   - sourceLocation: where failures are shown; left out, the caller's.
  /// - Returns: the environment.
  /// - Throws: ``DioramaTestingError``, saying what is wrong and what to do next.
  public static func provision(
    case name: String? = nil, mode: Mode = .once, upstreams: [String: String] = [:],
    access: [String: UpstreamAccess] = [:], toggles: [String: Value] = [:], values: [String: Value] = [:],
    defaults: [String: Value] = [:], credentials: [Credential] = [],
    credentialFaults: [CredentialFault] = [], clock: ClockSettings? = nil, seed: String? = nil, cassette: String? = nil,
    policies: Policies? = nil, streams: StreamPace? = nil, allowedHosts: [String] = [], decodedLimit: Int? = nil,
    ports: [String] = [], rules: MatchingRules? = nil,
    order: PlaybackOrder? = nil,
    redact: RedactionRules = RedactionRules(), shift: DateShift? = nil, host: Host? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> TestEnvironment {
    let settings = Settings(
      mode: mode, upstreams: upstreams, access: access, toggles: toggles, values: values, defaults: defaults,
      credentials: credentials,
      credentialFaults: credentialFaults, clock: clock, seed: seed, cassette: cassette, policies: policies,
      streams: streams, allowedHosts: allowedHosts, decodedLimit: decodedLimit,
      ports: ports,
      rules: rules, order: order, redaction: redact, shift: shift, host: host)
    let identity =
      Test.current.map { TestIdentity($0, case: Test.Case.current, named: name) }
      ?? TestIdentity(outsideOfTestsIn: sourceLocation.filePath)
    return try await make(settings, for: identity, reporter: .swiftTesting(sourceLocation))
  }
}
