import Basics
import ChildProcesses
package import ControlAPI
import Dispatch
import EnvironmentService
import Foundation
import HTTPMessages
import HTTPServer
import LaunchContract
import PortLeases

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import CEpoll
#endif

/// The daemon: an environment manager with its listeners and its store, for all programs on the machine.
///
/// ```swift
/// let daemon = try await Daemon.start(options, log: log)
/// print(daemon.ready)  // its URL and socket
/// …
/// await daemon.stop()
/// ```
package final class Daemon: Sendable {
  package struct Options: Sendable {
    package var configuration: DaemonConfiguration
    /// The absolute path of the state folder.
    package var folder: String
    /// The version that `/v1/health` reports.
    package var version: String
    /// The environment variables, for settings with `env:`.
    package var variables: [String: String] = [:]
    /// Inherited listening sockets.
    package var sockets = ActivatedSockets()
    /// Called once after the configured idle time; nil to keep running.
    package var idle: (@Sendable () -> Void)?
    /// Called once when the state folder is gone: clients can't find the daemon any more, and its state is lost.
    package var lost: @Sendable () -> Void = {}

    package init(configuration: DaemonConfiguration, folder: String, version: String) {
      self.configuration = configuration
      self.folder = folder
      self.version = version
    }
  }

  /// The control API's URL and socket.
  package let ready: ReadyLine
  package let manager: EnvironmentManager
  private let folder: StateFolder
  private let store: SQLiteStore
  private let server: HTTPServer
  private let listeners: ControlListeners
  private let remote: RemoteListener?
  private let tokens: TokenBook
  private let fleet: FleetService
  private let control: ControlServer
  private let portserver: PortserverServer?
  private let files: ControlFiles
  private let heartbeat: Heartbeat
  private let log: Log
  private let isActivated: Bool

  /// The parts of a daemon, in the order of their creation.
  private struct Parts {
    var folder: StateFolder
    var store: SQLiteStore
    var files: ControlFiles
    var listeners: ControlListeners
    var remote: RemoteListener?
    var tokens: TokenBook
    var fleet: FleetService
    var server: HTTPServer
    var manager: EnvironmentManager
  }

  /// Starts a daemon, and restores the state of one that was killed.
  ///
  /// - Parameters:
  ///   - options: the options.
  ///   - log: receives events.
  /// - Returns: the daemon, once it is ready.
  /// - Throws: ``CodedError`` if another daemon or a newer version uses the state folder, ``CodedError`` if a port is
  ///   taken. Nothing has changed then.
  package static func start(_ options: Options, log: Log) async throws -> Daemon {
    Memory.limitArenas()
    OpenFiles.raiseLimit()
    let folder = try StateFolder(options.folder)
    let store = try SQLiteStore(in: folder)
    let files = ControlFiles(folder: folder.path)
    try files.makeContracts()
    let tokens = try TokenBook(files)
    let fleet = try FleetService(
      options.configuration, files: files, version: options.version, variables: options.variables, log: log)
    let remote = try RemoteListener(options.configuration, files: files, log: log)
    let listeners = try ControlListeners(options, files: files, log: log)
    do {
      var configuration = HTTPServer.Configuration()
      configuration.maximumConnections = OpenFiles.environmentConnections
      let server = try HTTPServer(configuration)
      let manager = try EnvironmentManager(
        options.configuration, store: store, contracts: files.contracts, server: server, fleet: fleet,
        log: log)
      let parts = Parts(
        folder: folder, store: store, files: files, listeners: listeners, remote: remote, tokens: tokens, fleet: fleet,
        server: server, manager: manager)
      do {
        try await manager.restore()
        manager.startFleet()
        return try Daemon(parts, options, log: log)
      } catch {
        await server.stop(grace: .zero)
        throw error
      }
    } catch {
      await listeners.close(grace: .zero)
      await remote?.close(grace: .zero)
      store.close()
      throw error
    }
  }

  private init(_ parts: Parts, _ options: Options, log: Log) throws {
    folder = parts.folder
    store = parts.store
    files = parts.files
    listeners = parts.listeners
    remote = parts.remote
    tokens = parts.tokens
    fleet = parts.fleet
    server = parts.server
    manager = parts.manager
    self.log = log
    isActivated = options.sockets.socket != nil
    // Clients of a daemon that was killed keep using its token.
    let token = parts.files.left()?.token ?? Secret(Self.randomToken())
    control = ControlServer(
      manager, token: token, version: options.version, bodyLimit: options.configuration.limits.bodyBytes,
      tokens: parts.tokens, fleet: parts.fleet, remote: parts.remote?.address
    ) { reason in
      log.error("internal error in a request", ["reason": "\(reason)"])
    }
    let control = "http://127.0.0.1:\(listeners.port)"
    ready = ReadyLine(
      control: control, socket: listeners.socket, tokenFile: files.control, pid: getpid(),
      remote: parts.remote?.address)
    portserver = try Self.portserver(options.configuration.portserverAddress, manager, log)
    try listeners.open(self.control)
    try remote?.open(self.control, RemoteAccess(parts.tokens, log: log))
    try files.write(
      ControlFile(control: control, socket: listeners.socket, token: token, pid: getpid()), port: listeners.port)
    let manager = parts.manager
    let idleSeconds = options.configuration.idleSeconds
    heartbeat = Heartbeat { [idle = options.idle, lost = options.lost, folder = parts.folder, tokens = parts.tokens] in
      guard folder.isThere else {
        log.critical(
          "the state folder is gone; stopping; start the daemon again with diorama serve", ["state": "\(folder.path)"])
        lost()
        return false
      }
      manager.tick()
      tokens.saveUses(every: .seconds(60))
      if let idle, manager.isIdle(for: idleSeconds) {
        log.info("idle; stopping", ["seconds": .int(Int(idleSeconds))])
        idle()
        return false
      }
      return true
    }
    log.notice(
      "daemon ready",
      [
        "control": "\(control)", "socket": "\(listeners.socket)", "state": "\(folder.path)", "store": "\(fleet.name)",
      ])
  }

  /// Whether the state folder is still this daemon's. If not, its state won't survive it.
  package var hasState: Bool { folder.isThere }

  /// Stops the daemon: ends environments, seals recordings, and removes files and sockets. Leases stay in the store for
  /// owners that outlive the daemon.
  package func stop() async {
    log.notice("daemon stopping")
    await heartbeat.stop()
    control.refuse()
    await portserver?.stop()
    await manager.stop()
    // Ends requests that wait for a resource.
    await fleet.stop()
    // All journals are complete; gives clients that follow one the time to read it.
    await listeners.close()
    await remote?.close()
    if folder.isThere { tokens.saveUses() }
    control.close()
    await server.stop()
    store.close()
    // An inherited Unix socket, such as systemd's, stays open: the next connection starts the next daemon, which takes
    // over the token. So the control file stays valid. If the state folder was replaced, the files belong to another
    // daemon.
    if !isActivated, folder.isThere { files.remove() }
    log.notice("daemon stopped")
    withExtendedLifetime(folder) {}
  }

  /// Logs figures of the manager and of the portserver.
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

  /// - Throws: if the address can't be bound. The default address may belong to another user's daemon, so in that case
  ///   the daemon starts without a portserver.
  private static func portserver(_ address: String, _ manager: EnvironmentManager, _ log: Log) throws
    -> PortserverServer?
  {
    guard !address.isEmpty else { return nil }
    do {
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
      log.warning("portserver not started", ["address": "\(address)", "reason": "\(error)"])
      return nil
    }
  }

  /// 256 random bits in hexadecimal.
  static func randomToken() -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<32).map { _ in
      let byte = UInt8.random(in: .min ... .max, using: &generator)
      return (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
  }
}

