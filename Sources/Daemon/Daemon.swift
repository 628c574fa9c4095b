import ChildProcesses
package import ControlAPI
import Dispatch
import EnvironmentService
import Foundation
import HTTPMessages
import HTTPServer
import LaunchContract
import PortLeases

/// The daemon: a manager of environments and leases for every process on the machine, with its listeners and its store.
///
/// ```swift
/// let daemon = try await Daemon.start(options, log: log)
/// print(daemon.ready)  // where it is reached
/// …
/// await daemon.stop()
/// ```
package final class Daemon: Sendable {
  /// What a start has to know.
  package struct Options: Sendable {
    package var configuration: DaemonConfiguration
    /// Absolute path of the state folder.
    package var folder: String
    /// What `/v1/health` says.
    package var version: String
    /// Sockets that somebody else made.
    package var sockets = ActivatedSockets()
    /// Called once when it has had nothing to do for the configuration's time; nil: it stays.
    package var idle: (@Sendable () -> Void)?
    /// Called once when its state folder is gone: nobody finds it any more, and what it would keep is lost.
    package var lost: @Sendable () -> Void = {}

    package init(configuration: DaemonConfiguration, folder: String, version: String) {
      self.configuration = configuration
      self.folder = folder
      self.version = version
    }
  }

  /// Where it is reached.
  package let ready: ReadyLine
  /// What it hosts.
  package let manager: EnvironmentManager
  private let folder: StateFolder
  private let store: SQLiteStore
  private let server: HTTPServer
  private let listeners: ControlListeners
  private let control: ControlServer
  private let portserver: PortserverServer?
  private let files: ControlFiles
  private let heartbeat: Heartbeat
  private let log: Log
  private let isActivated: Bool

  /// What a start has put together, in the order in which it is needed.
  private struct Parts {
    var folder: StateFolder
    var store: SQLiteStore
    var files: ControlFiles
    var listeners: ControlListeners
    var server: HTTPServer
    var manager: EnvironmentManager
  }

  /// Brings back what a killed daemon has left, and answers from then on.
  ///
  /// - Parameters:
  ///   - options: how it is to be.
  ///   - log: is told what happens.
  /// - Returns: once everything is there.
  /// - Throws: ``StoreError`` when the state folder is another daemon's, or of a newer version, ``ServerError`` when a
  ///   port is taken; nothing has changed then.
  package static func start(_ options: Options, log: Log) async throws -> Daemon {
    Memory.limitArenas()
    OpenFiles.raiseLimit()
    let folder = try StateFolder(options.folder)
    let store = try SQLiteStore(in: folder)
    let files = ControlFiles(folder: folder.path)
    try files.makeContracts()
    let listeners = try ControlListeners(options, files: files, log: log)
    do {
      var configuration = HTTPServer.Configuration()
      configuration.maximumConnections = OpenFiles.environmentConnections
      let server = try HTTPServer(configuration)
      let manager = try EnvironmentManager(
        options.configuration, store: store, contracts: files.contracts, server: server, log: log)
      let parts = Parts(
        folder: folder, store: store, files: files, listeners: listeners, server: server, manager: manager)
      do {
        try await manager.restore()
        return try Daemon(parts, options, log: log)
      } catch {
        await server.stop(grace: .zero)
        throw error
      }
    } catch {
      await listeners.close(grace: .zero)
      store.close()
      throw error
    }
  }

  private init(_ parts: Parts, _ options: Options, log: Log) throws {
    folder = parts.folder
    store = parts.store
    files = parts.files
    listeners = parts.listeners
    server = parts.server
    manager = parts.manager
    self.log = log
    isActivated = options.sockets.socket != nil
    // Those who know the token of a daemon that was killed go on with it.
    let token = parts.files.left()?.token ?? Secret(Self.randomToken())
    control = ControlServer(
      manager, token: token, version: options.version, bodyLimit: options.configuration.limits.bodyBytes
    ) { reason in
      log.error("a request could not be answered", ["reason": "\(reason)"])
    }
    let control = "http://127.0.0.1:\(listeners.port)"
    ready = ReadyLine(control: control, socket: listeners.socket, tokenFile: files.control, pid: getpid())
    portserver = try Self.portserver(options.configuration.portserverAddress, manager, log)
    try listeners.open(self.control)
    try files.write(
      ControlFile(control: control, socket: listeners.socket, token: token, pid: getpid()), port: listeners.port)
    let manager = parts.manager
    let idleSeconds = options.configuration.idleSeconds
    heartbeat = Heartbeat { [idle = options.idle, lost = options.lost, folder = parts.folder] in
      guard folder.isThere else {
        log.critical(
          "the state folder is gone, the daemon ends; start it again with diorama serve", ["state": "\(folder.path)"])
        lost()
        return false
      }
      manager.tick()
      if let idle, manager.isIdle(for: idleSeconds) {
        log.info("nothing to do, the daemon leaves", ["seconds": .int(Int(idleSeconds))])
        idle()
        return false
      }
      return true
    }
    log.notice(
      "the daemon is ready", ["control": "\(control)", "socket": "\(listeners.socket)", "state": "\(folder.path)"])
  }

  /// Whether the state folder is still its own; if not, nothing that it promised outlives it.
  package var hasState: Bool { folder.isThere }

  /// Ends it well: environments end and are sealed, files and sockets go. Leases stay for the next start, as far as
  /// their owners live on.
  package func stop() async {
    log.notice("the daemon ends")
    await heartbeat.stop()
    control.refuse()
    await portserver?.stop()
    await manager.stop()
    // All journals have come to their end, and who follows one is given the time to read it.
    await listeners.close()
    control.close()
    await server.stop()
    store.close()
    // A Unix socket that somebody else holds, such as systemd, stays a way to the next daemon, which is started by the
    // first call there and takes the token up again: so who finds the file is served, and it stays, too. In a folder
    // that was made anew, another daemon's files are.
    if !isActivated, folder.isThere { files.remove() }
    log.notice("the daemon has ended")
    withExtendedLifetime(folder) {}
  }

  /// Says in the log what it has and has done, and what the portserver has.
  package func logStatistics() {
    let counters = manager.counters()
    log.notice(
      "statistics",
      [
        "ready": .int(counters.ready), "provisioning": .int(counters.provisioning), "ending": .int(counters.ending),
        "provisioned": .int(counters.provisioned), "restored": .int(counters.restored),
        "refused": .int(counters.refused), "ended": .int(counters.ended.values.reduce(0, +)),
        "leases": .int(counters.leases), "leased": .int(counters.leased), "reclaimed": .int(counters.reclaimed),
        "journalEntries": .int(counters.journalEntries), "storeFailures": .int(counters.storeFailures),
        "uptimeSeconds": .int(Int(counters.uptimeSeconds)),
      ])
    if let portserver { log.notice("statistics", ["portserver": "\(portserver.statistics)"]) }
  }

  /// - Throws: when the address cannot be listened on; where it is the one that everybody has by default, another
  ///   user's daemon may have it, which is no reason not to start.
  private static func portserver(_ address: String, _ manager: EnvironmentManager, _ log: Log) throws
    -> PortserverServer?
  {
    guard !address.isEmpty else { return nil }
    do throws(PortserverError) {
      return try PortserverServer(address: address, pool: manager.pool) { event in
        manager.noteUse()
        switch event {
        case .leased(let port, let pid):
          log.debug("the portserver leased a port", ["port": .int(Int(port)), "pid": .int(Int(pid))])
        case .refused(let reason): log.info("the portserver refused a client", ["reason": "\(reason)"])
        }
      }
    } catch {
      guard address == DaemonConfiguration().portserverAddress else { throw error }
      log.warning("there is no portserver", ["address": "\(address)", "reason": "\(error)"])
      return nil
    }
  }

  /// 256 random bits.
  private static func randomToken() -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<32).map { _ in
      let byte = UInt8.random(in: .min ... .max, using: &generator)
      return (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
  }
}
