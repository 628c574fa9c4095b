package import ControlAPI
import Basics
import Diorama
import EnvironmentConfiguration
public import Foundation
import HTTPMessages
import LaunchContract

/// An isolated environment for one test: a cassette of recorded HTTP, a clock, a seed, toggles, credentials, endpoints.
///
/// In Swift Testing a trait provisions it; in XCTest `setUp` does. It ends with the test. Its report fails the test if
/// something went wrong: a request that was not recorded, a missing random value, a recording that could not be
/// written.
///
/// ```swift
/// @Test(.environment(.replay, upstreams: ["api": "https://dev.api1.com"], toggles: ["skip-onboarding": true]))
/// func booksASlot() async throws {
///   let app = TestApplication(executable: "clinic")
///   try await app.launch()
/// }
/// ```
/// ```swift
/// final class BookingTests: XCTestCase {
///   override func setUp() async throws {
///     _ = try await TestEnvironment.provision(for: self, upstreams: ["api": "https://dev.api1.com"])
///   }
/// }
/// ```
///
/// The cassette is `Cassettes/<suite>/<test>.har` beside the test's file, and `Cassettes/<suite>/<test>/<case>.har` for
/// a case of a parameterized test. A test without a suite uses the name of its file. (Exclude the folder from the test
/// target: `exclude: ["Cassettes"]`.) `DIORAMA_MODE=record swift test` re-records the cassettes; the variable overrides
/// the mode in the code.
public final class TestEnvironment: Sendable {
  private struct State {
    var applications: [TestApplication] = []
    var folder: String?
    var hasEnded = false
    /// Credentials for programs launched from now on, in addition to those in the configuration.
    var credentials: [LaunchContract.Credentials.Item] = []
    /// The random values of the test itself.
    var strings: RandomStrings?
  }

  let backend: any EnvironmentBackend
  let identity: TestIdentity
  let reporter: Reporter
  private let state = Guarded(State())

  /// The environment of the running code, in Swift Testing.
  @TaskLocal static var scoped: TestEnvironment?
  /// The environment of the running XCTest test case. Test cases run one at a time, and do not run in the task of
  /// `setUp`.
  static let ofTestCase = Guarded<TestEnvironment?>(nil)

  private init(
    _ backend: any EnvironmentBackend, for identity: TestIdentity, reporter: Reporter
  ) {
    self.backend = backend
    self.identity = identity
    self.reporter = reporter
  }

  /// Provisions an environment, in this process or in a daemon.
  ///
  /// - Parameters:
  ///   - configuration: the settings of the environment.
  ///   - identity: the test.
  ///   - reporter: reports failures.
  ///   - journal: the path of a file for the journal with requests, which an environment in a daemon does not write.
  /// - Returns: the environment.
  /// - Throws: ``DioramaTestingError``.
  static func make(
    _ configuration: Configuration, for identity: TestIdentity, reporter: Reporter, journal: String? = nil
  ) async throws(DioramaTestingError) -> TestEnvironment {
    let variables = ProcessInfo.processInfo.environment
    let settings = try configuration.resolved(for: identity, variables: variables)
    let daemon = try RequestedHost.resolve(configuration.host, variables: variables)
    let backend: any EnvironmentBackend
    do {
      // Rejects invalid settings here if the platform allows it; otherwise the daemon does.
      try EmbeddedHosting.check(settings)
      let isContinuousIntegration = !(variables["CI"] ?? "").isEmpty
      backend =
        if let daemon {
          try await DaemonBackend(settings, isContinuousIntegration: isContinuousIntegration, daemon: daemon)
        } else {
          try EmbeddedHosting.provision(
            settings, isContinuousIntegration: isContinuousIntegration, journal: journal,
            lease: try await TestLease(settings, isContinuousIntegration: isContinuousIntegration, variables: variables)
          )
        }
    } catch {
      throw DioramaTestingError(error.kind == .usage ? .usage : .environment, error.message)
    }
    for note in backend.notes { Reporter.say("\(identity.name): \(note)") }
    return TestEnvironment(backend, for: identity, reporter: reporter)
  }

  deinit {
    guard !state.withLock({ $0.hasEnded }) else { return }
    reporter.fail("the environment was never ended; call 'await environment.end()' at the end of the test")
    Task.detached { [backend] in try? await backend.end(hasSucceeded: false, expectsRequests: false) }
  }

