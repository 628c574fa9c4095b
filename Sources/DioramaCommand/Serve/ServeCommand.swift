import ControlAPI
import Daemon
import EnvironmentService
import Foundation
import LaunchContract

/// `diorama serve`: the daemon, or a word with it.
enum ServeCommand {
  static func run(_ arguments: [String], terminal: Terminal) throws -> Int32 {
    let parsed = try Options(arguments, table: ServeOptions.table, command: ServeOptions.command)
    if parsed.has("--help") {
      print(ServeOptions.help, terminator: "")
      return 0
    }
    if let extra = parsed.operands.first ?? parsed.rest?.first {
      throw UsageError("'\(extra)' is one word too many", command: ServeOptions.command)
    }
    let variables = ProcessInfo.processInfo.environment
    if parsed.has("--stop") || parsed.has("--status") {
      guard parsed.has("--stop") != parsed.has("--status") else {
        throw UsageError("--stop and --status are two things; give one of them", command: ServeOptions.command)
      }
      let access = DaemonAccess(parsed)
      if parsed.has("--stop") { return try ServeControl.stop(access, terminal: terminal) }
      return try ServeControl.printStatus(access, isJSON: parsed.has("--json"))
    }
    return try serve(try ServeOptions(parsed, variables: variables), variables: variables)
  }

  private static func serve(_ options: ServeOptions, variables: [String: String]) throws -> Int32 {
    // Before there is any thread.
    let signals = Signals()
    let log = Log(level: options.configuration.logLevel)
    var daemonOptions = Daemon.Options(
      configuration: options.configuration, folder: options.folder, version: Main.version)
    daemonOptions.sockets = ActivatedSockets(variables: variables, pid: getpid())
    if options.isOnDemand { daemonOptions.idle = { Signals.end() } }
    daemonOptions.lost = { Signals.end() }
    let daemon = try blocking { [daemonOptions] in
      do { return Result<Daemon, any Error>.success(try await Daemon.start(daemonOptions, log: log)) } catch {
        return .failure(error)
      }
    }.get()
    try sayReady(daemon.ready)
    while signals.next() == SIGUSR1 { daemon.logStatistics() }
    // Who asks again after a while does not want to wait; `timeout` asks twice at once.
    let asked = ContinuousClock.now
    Thread.detachNewThread {
      while signals.next() == SIGUSR1 || ContinuousClock.now - asked < .seconds(1) {}
      log.warning("the daemon is ended at once: recordings are left unsealed, the next start brings them back")
      _exit(EnvironmentError.Kind.unanswered.rawValue)
    }
    let hadState = daemon.hasState
    blocking { await daemon.stop() }
    return hadState ? 0 : EnvironmentError.Kind.inputOutput.rawValue
  }

  /// By write(2): nobody need listen.
  private static func sayReady(_ ready: ReadyLine) throws {
    let line = try ContractJSON.encode(ready) + Data("\n".utf8)
    _ = line.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
  }
}
