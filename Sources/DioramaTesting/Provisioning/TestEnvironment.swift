import EnvironmentConfiguration
import EnvironmentService
public import Foundation
import HTTPMessages
import LaunchContract

/// One isolated environment for one test: a cassette of recorded HTTP, a date, a seed, toggles, credentials, endpoints.
///
/// In Swift Testing a trait provisions it; in XCTest `setUp` does. Either way it ends with the test, and its report fails
/// the test when the environment did not hold: a request that was not recorded, a missing random value, a recording that
/// could not be written.
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
/// The cassette is `Cassettes/<suite>/<test>.har` beside the test's file, and `Cassettes/<suite>/<test>/<case>.har` for a
/// case of a parameterised test; a test outside any suite has its file's name for one. (SwiftPM wants to be told that they
/// are no sources: `exclude: ["Cassettes"]` in the test target.) `DIORAMA_MODE=record swift test` records them again
/// whatever the code says, and so does every other mode's name.
public final class TestEnvironment: Sendable {
  private struct State {
    var applications: [TestApplication] = []
    var folder: String?
    var hasEnded = false
  }

  let backend: any EnvironmentBackend
  let identity: TestIdentity
  let reporter: Reporter
  private let state = Guarded(State())

  /// The environment that the running code is inside of, in Swift Testing.
  @TaskLocal static var scoped: TestEnvironment?
  /// The one of the test case that runs, in XCTest, which runs one at a time and shares no task with `setUp`.
  static let ofTestCase = Guarded<TestEnvironment?>(nil)

  private init(_ backend: any EnvironmentBackend, for identity: TestIdentity, reporter: Reporter) {
    self.backend = backend
    self.identity = identity
    self.reporter = reporter
  }

  /// Provisions it, here or in a daemon.
  static func make(
    _ configuration: Configuration, for identity: TestIdentity, reporter: Reporter
  ) async throws(DioramaTestingError) -> TestEnvironment {
    let variables = ProcessInfo.processInfo.environment
    let settings = try configuration.resolved(for: identity, variables: variables)
    let home = try RequestedHost.resolve(configuration.host, variables: variables)
    let backend: any EnvironmentBackend
    do throws(EnvironmentError) {
      // Also for a daemon: what it would refuse is refused here.
      let specification = try EnvironmentSpecification(settings, variables: variables)
      backend =
        if let home {
          try await DaemonBackend(
            settings.forDaemon(isContinuousIntegration: specification.isContinuousIntegration),
            credentials: specification.contractCredentials, home: home)
        } else {
          try EmbeddedBackend(specification, ports: settings.ports)
        }
    } catch {
      throw DioramaTestingError(error.kind == .usage ? .usage : .environment, error.message)
    }
    for note in backend.notes { Reporter.say("\(identity.name): \(note)") }
    return TestEnvironment(backend, for: identity, reporter: reporter)
  }

  deinit {
    guard !state.withLock({ $0.hasEnded }) else { return }
    reporter.fail("the environment was never ended; call 'await environment.end()' when the test is through with it")
    Task.detached { [backend] in try? await backend.end(keepingEmptyRecording: true) }
  }

  /// The environment of the running test: of the trait `.environment` in Swift Testing, or what
  /// `provision(for:)` made for the running test case in XCTest.
  ///
  /// - Throws: ``DioramaTestingError`` where there is none, also in a detached task, which belongs to no test.
  public static var current: TestEnvironment {
    get throws(DioramaTestingError) {
      if let environment = scoped ?? ofTestCase.withLock({ $0 }) { return environment }
      throw DioramaTestingError(
        .usage,
        "there is no environment here; give the test the trait .environment(…), call TestEnvironment.provision(for: self) "
          + "in setUp, or launch the application with in: .outside")
    }
  }

  /// Runs something with this environment as ``current``: for one that the test has provisioned itself.
  ///
  /// ```swift
  /// try await environment.asCurrent { try await TestApplication(executable: "clinic").launch() }
  /// ```
  ///
  /// - Parameter body: what to run.
  /// - Returns: what it returns.
  public func asCurrent<Value>(_ body: () async throws -> Value) async rethrows -> Value {
    try await Self.$scoped.withValue(self) { try await body() }
  }

  // MARK: What it is

  /// The name that stands in reports: `Booking/books a slot`.
  public var name: String { identity.name }

  /// The mode in force; never ``Mode/once``, which is `record` or `replay` by now.
  public var mode: Mode { Mode(rawValue: backend.mode.rawValue) ?? .once }

  /// The cassette's HAR file; nil in `proxy` and `mock`.
  public var cassette: URL? { backend.cassette.map { URL(fileURLWithPath: $0) } }

  /// What random values are derived from.
  public var seed: String { backend.seed }

