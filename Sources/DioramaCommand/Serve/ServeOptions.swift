import Daemon
import DaemonClient
import Foundation

/// What `diorama serve` was told.
struct ServeOptions {
  static let command = "serve"

  static let table: [Options.Option] = [
    .init("--config", "FILE", "JSON, as Config/daemon.json; the other options outrank it"),
    .init(
      "--state", "DIR",
      "where its state is and it is found (default: $DIORAMA_HOME, else\n$XDG_RUNTIME_DIR/diorama, else ~/.local/state/diorama)"
    ),
    .init(
      "--control", "HOST:PORT",
      "where the control API listens, on 127.0.0.1 only\n(default: a free port, the same after a restart)"),
    .init("--ports", "LOW-HIGH", "the ports that are leased (default: 20000-32767)"),
    .init(
      "--portserver-address", "A",
      "where clients of portpicker find it; empty: nowhere\n(default: @unittest-portserver)"),
    .init("--on-demand", nil, "leave when there was nothing to do for a minute"),
    .init("--log-level", "L", "trace, debug, info (default), notice, warning, error or critical"),
    .init("--stop", nil, "end the daemon of the state folder, and wait for its end"),
    .init("--status", nil, "say whether one runs, and what it has"),
    .init("--json", nil, "with --status: as JSON"),
  ]

  static let help = """
    usage: diorama serve [option …]
           diorama serve --stop|--status [--state DIR] [--json]

    Hosts environments and leases ports for every process of this user, until it is ended by SIGTERM, SIGINT or --stop:
    then recordings are sealed and environments end; ports stay leased to their owners, for its next start. When it is
    killed instead, its next start brings everything back, but for the last tenth of a second of the journals,
    on the same ports. It prints one line of JSON when it is ready; its log, a line of JSON an event, goes to standard
    error. SIGUSR1 has it log its statistics.

    \(Options.describe(table))
    Exit status: 0 when it was ended well; 64 usage or configuration; 65 state of a newer version, or broken; 69 another
    daemon has the state folder, or (--stop, --status) none runs; 73 the state folder cannot be used; 74 a port is taken, or the
    state folder was removed while it ran; 75 a second signal, a second or more after the first, ended it at once.

    """

  let folder: String
  let configuration: DaemonConfiguration
  let isOnDemand: Bool

  /// - Throws: ``UsageError``, or a ``ConfigurationError`` of the file.
  init(_ options: Options, variables: [String: String]) throws {
    folder = try Self.folder(options, variables: variables)
    var configuration = try options.value("--config").map { try DaemonConfiguration(path: $0) } ?? DaemonConfiguration()
    do throws(ConfigurationError) {
      if let text = options.value("--control") { configuration.control = try ControlAddress(text) }
      if let text = options.value("--ports") { configuration.ports = try PortRange(text) }
    } catch {
      throw UsageError(error.description, command: Self.command)
    }
    if let address = options.value("--portserver-address") { configuration.portserverAddress = address }
    if let name = options.value("--log-level") {
      guard let level = Log.Level(rawValue: name) else {
        let names = Log.Level.allCases.map(\.rawValue)
        throw UsageError(
          "'\(name)' is no log level; choose from \(names.joined(separator: ", "))"
            + suggestion(for: name, among: names),
          command: Self.command)
      }
      configuration.logLevel = level
    }
    self.configuration = configuration
    isOnDemand = options.has("--on-demand")
  }

  /// Absolute path of the state folder.
  static func folder(_ options: Options, variables: [String: String]) throws(UsageError) -> String {
    guard let path = options.value("--state") else { return DaemonHome.standard(variables: variables).folder }
    guard !path.isEmpty else { throw UsageError("--state needs a folder", command: command) }
    return DaemonHome(folder: path).folder
  }
}
