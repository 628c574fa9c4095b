public import Foundation

/// The app's handle on its world: time, random input, switches, backends.
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

  let endpoints: Endpoints

  /// Finds the contract that the app was started with: `-DioramaContract` among its arguments, else
  /// `DIORAMA_CONTRACT` in its environment.
  ///
  /// - Returns: the live world where there is no contract.
  /// - Throws: ``DioramaError`` when the contract is broken or of a later version. The app should say so and end: to go
  ///   on would be to reach the real backends from a test.
  public static func launch() throws(DioramaError) -> AppControls {
    #if DEBUG || Controlled
      return try launch(
        arguments: CommandLine.arguments, environment: ProcessInfo.processInfo.environment,
        warn: { FileHandle.standardError.write(Data("diorama: \($0)\n".utf8)) })
    #else
      return .live
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

  /// The real world.
  package static var live: AppControls {
    AppControls(clock: .live, strings: .live, toggles: .live, values: Values([:]), endpoints: .live)
  }

  private init(clock: DioramaClock, strings: RandomStrings, toggles: Toggles, values: Values, endpoints: Endpoints) {
    self.clock = clock
    self.strings = strings
    self.toggles = toggles
    self.values = values
    self.endpoints = endpoints
  }
}
