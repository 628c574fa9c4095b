import DaemonClient

/// The host of an environment: the one set in code, otherwise by `DIORAMA_DAEMON`, otherwise this process if the platform
/// allows it.
enum RequestedHost {
  static let variable = "DIORAMA_DAEMON"

  /// Resolves the host.
  ///
  /// - Parameters:
  ///   - code: the host set in code, if any.
  ///   - variables: the process's environment variables.
  /// - Returns: the daemon's state folder; nil for this process.
  /// - Throws: ``DioramaTestingError`` if the variable is not `0`, `1` or an absolute path.
  static func resolve(
    _ code: TestEnvironment.Host?, variables: [String: String]
  ) throws(DioramaTestingError) -> DaemonHome? {
    let host = if let code { code } else { try named(variables[variable] ?? "") }
    switch host.place {
    case .embedded: return nil
    case .daemon(nil): return .standard(variables: variables)
    case .daemon(let folder?): return DaemonHome(folder: folder)
    }
  }

  private static func named(_ text: String) throws(DioramaTestingError) -> TestEnvironment.Host {
    switch text {
    case "": return EmbeddedHosting.isAvailable ? .embedded : .daemon
    case "0": return .embedded
    case "1": return .daemon
    case _ where text.hasPrefix("/"): return .daemon(stateFolder: text)
    default:
      throw DioramaTestingError(
        .usage,
        "\(variable) is '\(text)'; set it to 1 for your own daemon, to 0 for none, or to the absolute path of a "
          + "daemon's state folder")
    }
  }
}