  /// The environment of the running test: made by the trait `.environment` in Swift Testing, or by `provision(for:)` in
  /// XCTest.
  ///
  /// - Throws: ``DioramaTestingError`` without an environment, and in a detached task, which belongs to no test.
  public static var current: TestEnvironment {
    get throws(DioramaTestingError) {
      if let environment = scoped ?? ofTestCase.withLock({ $0 }) { return environment }
      throw DioramaTestingError(
        .usage,
        "no current environment; give the test the trait .environment(…), call TestEnvironment.provision(for: self) "
          + "in setUp, or launch the application with in: .outside")
    }
  }

  /// Runs code with this environment as ``current``, if the test has provisioned it.
  ///
  /// ```swift
  /// try await environment.asCurrent { try await TestApplication(executable: "clinic").launch() }
  /// ```
  ///
  /// - Parameter body: the code to run.
  /// - Returns: its result.
  public func asCurrent<Value>(_ body: () async throws -> Value) async rethrows -> Value {
    try await Self.$scoped.withValue(self) { try await body() }
  }

  // MARK: Properties

  /// The name in reports: `Booking/books a slot`.
  public var name: String { identity.name }

  /// The current mode; ``Mode/once`` is resolved to `record` or `replay`.
  public var mode: Mode { backend.mode }

  /// The cassette's HAR file; nil in `proxy` and `mock`.
  public var cassette: URL? { backend.cassette.map { URL(fileURLWithPath: $0) } }

  /// The seed of random values.
  public var seed: String { backend.seed }

  /// The local URL of an upstream.
  ///
  /// - Parameter upstream: the upstream's name.
  /// - Returns: a URL such as `http://127.0.0.1:20013`.
  /// - Throws: ``DioramaTestingError`` if the upstream is not declared.
  public func endpoint(_ upstream: String) throws(DioramaTestingError) -> URL {
    let endpoints = backend.endpoints
    guard let url = endpoints[upstream].flatMap(URL.init(string:)) else {
      throw unknown("upstream", upstream, endpoints.keys.sorted(), "upstreams:")
    }
    return url
  }

  /// A port on 127.0.0.1 that is reserved until the environment ends.
  ///
  /// - Parameter name: a name given to `ports:`.
  /// - Returns: the port.
  /// - Throws: ``DioramaTestingError`` if the port is not declared.
  public func port(_ name: String) throws(DioramaTestingError) -> Int {
    let ports = backend.ports
    guard let port = ports[name] else { throw unknown("port", name, ports.keys.sorted(), "ports:") }
    return port
  }

  func unknown(
    _ what: String, _ name: String, _ names: [String], _ argument: String
  ) -> DioramaTestingError {
    let near = EditDistance.likely(name, among: names)
    return DioramaTestingError(
      .usage,
      "unknown \(what) '\(name)'" + (near.map { "; did you mean '\($0)'?" } ?? ".")
        + " Declare it with \(argument)")
  }

  /// Environment variables for a program that is started without ``TestApplication``: the launch contract
  /// (`DIORAMA_CONTRACT`) and, for programs without the library, endpoints and ports. They are valid until the
  /// environment ends.
  ///
  /// ```swift
  /// container.environment.merge(try environment.launchEnvironment()) { $1 }
  /// ```
  ///
  /// - Returns: the variables.
  /// - Throws: ``DioramaTestingError`` if the contract cannot be written, or the environment has ended.
  public func launchEnvironment() throws(DioramaTestingError) -> [String: String] { try launchParameters().variables }

  // MARK: Lifecycle

  /// The variables and arguments for launching a program.
  ///
  /// - Parameter folder: the folder for a contract that does not fit into a variable; nil for a folder that is removed
  ///   with the environment.
  /// - Returns: variables and arguments.
  /// - Throws: ``DioramaTestingError`` if the contract cannot be written.
  func launchParameters(in folder: String? = nil) throws(DioramaTestingError) -> LaunchParameters {
    try checkIsAlive()
    do {
      return try backend.launchParameters(adding: state.withLock { $0.credentials }) { () throws(CodedError) in
        if let folder { folder } else { try ownFolder() }
      }
    } catch {
      throw DioramaTestingError(.environment, "\(error)")
    }
  }

  /// The variables and arguments for launching a program, including changes by other processes.
  func refreshedLaunchParameters(in folder: String) async throws(DioramaTestingError) -> LaunchParameters {
    try checkIsAlive()
    do { try await backend.refresh() } catch {
      throw DioramaTestingError(.environment, error.message)
    }
    return try launchParameters(in: folder)
  }

