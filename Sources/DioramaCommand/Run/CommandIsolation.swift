import Basics
import ChildProcesses
import ControlAPI
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import HTTPMessages
import HTTPServer
import Interception
import Isolation
import LaunchContract
import PortLeases
import Transforms

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The environment of an isolated command, in this process or in another one.
protocol IsolatingEnvironment: Sendable {
  /// How to isolate the command.
  var plan: IsolationPlan { get }
  /// Begins to take connections.
  ///
  /// - Parameters:
  ///   - listener: a listening TCP socket.
  ///   - nameServers: UDP sockets for DNS.
  ///   - destination: the destination of an accepted connection, or nil to close it.
  /// - Throws: a ``CodedError`` if the system fails. The environment owns the sockets in any case.
  func intercept(
    _ listener: Int32, nameServers: [Int32], destination: @escaping @Sendable (Int32) -> Destination?
  ) throws(CodedError)
  /// Adds to the environment's report how the command is isolated.
  func note(_ note: IsolationNote)
  /// Calls a function with what the clock shows, now and after each change. It must return at once.
  func followClock(_ follower: @escaping @Sendable (Environment.ClockReading) -> Void)
  /// Closes all connections of the command.
  func stop() async
}

/// An environment in this process.
struct LocalIsolation: IsolatingEnvironment {
  private let environment: Environment
  let plan: IsolationPlan

  /// - Parameter environment: the environment, whose specification says how the command is isolated.
  /// - Throws: a ``CodedError`` if the system fails.
  init(_ environment: Environment) throws(CodedError) {
    self.environment = environment
    plan = try environment.isolationPlan()
  }

  func intercept(
    _ listener: Int32, nameServers: [Int32], destination: @escaping @Sendable (Int32) -> Destination?
  ) throws(CodedError) {
    try environment.isolated().start(listener: listener, nameServers: nameServers, destination: destination)
  }

  func note(_ note: IsolationNote) { environment.noteIsolation(note) }

  func followClock(_ follower: @escaping @Sendable (Environment.ClockReading) -> Void) {
    environment.followClock(follower)
  }

  func stop() async { await environment.stopIntercepting() }
}

/// Leads the connections of a command to its environment, whatever URLs the command has: `diorama run --isolate` and
/// `diorama env enter`.
///
/// In namespaces, the command has a network of its own, in which every connection and every DNS question arrives here.
/// Where these are refused, its system calls are supervised by seccomp. Otherwise, variables ask the command to use a proxy.
final class CommandIsolation: Sendable {
  private let environment: any IsolatingEnvironment
  private let settings: EnvironmentConfiguration.Isolation
  private let folder: String
  private let inherited: [String: String]
  private let trust: TrustFiles
  private let published: [PublishedPort]
  private let isByProxy = Guarded(false)

  /// Prepares certificates and ports.
  ///
  /// - Parameters:
  ///   - environment: the environment.
  ///   - folder: a temporary folder, which the command can read.
  ///   - inherited: the variables that the command would inherit.
  /// - Throws: a ``CodedError`` for a port that is not valid, or a file that cannot be written.
  init(
    _ environment: any IsolatingEnvironment, folder: String, inherited: [String: String]
  ) throws(CodedError) {
    self.environment = environment
    self.folder = folder
    self.inherited = inherited
    settings = environment.plan.settings
    published =
      try settings.publish.map { text throws(CodedError) in try PublishedPort(text) }
      + environment.plan.ports.map { PublishedPort(port: $0) }
    let authority = AuthorityCertificate(
      environment: environment.plan.environment, certificate: Base64.decode(environment.plan.certificate) ?? [])
    // For programs of the command that change their user. Nothing else in the folder is readable by others.
    chmod(folder, 0o711)
    trust = try TrustFiles.write(authority, into: folder + "/trust", variables: inherited)
  }

  /// Remarks for the user, one line each.
  var notes: [String] { trust.notes }

