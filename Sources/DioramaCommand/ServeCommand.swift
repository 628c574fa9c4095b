import Basics
import ChildProcesses
import ControlAPI
import Daemon
import DaemonClient
import EnvironmentService
import Foundation
import LaunchContract

/// `diorama serve`: runs the daemon, or controls a running one.
enum ServeCommand {
  static let command = Command(
    ServeOptions.command, "run the daemon",
    usage: ["serve [option …]", "serve --stop|--status [--state DIR] [--json]"],
    about: ServeOptions.about, options: ServeOptions.table, notes: ServeOptions.notes, run: run)

  private static func run(_ parsed: Options, terminal: Terminal) throws -> Int32 {
    let variables = ProcessInfo.processInfo.environment
    if parsed.has("--stop") || parsed.has("--status") {
      guard parsed.has("--stop") != parsed.has("--status") else {
        throw CodedError(usage: "--stop and --status cannot be combined", command: ServeOptions.command)
      }
      // A process id of another machine would be some other process here.
      let access = DaemonAccess(local: parsed)
      if parsed.has("--stop") { return try ServeControl.stop(access, terminal: terminal) }
      return try ServeControl.printStatus(access, isJSON: parsed.has("--json"))
    }
    return try serve(try ServeOptions(parsed, variables: variables), variables: variables)
  }

  private static func serve(_ options: ServeOptions, variables: [String: String]) throws -> Int32 {
    // Before any thread is created.
    let signals = Signals()
    let log = Log(level: options.configuration.logLevel)
    var daemonOptions = Daemon.Options(
      configuration: options.configuration, folder: options.folder, version: Build.version)
    daemonOptions.variables = variables
    daemonOptions.sockets = ActivatedSockets(variables: variables, pid: getpid())
    if options.isOnDemand { daemonOptions.idle = { Signals.end() } }
    daemonOptions.lost = { Signals.end() }
    let daemon = try blocking { [daemonOptions] in
      do { return Result<Daemon, any Error>.success(try await Daemon.start(daemonOptions, log: log)) } catch {
        return .failure(error)
      }
    }.get()
    do { try sayReady(daemon.ready) } catch {
      blocking { await daemon.stop() }
      throw error
    }
    while signals.next() == SIGUSR1 { daemon.logStatistics() }
    // A second signal after a second forces the end. `timeout` sends two at once.
    let asked = ContinuousClock.now
    Thread.detachNewThread {
      while signals.next() == SIGUSR1 || ContinuousClock.now - asked < .seconds(1) {}
      log.warning("second signal; exiting at once; the next start recovers unfinished recordings")
      _exit(CodedError.Kind.unanswered.rawValue)
    }
    let hadState = daemon.hasState
    blocking { await daemon.stop() }
    return hadState ? 0 : CodedError.Kind.inputOutput.rawValue
  }

  private static func sayReady(_ ready: ReadyLine) throws {
    Output.outliveReaders()
    try Output.write(raw: String(decoding: try JSON.encode(ready), as: UTF8.self) + "\n", needsReader: false)
  }
}

/// The options of `diorama serve`.
struct ServeOptions {
  static let command = "serve"

  static let table: [Options.Option] = [
    .init(
      "--config", "FILE",
      "a JSON file like Config/daemon.json; options take precedence over it (default: ~/.config/diorama/daemon.json, if it exists)"
    ),
    .init(
      "--state", "DIR",
      "the state folder (default: $DIORAMA_HOME, else $XDG_RUNTIME_DIR/diorama, else ~/.local/state/diorama)"
    ),
    .init(
      "--control", "HOST:PORT",
      "the address of the control API, on 127.0.0.1 only (default: a free port, the same after a restart)"),
    .init("--ports", "LOW-HIGH", "the port pool (default: 20000-32767)"),
    .init(
      "--listen", "ADDRESS:PORT",
      "serve programs on other machines, by TLS and with tokens of diorama token create; an IPv4 address of this machine (default: off)"
    ),
    .init("--advertise", "HOST", "the name or address by which they reach this machine (default: that of --listen)"),
    .init(
      "--tls-certificate", "FILE",
      "with --listen: a PEM file with the certificate and its intermediate certificates (default: a self-signed one)"),
    .init("--tls-key", "FILE", "a PEM file with the key of --tls-certificate, without a password"),
    .init(
      "--store", "ADDRESS",
      "the PostgreSQL database that the daemons of a fleet share: postgresql://user@host/database or env:VARIABLE (default: a file in the state folder)"
    ),
    .init(
      "--store-key", "SOURCE",
      "the key that encrypts secrets of resources: file:PATH or env:VARIABLE; the same one on all hosts (default: one in the state folder; with --store, none)"
    ),
    .init(
      "--store-optional", nil, "with --store: start even if the database cannot be reached; requests for resources wait"
    ),
    .init(
      "--portserver-address", "A",
      "the address for portpicker clients; empty to disable (default: @unittest-portserver)"),
    .init("--on-demand", nil, "exit after one idle minute"),
    .init(
      "--log-level", "LEVEL", "trace, debug, info (default), notice, warning, error or critical",
      choices: Log.Level.allCases.map(\.rawValue)),
    .init("--stop", nil, "stop the daemon of the state folder, and wait for it"),
    .init("--status", nil, "print the daemon's state, environments and ports"),
    .init("--json", nil, "with --status: print JSON"),
  ]

