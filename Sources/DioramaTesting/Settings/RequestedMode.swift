import Basics

/// The mode in force: what `DIORAMA_MODE` says, else what the code says.
enum RequestedMode {
  static let variable = "DIORAMA_MODE"

  /// - Parameters:
  ///   - code: the mode that the test asks for.
  ///   - hasUpstreams: whether the test declares any. A test of stubs alone has nothing to record and stays as it is.
  ///   - variables: the process's.
  /// - Returns: the mode.
  /// - Throws: when the variable names no mode.
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
