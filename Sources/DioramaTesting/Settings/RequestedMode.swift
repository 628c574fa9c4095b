import Basics
import EnvironmentConfiguration

/// The mode of a test: the one set by `DIORAMA_MODE`, otherwise the one set in code.
enum RequestedMode {
  /// Resolves the mode.
  ///
  /// - Parameters:
  ///   - code: the mode set in code.
  ///   - hasUpstreams: whether the test declares upstreams. Without them, a `mock` test has nothing to record and keeps
  ///     its mode.
  ///   - variables: the process's environment variables.
  /// - Returns: the mode.
  /// - Throws: ``DioramaTestingError`` if the variable's value is not a mode.
  static func resolve(
    _ code: TestEnvironment.Mode, hasUpstreams: Bool, variables: [String: String]
  ) throws(DioramaTestingError) -> TestEnvironment.Mode {
    let text: String?
    do { text = try EnvironmentConfiguration.requestedMode(variables) } catch {
      throw DioramaTestingError(.usage, error.message)
    }
    guard let mode = text.flatMap(TestEnvironment.Mode.init(rawValue:)) else { return code }
    return code == .mock && !hasUpstreams ? code : mode
  }
}