/// Calls a function once a second on a thread that may block, until it is stopped or the function returns false.
final class Heartbeat: Sendable {
  private let queue = DispatchQueue(label: "diorama.heartbeat")
  private let isOver = Guarded(false)
  private let beat: @Sendable () -> Bool

  /// - Parameter beat: returns whether to continue.
  init(_ beat: @escaping @Sendable () -> Bool) {
    self.beat = beat
    scheduleNext()
  }

  /// Returns once the last call has finished.
  func stop() async {
    isOver.withLock { $0 = true }
    await withUnsafeContinuation { continuation in queue.async { continuation.resume() } }
  }

  private func scheduleNext() {
    queue.asyncAfter(deadline: .now() + 1) { [weak self] in
      guard let self, !isOver.withLock({ $0 }), beat() else { return }
      scheduleNext()
    }
  }
}

/// The signals that the daemon handles, synchronously on its main thread.
package struct Signals: Sendable {
  private static let taken = [SIGTERM, SIGINT, SIGUSR1]

  /// Blocks the signals. Call it before any thread is created, so that all threads inherit the mask.
  package init() {
    // A closed terminal or a disconnected client must not end the daemon.
    signal(SIGHUP, SIG_IGN)
    signal(SIGPIPE, SIG_IGN)
    var set = Self.set
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Waits for the next signal.
  package func next() -> Int32 {
    var set = Self.set
    var number: Int32 = 0
    while sigwait(&set, &number) != 0 {}
    return number
  }

  /// Ends the wait with SIGTERM.
  package static func end() { kill(getpid(), SIGTERM) }

  private static var set: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for number in taken { sigaddset(&set, number) }
    return set
  }
}

/// Settings of the memory allocator.
enum Memory {
  /// Limits glibc to 4 arenas. Call it before threads are created.
  ///
  /// The default is 8 per core; memory that is free in one arena isn't available to the others.
  static func limitArenas() {
    #if canImport(Glibc)
      mallopt(M_ARENA_MAX, 4)
    #endif
  }

  /// Returns free memory to the system, which takes some milliseconds. By default, glibc keeps nearly all of it.
  static func giveBack() {
    #if canImport(Darwin)
      malloc_zone_pressure_relief(nil, 0)
    #elseif canImport(Glibc)
      malloc_trim(0)
    #endif
  }
}