  /// The local URL at which the app reaches an upstream.
  ///
  /// - Parameter upstream: its name.
  /// - Returns: such as `http://127.0.0.1:20013`.
  /// - Throws: ``DioramaTestingError`` when no such upstream is declared.
  public func endpoint(_ upstream: String) throws(DioramaTestingError) -> URL {
    let endpoints = backend.endpoints
    guard let url = endpoints[upstream].flatMap(URL.init(string:)) else {
      throw unknown("upstream", upstream, endpoints.keys.sorted(), "upstreams:")
    }
    return url
  }

  /// A port of 127.0.0.1 that nobody else gets while the environment lives.
  ///
  /// - Parameter name: as given to `ports:`.
  /// - Returns: the port.
  /// - Throws: ``DioramaTestingError`` when no port has this name.
  public func port(_ name: String) throws(DioramaTestingError) -> Int {
    let ports = backend.ports
    guard let port = ports[name] else { throw unknown("port", name, ports.keys.sorted(), "ports:") }
    return port
  }

  private func unknown(
    _ what: String, _ name: String, _ names: [String], _ argument: String
  ) -> DioramaTestingError {
    let nearest = EditDistance.nearest(to: name, among: names).map { "'\($0)'" }.joined(separator: ", ")
    return DioramaTestingError(
      .usage,
      "there is no \(what) '\(name)'" + (nearest.isEmpty ? "" : "; there is \(nearest)")
        + "; declare it with \(argument)")
  }

  /// Variables for a program that the test starts by other means than ``TestApplication``: the launch contract
  /// (`DIORAMA_CONTRACT`) and, for programs without the library, endpoints and ports. They are good until the environment
  /// ends.
  ///
  /// ```swift
  /// container.environment.merge(try environment.launchEnvironment()) { $1 }
  /// ```
  ///
  /// - Returns: values by name.
  /// - Throws: ``DioramaTestingError`` when the contract cannot be written, or the environment has ended.
  public func launchEnvironment() throws(DioramaTestingError) -> [String: String] { try handover().variables }

  // MARK: Its life

  /// Makes the contract ready to be handed to a program.
  ///
  /// - Parameter folder: where a contract goes that does not fit into a variable; nil for one that goes with the
  ///   environment.
  /// - Returns: what the program is to get.
  /// - Throws: when the contract cannot be written.
  func handover(in folder: String? = nil) throws(DioramaTestingError) -> Handover {
    try checkIsAlive()
    do {
      return try backend.handover { () throws(EnvironmentError) in if let folder { folder } else { try ownFolder() } }
    } catch {
      throw DioramaTestingError(.environment, "\(error)")
    }
  }

  /// The same, with all that anybody has changed so far.
  func freshHandover(in folder: String) async throws(DioramaTestingError) -> Handover {
    try checkIsAlive()
    do throws(EnvironmentError) {
      try await backend.refresh()
    } catch {
      throw DioramaTestingError(.environment, error.message)
    }
    return try handover(in: folder)
  }

  private func checkIsAlive() throws(DioramaTestingError) {
    guard state.withLock({ $0.hasEnded }) else { return }
    throw DioramaTestingError(.usage, "the environment of \(name) has ended; launch programs before that")
  }

  private func ownFolder() throws(EnvironmentError) -> String {
    try state.withLock { state throws(EnvironmentError) in
      if let folder = state.folder { return folder }
      let folder = try TemporaryFolder.make()
      state.folder = folder
      return folder
    }
  }

  /// What was launched in it.
  var applications: [TestApplication] { state.withLock { $0.applications } }

  /// An application was launched, and is to end with this environment.
  func adopt(_ application: TestApplication) {
    state.withLock { state in
      if !state.applications.contains(where: { $0 === application }) { state.applications.append(application) }
    }
  }

  /// Ends the environment: its applications are terminated, its ports close, the recording is sealed, and the report fails
  /// the test if the environment did not hold.
  ///
  /// The trait and `provision(for:)` do it by themselves; whoever provisioned by `provision(case:)` calls it at the end of
  /// the test. A second call does nothing.
  public func end() async {
    guard let outcome = await finish(hasFailed: false) else { return }
    reporter.report(outcome)
  }

  /// - Parameter hasFailed: whether the test failed already.
  /// - Returns: nil when it had ended before.
  func finish(hasFailed: Bool) async -> TestOutcome? {
    let claimed = state.withLock { state -> State? in
      guard !state.hasEnded else { return nil }
      state.hasEnded = true
      return state
    }
    guard let claimed else { return nil }
    for application in claimed.applications { await application.terminate() }
    let report: Result<Report, EnvironmentError>
    do throws(EnvironmentError) {
      report = .success(try await backend.end(keepingEmptyRecording: !hasFailed))
    } catch {
      report = .failure(error)
    }
    if let folder = claimed.folder { try? FileManager.default.removeItem(atPath: folder) }
    return TestOutcome(report, claimed.applications, name: name, hasFailed: hasFailed)
  }
}