  /// Runs the command.
  ///
  /// - Parameters:
  ///   - supervisor: runs the process.
  ///   - timeout: the time limit in seconds.
  ///   - watching: the guard to inform of the process group.
  ///   - spawn: makes the process, given variables to set and the names of variables to leave out.
  /// - Returns: how the command ended.
  /// - Throws: ``NotStarted`` if it was not started.
  func run(
    with supervisor: inout Supervisor, timeout: Double?, watching: Guard,
    spawn: (_ variables: [String: String], _ without: Set<String>) -> Spawn
  ) throws(NotStarted) -> Supervisor.Outcome {
    var reasons: [String] = []
    #if os(Linux)
      for kind in [IsolationProbe.Kind.namespaces, .seccomp] where [kind.rawValue, "auto"].contains(settings.kind) {
        // Only what the system does not permit, so that no mistake moves the command to the real network.
        var isRefused = false
        let variables = kind == .namespaces ? trust.variables : trust.variablesWithoutMounts(inherited)
        do throws(NotStarted) {
          return try runIsolated(
            by: kind, reasons, spawn(variables, InheritedVariables.proxyNames), &supervisor, timeout, watching,
            &isRefused)
        } catch {
          guard settings.kind == "auto", isRefused else { throw error }
          let verb = kind == .namespaces ? "are" : "is"
          reasons.append("\(kind.rawValue) \(verb) not available: \(error.message)")
        }
      }
    #else
      if settings.kind != "proxy" {
        let message = "namespaces and seccomp are features of Linux; use --isolate=proxy"
        guard settings.kind == "auto" else {
          throw NotStarted(status: CodedError.Kind.noUpstream.rawValue, message: message)
        }
        reasons.append(message)
      }
    #endif
    let port: UInt16
    do { port = try startProxy() } catch { throw Self.notStarted(error) }
    isByProxy.withLock { $0 = true }
    environment.note(.init(kind: "proxy", reason: Self.text(reasons), missing: whatProxyLacks))
    return try supervisor.run(
      spawn(proxyVariables(port), InheritedVariables.proxyNames), timeout: timeout, watching: watching)
  }

  /// Why no better kind was used.
  private static func text(_ reasons: [String]) -> String? {
    reasons.isEmpty ? nil : reasons.joined(separator: "; ")
  }

  /// What was asked for and has no effect by proxy.
  private var whatProxyLacks: [String] {
    var lines = ["programs that ignore the proxy variables are neither recorded nor kept from the network"]
    if environment.plan.clock.clock.kind != .system {
      lines.append(
        "the command's programs have the real clock, unless they use the library: another one needs namespaces or seccomp"
      )
    }
    if settings.random == true {
      lines.append("the command's programs have real random values: seeded ones need namespaces or seccomp")
    }
    return lines
  }

  /// Whether the command's programs have a clock that stands still.
  var isClockFrozen: Bool {
    let kind = environment.plan.clock.clock.kind
    return !isByProxy.withLock { $0 } && (kind == .frozen || kind == .manual)
  }

  /// Closes all connections of the command.
  func stop() async { await environment.stop() }

  #if os(Linux)
    /// What is missing where nothing can be mounted.
    private var whatSeccompLacks: [String] {
      var lines: [String] = []
      if settings.random == true {
        lines.append("/dev/random and /dev/urandom have real random values: seeded ones need namespaces")
      }
      lines += settings.publish.filter { (try? PublishedPort($0))?.isLoopback == false }.map {
        "\($0) is not published to other machines: that needs namespaces"
      }
      return lines
    }

