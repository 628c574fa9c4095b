public import Foundation
import LaunchContract

/// The app's handle on its world: time, random input, switches, credentials, backends.
///
/// Make one where the app starts and hand it on; there is no shared one. Without a launch contract everything is live,
/// at no cost: nothing is read, opened or sent. With one, the app lives in the world that a test has made for it.
///
/// ```swift
/// let controls = try AppControls.launch()
/// let today = controls.clock.now
/// let api = controls.endpoint("api", default: URL(string: "https://dev.api1.com")!)
/// ```
///
/// Only a debug build, or one with the package trait `Controlled`, looks for a contract.
public struct AppControls: Sendable {
  /// The app's time.
  public let clock: DioramaClock
  /// The app's random input.
  public let strings: RandomStrings
  /// The app's switches.
  public let toggles: Toggles
  /// Whatever else the test has for the app.
  public let values: Values
  /// The app's passwords and tokens: in memory under a contract, else the machine's, or what the app has brought.
  public let credentials: any CredentialStore

  let endpoints: Endpoints
  #if DEBUG || Controlled
    /// Nil where nobody is to be told of anything.
    let reporter: UsageReporter?
    /// Nil where there is no environment.
    let environment: ControlAddress?
  #endif

  /// Finds the contract that the app was started with: `-DioramaContract` among its arguments, else
  /// `DIORAMA_CONTRACT` in its environment.
  ///
  /// The contract's user defaults go into the argument domain of `UserDefaults.standard`, with their types.
  ///
  /// - Returns: the live world where there is no contract.
  /// - Throws: ``DioramaError`` when the contract is broken or of a later version. The app should say so and end: to go
  ///   on would be to reach the real backends from a test.
  public static func launch() throws(DioramaError) -> AppControls {
    try launch(credentials: platformCredentialStore())
  }

  /// Does what ``launch()`` does, for an app that declares all that a test can set in it.
  ///
  /// ```swift
  /// let controls = try AppControls.launch(declaring: [.toggle(.skipOnboarding), .value(.location)])
  /// ```
  ///
  /// - Parameter registry: what a test can set in this app: a misspelt name ends the launch.
  /// - Returns: the live world where there is no contract.
  /// - Throws: ``DioramaError`` as ``launch()`` does, and when the contract sets what is not declared.
  public static func launch(declaring registry: ControlRegistry) throws(DioramaError) -> AppControls {
    try launch(declaring: registry, credentials: platformCredentialStore())
  }

  /// Does what ``launch()`` does, for an app that has a credential store of its own.
  ///
  /// ```swift
  /// import DioramaSecretService
  /// let controls = try AppControls.launch(credentials: SecretServiceCredentialStore())
  /// ```
  ///
  /// - Parameters:
  ///   - registry: what a test can set in this app; nil: nothing is checked.
  ///   - credentials: the store of the live world. Under a contract it is not even made: the app gets one in memory,
  ///     with what the test has put in.
  /// - Returns: the live world where there is no contract.
  /// - Throws: ``DioramaError`` when the contract is broken or of a later version.
  public static func launch(
    declaring registry: ControlRegistry? = nil, credentials: @autoclosure () -> any CredentialStore
  ) throws(DioramaError) -> AppControls {
    #if DEBUG || Controlled
      return try launch(
        arguments: CommandLine.arguments, environment: ProcessInfo.processInfo.environment, declaring: registry,
        defaults: { .standard }, credentials: credentials(),
        warn: { FileHandle.standardError.write(Data("diorama: \($0.escapedForTerminal)\n".utf8)) })
    #else
      return live(credentials())
    #endif
  }

  /// The URL at which the app reaches a backend.
  ///
  /// - Parameters:
  ///   - name: the upstream's name, as in `--upstream NAME=URL`.
  ///   - url: where the backend is without a test. In a test that has not declared it, it is asked for by its host on
  ///     the environment's main port, so that it is never reached by mistake.
  /// - Returns: the URL, to which paths are to be appended.
  public func endpoint(_ name: String, default url: URL) -> URL {
    endpoints.url(name, default: url)
  }

  /// Tells the test's environment at once what the app has read so far: toggles, recorded values.
  ///
  /// The environment hears of it anyway, in the background, some milliseconds later at most, and of the rest when the
  /// process exits. Call this where a test in the same process goes on to ask for the report, or where the app ends
  /// itself without `exit`.
  ///
  /// ```swift
  /// controls.flush()
  /// ```
  ///
  /// It returns once the environment has it, or cannot be reached, within seconds. Live it does nothing.
  public func flush() {
    #if DEBUG || Controlled
      reporter?.flush()
    #endif
  }

  /// The real world.
  package static var live: AppControls { live(platformCredentialStore()) }

  /// The real world, with a store of the app's own.
  package static func live(_ credentials: any CredentialStore) -> AppControls {
    AppControls(
      clock: .live, strings: .live, toggles: .live, values: .live, credentials: credentials, endpoints: .live)
  }

  private init(
    clock: DioramaClock, strings: RandomStrings, toggles: Toggles, values: Values, credentials: any CredentialStore,
    endpoints: Endpoints
  ) {
    self.clock = clock
    self.strings = strings
    self.toggles = toggles
    self.values = values
    self.credentials = credentials
    self.endpoints = endpoints
    #if DEBUG || Controlled
      reporter = nil
      environment = nil
    #endif
  }
}
