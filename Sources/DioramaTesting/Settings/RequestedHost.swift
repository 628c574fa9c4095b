import DaemonClient

/// The daemon of an environment.
enum DaemonPlace: Sendable, Hashable {
  case local(DaemonHome)
  /// On another machine.
  case remote(RemoteDaemon)
}

/// The host of an environment: the one set in code, otherwise by `DIORAMA_DAEMON`, otherwise this process if the platform
/// allows it.
enum RequestedHost {
  static let variable = "DIORAMA_DAEMON"

  /// Resolves the host.
  ///
  /// - Parameters:
  ///   - code: the host set in code, if any.
  ///   - variables: the process's environment variables.
  /// - Returns: the daemon; nil for this process.
  /// - Throws: ``DioramaTestingError`` if the variable is not `0`, `1`, an absolute path or a URL.
  static func resolve(
    _ code: TestEnvironment.Host?, variables: [String: String]
  ) throws(DioramaTestingError) -> DaemonPlace? {
    if code == nil || code == .daemon {
      do {
        if let remote = try RemoteDaemon(variables: variables) { return .remote(remote) }
      } catch {
        throw DioramaTestingError(.usage, error.message)
      }
    }
    let host = if let code { code } else { try named(variables[variable] ?? "") }
    switch host.place {
    case .embedded: return nil
    case .daemon(nil): return .local(.standard(variables: variables))
    case .daemon(let folder?): return .local(DaemonHome(folder: folder))
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
          + "daemon's state folder or the https URL of one on another machine")
    }
  }
}
