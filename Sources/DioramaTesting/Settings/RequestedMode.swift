import Basics

/// The mode of a test: the one set by `DIORAMA_MODE`, otherwise the one set in code.
enum RequestedMode {
  static let variable = "DIORAMA_MODE"

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
    guard let text = variables[variable], !text.isEmpty else { return code }
    guard let mode = TestEnvironment.Mode(rawValue: text) else {
      let names = TestEnvironment.Mode.allCases.map(\.rawValue)
      let nearest = EditDistance.nearest(to: text, among: names).first.map { "; did you mean '\($0)'?" } ?? ""
      throw DioramaTestingError(
        .usage, "\(variable) is '\(text)', which is not a mode\(nearest) Choose from " + names.joined(separator: ", "))
    }
    return code == .mock && !hasUpstreams ? code : mode
  }
}
