import DaemonClient

/// Where an environment is to live: what the code says, else what `DIORAMA_DAEMON` says, else here.
enum RequestedHost {
  static let variable = "DIORAMA_DAEMON"

  /// - Parameters:
  ///   - code: what the test asks for.
  ///   - variables: the process's.
  /// - Returns: the daemon's state folder; nil for this process.
  /// - Throws: when the variable says neither yes nor no nor a folder.
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
    case "", "0": return .embedded
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