  func checkIsAlive(_ advice: String = "launch programs") throws(DioramaTestingError) {
    guard state.withLock({ $0.hasEnded }) else { return }
    throw DioramaTestingError(.usage, "the environment of \(name) has ended; \(advice) before it ends")
  }

  /// How clients in the test reach the environment.
  ///
  /// - Throws: ``DioramaTestingError`` if the environment has ended.
  package var clientRoute: ClientRoute {
    get throws(DioramaTestingError) {
      try checkIsAlive("send requests")
      do { return try backend.route } catch {
        throw DioramaTestingError(.environment, error.message)
      }
    }
  }

  /// What has happened in the environment so far; of very many requests, the last ones.
  ///
  /// - Throws: ``DioramaTestingError`` if the daemon does not respond, or the environment has ended there.
  package func journal() async throws(DioramaTestingError) -> [JournalPage.Entry] {
    var entries: [JournalPage.Entry] = []
    var last = 0
    do {
      while true {
        let page = try await backend.journalPage(after: last)
        entries += page.entries
        last = page.last
        guard page.more else { return entries }
      }
    } catch {
      throw DioramaTestingError(.environment, error.message)
    }
  }

  /// The variables by which programs find the environment, without secrets; empty if they are not available.
  var ownVariables: [String: String] { ((try? launchEnvironment()) ?? [:]).namingEnvironment }

  /// The local URLs of the environment, by the names of their upstreams.
  package var endpoints: [String: String] { backend.endpoints }

  private func ownFolder() throws(CodedError) -> String {
    try state.withLock { state throws(CodedError) in
      if let folder = state.folder { return folder }
      let folder = try TemporaryFolder.make()
      state.folder = folder
      return folder
    }
  }

  /// Adds a credential for programs that are launched from now on, or replaces one.
  func keep(_ credential: LaunchContract.Credentials.Item) {
    state.withLock { $0.credentials.add(credential) }
  }

  /// The random values of the test itself. Their keys are separate from the app's.
  var setupStrings: RandomStrings {
    get throws(DioramaError) {
      try state.withLock { state throws(DioramaError) in
        if let strings = state.strings { return strings }
        // Shared by all clients, because it counts the uses of each key.
        let strings = try RandomStrings.reported(to: backend.contract).scope("setup")
        state.strings = strings
        return strings
      }
    }
  }

  /// The applications launched in the environment.
  var applications: [TestApplication] { state.withLock { $0.applications } }

  /// Adds an application that ends with the environment.
  func adopt(_ application: TestApplication) {
    state.withLock { state in
      if !state.applications.contains(where: { $0 === application }) { state.applications.append(application) }
    }
  }

  /// Ends the environment: terminates its applications, closes its ports, saves the recording, and fails the test if
  /// the report contains errors.
  ///
  /// The trait and `provision(for:)` call it. After `provision(case:)`, call it at the end of the test. A second call
  /// does nothing.
  public func end() async {
    guard let outcome = await finish(hasFailed: false) else { return }
    reporter.report(outcome)
  }

  /// Ends the environment.
  ///
  /// - Parameters:
  ///   - hasFailed: whether the test has already failed.
  ///   - keepsJournal: whether the outcome has the journal and attachments also of a test that succeeded.
  /// - Returns: the outcome; nil if it had ended before.
  package func finish(hasFailed: Bool, keepsJournal: Bool = false) async -> TestOutcome? {
    let claimed = state.withLock { state -> State? in
      guard !state.hasEnded else { return nil }
      state.hasEnded = true
      return state
    }
    guard let claimed else { return nil }
    for application in claimed.applications { await application.terminate() }
    // A daemon forgets it.
    let journal = keepsJournal ? try? await self.journal() : nil
    let report: Result<Report, CodedError>
    do {
      report = .success(
        try await backend.end(hasSucceeded: !hasFailed, expectsRequests: !hasFailed && !claimed.applications.isEmpty))
    } catch {
      report = .failure(error)
    }
    if let folder = claimed.folder { try? FileManager.default.removeItem(atPath: folder) }
    var outcome = TestOutcome(
      report, claimed.applications, name: name, hasFailed: hasFailed, keepsAttachments: keepsJournal)
    outcome.journal = journal ?? []
    return outcome
  }
}