    private func runIsolated(
      by kind: IsolationProbe.Kind, _ reasons: [String], _ spawn: Spawn, _ supervisor: inout Supervisor,
      _ timeout: Double?, _ watching: Guard,
      _ isRefused: inout Bool
    ) throws(NotStarted) -> Supervisor.Outcome {
      let forwarder: PortForwarder?
      let command: IsolatedCommand
      do {
        var admitted = settings.hostPorts.compactMap(UInt16.init(exactly:))
        admitted.appendNew(environment.plan.ownPorts)
        var network = IsolatedCommand.Network.namespaces
        var binds: [IsolatedCommand.Bind] = []
        switch kind {
        case .namespaces:
          forwarder = try PortForwarder(publishing: published, admitting: admitted)
          binds =
            try trust.binds.map { IsolatedCommand.Bind(source: $0.source, target: $0.target) }
            + NameResolution.binds(in: folder)
        case .seccomp:
          // The command's servers listen on this machine, so that nothing needs to be forwarded.
          forwarder = nil
          admitted.appendNew(environment.plan.ports)
          network = .supervised(ports: admitted)
        }
        let helper: IsolationHelper
        do throws(CodedError) { helper = try IsolationHelper() } catch {
          isRefused = true
          throw error
        }
        command = try IsolatedCommand(
          spawn.arguments, environment: spawn.environment, network: network, binds: binds,
          control: try control(beside: helper),
          files: spawn.files, helper: helper)
      } catch {
        throw Self.notStarted(error)
      }
      defer { forwarder?.stop() }
      let outcome = try supervisor.run(command.spawn, timeout: timeout, watching: watching) { () throws(CodedError) in
        let network: IsolatedNetwork
        do throws(CodedError) { network = try command.handshake() } catch {
          isRefused = error.kind == .noUpstream
          throw error
        }
        try environment.intercept(network.listener, nameServers: network.nameServers) { descriptor in
          guard let table = network.connections else { return Destination(localAddressOf: descriptor) }
          return table.destination(of: descriptor).map { Destination(address: $0.address, port: $0.port) }
        }
        try forwarder?.start(command)
        environment.note(
          .init(kind: kind.rawValue, reason: Self.text(reasons), missing: kind == .seccomp ? whatSeccompLacks : []))
        try command.start()
      }
      defer { if !command.reports.isEmpty { environment.note(.init(missing: command.reports)) } }
      _ = try command.end()
      return outcome
    }

    /// What the command gets in place of the real clock and real random values.
    private func control(beside helper: IsolationHelper) throws(CodedError) -> IsolatedCommand.Control {
      var control = IsolatedCommand.Control()
      if settings.random == true { control.seed = environment.plan.seed }
      let clock = environment.plan.clock
      guard clock.clock.kind != .system else { return control }
      guard let now = RFC3339.parse(clock.now), ClockPage.dates.contains(now) else {
        throw CodedError(
          .usage,
          "the clock of an isolated command cannot show \(clock.clock.start ?? ""); choose a --start from 1678 to 2261"
        )
      }
      let page = try ClockPage()
      environment.followClock { reading in
        let pace: ClockPage.Pace =
          switch reading.kind {
          case .system: .real
          // Programs that do not use the library cannot be woken, so that only their time stands still.
          case .frozen, .manual: .frozen
          case .ticking: .ticking
          case .scaled: .scaled(reading.rate)
          }
        page.show(pace, reading.date)
      }
      control.clock = page
      let library = (helper.path as NSString).deletingLastPathComponent + "/libdiorama-clock.so"
      let isUsable =
        !library.contains { $0 == ":" || $0.isWhitespace } && FileManager.default.fileExists(atPath: library)
      control.library = isUsable ? library : nil
      return control
    }
  #endif

  private static func notStarted(_ error: any Error) -> NotStarted {
    if let error = error as? NotStarted { return error }
    let coded = error as? CodedError ?? CodedError(.inputOutput, "\(error)")
    return NotStarted(status: coded.kind.rawValue, message: coded.message)
  }

  // MARK: Proxy

  /// Listens on a port of this machine.
  private func startProxy() throws(CodedError) -> UInt16 {
    let socket = try ListeningSocket()
    // The interceptor closes its own copy, which no child inherits.
    let descriptor = fcntl(socket.descriptor, F_DUPFD_CLOEXEC, 3)
    guard descriptor >= 0 else {
      throw CodedError(
        .inputOutput,
        "cannot copy a socket: \(String(cString: strerror(errno))); raise the limit of open files ('ulimit -n')")
    }
    try environment.intercept(descriptor, nameServers: []) { _ in Destination(proxyPort: socket.port) }
    return socket.port
  }

  private func proxyVariables(_ port: UInt16) -> [String: String] {
    let proxy = "http://127.0.0.1:\(port)"
    var variables = InheritedVariables.proxy(proxy, includesThisMachine: environment.plan.hasLocalOrigins)
    for name in ["all_proxy", "ALL_PROXY"] { variables[name] = proxy }
    return variables.merging(trust.variablesWithoutMounts(inherited)) { $1 }
  }
}