  static let about = """
    Runs the daemon, which hosts environments and leases ports for all processes of
    this user, until it gets SIGTERM, SIGINT or --stop. It then ends its
    environments and saves their recordings. Ports stay leased to their owners.

    If the daemon is killed, the next start restores everything on the same ports,
    except for the last 0.1 s of the journals. The daemon prints one line of JSON
    when it is ready, and logs to standard error, one line of JSON per event.
    SIGUSR1 logs statistics.
    """

  static let notes = """
    Exit status: 0 stopped; 64 usage or configuration; 65 state broken or of a newer
    version; 69 another daemon uses the state folder, or (--stop, --status) no
    daemon is running; 73 state folder unusable; 74 a port is taken, or the state
    folder was removed; 75 a second signal forced the end.
    """

  let folder: String
  let configuration: DaemonConfiguration
  let isOnDemand: Bool

  /// - Throws: ``CodedError``.
  init(_ options: Options, variables: [String: String]) throws {
    folder = try Self.folder(options, variables: variables)
    var configuration = DaemonConfiguration()
    do {
      if let path = options.value("--config") ?? Self.ownFile(variables) {
        configuration = try DaemonConfiguration(path: path)
      }
      if let text = options.value("--control") {
        configuration.control = try CodedError.translating(at: "--control", try ControlAddress(text))
      }
      if let text = options.value("--ports") {
        configuration.ports = try CodedError.translating(at: "--ports", try PortRange(text))
      }
      if let text = options.value("--listen") {
        configuration.listen = try CodedError.translating(at: "--listen", try ListenAddress(text))
      }
      if let host = options.value("--advertise") { configuration.advertise = host.lowercased() }
      if let path = options.value("--tls-certificate") { configuration.tlsCertificate = path }
      if let path = options.value("--tls-key") { configuration.tlsKey = path }
      if let store = options.value("--store") { configuration.store = store }
      if let key = options.value("--store-key") { configuration.storeKey = key }
      if options.has("--store-optional") { configuration.storeOptional = true }
      try configuration.checkReach()
    } catch {
      throw CodedError(usage: error.message, command: Self.command)
    }
    if let address = options.value("--portserver-address") { configuration.portserverAddress = address }
    let levels = Log.Level.allCases.map(\.rawValue)
    if let level = try options.choice("--log-level", from: levels, command: Self.command).flatMap(
      Log.Level.init(rawValue:))
    {
      configuration.logLevel = level
    }
    self.configuration = configuration
    isOnDemand = options.has("--on-demand")
  }

  /// The user's configuration file, which daemons that start on demand read, too; nil if it does not exist.
  private static func ownFile(_ variables: [String: String]) -> String? {
    let folder =
      variables["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? variables["HOME"].map { "\($0)/.config" }
    return folder.map { "\($0)/diorama/daemon.json" }.flatMap { FileManager.default.fileExists(atPath: $0) ? $0 : nil }
  }

  /// The absolute path of the state folder.
  static func folder(_ options: Options, variables: [String: String]) throws(CodedError) -> String {
    guard let path = options.value("--state") else { return DaemonHome.standard(variables: variables).folder }
    guard !path.isEmpty else { throw CodedError(usage: "--state must not be empty", command: command) }
    return DaemonHome(folder: path).folder
  }
}

/// `diorama serve --stop` and `--status`.
enum ServeControl {
  /// How long a daemon may take to save all recordings.
  private static let patience = Duration.seconds(120)

  /// Stops the daemon, and returns once its process has ended.
  static func stop(_ access: DaemonAccess, terminal: Terminal) throws -> Int32 {
    // The daemon answers, so this id is its own and not reused.
    let pid = try access.ask { daemon throws(DaemonClientError) in try await daemon.health().pid }
    let end = ProcessEnd(of: pid)
    guard kill(pid, SIGTERM) == 0 || errno == ESRCH else {
      throw DaemonClientError(
        .unusable, "process \(pid) cannot be stopped: \(String(cString: strerror(errno))); stop it as its owner")
    }
    guard terminal.progress("waiting for the daemon to stop", { end.wait(for: patience) }) else {
      throw DaemonClientError(
        .unresponsive, "process \(pid) has not stopped within \(patience); see its log")
    }
    return 0
  }

  /// The output of `--status --json`.
  private struct Status: Encodable {
    var pid: Int32
    var version: String
    var environments: [ProvisionedEnvironment]
    var ports: [PortList.Lease]
    var store: StoreStatus?
  }

  static func printStatus(_ access: DaemonAccess, isJSON: Bool) throws -> Int32 {
    let status = try access.ask { daemon throws(DaemonClientError) in
      let health = try await daemon.health()
      return Status(
        pid: health.pid, version: health.version, environments: try await daemon.environments(),
        ports: try await daemon.ports(), store: try await daemon.leases().store)
    }
    if isJSON {
      try Output.write(raw: String(decoding: try JSON.encode(status), as: UTF8.self).escapedJSONForTerminal + "\n")
      return 0
    }
    var lines = [
      "diorama \(status.version), process \(status.pid)", "environments: \(status.environments.count)",
    ]
    for environment in status.environments {
      lines.append("  \(environment.id)  \(environment.mode)  port \(environment.port)  \(environment.name)")
    }
    lines.append("leased ports: \(status.ports.count)")
    if let store = status.store {
      lines.append("store: \(store.name)" + (store.away.map { " (unreachable: \($0))" } ?? ""))
      lines.append("leased resources: \(store.held)")
    }
    try Output.write(lines: lines)
    return 0
  }
}
