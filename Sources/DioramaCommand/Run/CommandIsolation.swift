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

/// Leads the connections of a command to its environment, whatever URLs the command has: `diorama run --isolate`.
///
/// In namespaces, the command has a network of its own, in which every connection and every DNS question arrives here.
/// Where these are refused, its system calls are supervised by seccomp. Otherwise, variables ask the command to use a proxy.
final class CommandIsolation: Sendable {
  private let environment: Environment
  private let settings: EnvironmentConfiguration.Isolation
  private let folder: String
  private let inherited: [String: String]
  private let interceptor: Interceptor
  private let delegate: InterceptedTraffic
  private let trust: TrustFiles
  private let published: [PublishedPort]
  #if os(Linux)
    /// The destinations of connections, once the command is supervised by seccomp.
    private let connections: Guarded<ConnectionTable?>
  #endif

  /// Prepares certificates and ports.
  ///
  /// - Parameters:
  ///   - environment: the environment, whose specification says how the command is isolated.
  ///   - service: its service.
  ///   - folder: a temporary folder, which the command can read.
  ///   - inherited: the variables that the command would inherit.
  /// - Throws: a ``CodedError`` for a port that is not valid, or a file that cannot be written.
  init(
    _ environment: Environment, in service: EnvironmentService, folder: String, inherited: [String: String]
  ) throws(CodedError) {
    self.environment = environment
    self.folder = folder
    self.inherited = inherited
    settings = environment.specification.isolation ?? .init()
    // RunOptions has checked them.
    var published = settings.publish.compactMap { try? PublishedPort($0) }
    published += environment.specification.ports.values.sorted().map { PublishedPort(port: $0) }
    self.published = published
    // A clock that is moved by up to a year does not make them expire.
    let dates = [Date(), environment.now, environment.now + 365 * 86_400]
    let authority = try CertificateAuthority(environment: environment.id, dates: dates)
    // For programs of the command that change their user. Nothing else in the folder is readable by others.
    chmod(folder, 0o711)
    trust = try TrustFiles.write(authority, into: folder + "/trust", variables: inherited)
    delegate = InterceptedTraffic(environment)
    var configuration = Interceptor.Configuration()
    #if os(Linux)
      let connections = Guarded<ConnectionTable?>(nil)
      self.connections = connections
      configuration.destination = { descriptor in
        guard let table = connections.withLock({ $0 }) else { return Destination(localAddressOf: descriptor) }
        return table.destination(of: descriptor).map { Destination(address: $0.address, port: $0.port) }
      }
    #endif
    interceptor = try Interceptor(
      server: service.server, authority: authority, delegate: delegate, configuration: configuration)
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
    environment.setIsolation(.init(kind: "proxy", reason: Self.text(reasons)))
    environment.noteMissing(whatProxyLacks)
    return try supervisor.run(
      spawn(proxyVariables(port), InheritedVariables.proxyNames), timeout: timeout, watching: watching)
  }

  /// Why no better kind was used.
  private static func text(_ reasons: [String]) -> String? {
    reasons.isEmpty ? nil : reasons.joined(separator: "; ")
  }

  /// What was asked for and has no effect by proxy.
  private var whatProxyLacks: [String] {
    var lines: [String] = []
    if environment.clock.kind != .system {
      lines.append(
        "the command's programs have the real clock, unless they use the library: another one needs namespaces or seccomp"
      )
    }
    if settings.random == true {
      lines.append("the command's programs have real random values: seeded ones need namespaces or seccomp")
    }
    return lines
  }

  /// Closes all connections of the command.
  func stop() async { await interceptor.stop() }

  #if os(Linux)
    /// What is missing where nothing can be mounted.
    private var whatSeccompLacks: [String] {
      var lines = [
        "programs that trust only the system's certificates (such as wget, and Swift's URLSession) do not trust those of the "
          + "environment: that needs namespaces"
      ]
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
        let ports = [environment.mainPort] + environment.upstreams.map(\.port).filter { $0 > 0 }
        var admitted = settings.hostPorts.compactMap(UInt16.init(exactly:))
        admitted.appendNew(ports)
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
          admitted.appendNew(environment.specification.ports.values.sorted())
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
        connections.withLock { $0 = network.connections }
        try interceptor.start(listener: network.listener, nameServers: network.nameServers)
        try forwarder?.start(command)
        environment.setIsolation(.init(kind: kind.rawValue, reason: Self.text(reasons)))
        if kind == .seccomp { environment.noteMissing(whatSeccompLacks) }
        try command.start()
      }
      defer { environment.noteMissing(command.reports) }
      _ = try command.end()
      return outcome
    }

    /// What the command gets in place of the real clock and real random values.
    private func control(beside helper: IsolationHelper) throws(CodedError) -> IsolatedCommand.Control {
      var control = IsolatedCommand.Control()
      if settings.random == true { control.seed = environment.seed }
      guard environment.clock.kind != .system else { return control }
      guard ClockPage.dates.contains(environment.now) else {
        throw CodedError(
          .usage,
          "the clock of an isolated command cannot show \(environment.clock.start ?? ""); choose a --start from 1678 to 2261"
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
    delegate.proxyPort.withLock { $0 = socket.port }
    try interceptor.start(listener: descriptor)
    return socket.port
  }

  private func proxyVariables(_ port: UInt16) -> [String: String] {
    let proxy = "http://127.0.0.1:\(port)"
    let origins =
      environment.upstreams.map(\.origin.host) + settings.map.keys.compactMap { try? Origin(parsing: $0).host }
    let isLocal = origins.contains(where: Origin.loopbackNames.contains)
    var variables = InheritedVariables.proxy(proxy, includesThisMachine: isLocal)
    for name in ["all_proxy", "ALL_PROXY"] { variables[name] = proxy }
    return variables.merging(trust.variablesWithoutMounts(inherited)) { $1 }
  }
}

/// Passes intercepted connections to an environment.
private final class InterceptedTraffic: InterceptionDelegate {
  private let environment: Environment
  /// The proxy's port; nil in namespaces.
  let proxyPort = Guarded<UInt16?>(nil)
  /// Connections share them, so that also the first request of a connection can take the fast path.
  private let handlers = Guarded<[Destination: InterceptedHandler]>([:])

  init(_ environment: Environment) { self.environment = environment }

  func handler(for destination: Destination) -> any RequestHandler {
    if let known = handlers.withLock({ $0[destination] }) { return known }
    let handler = InterceptedHandler(
      environment, scheme: destination.isTLS ? "https" : "http", host: Self.host(of: destination),
      port: Int(destination.port), isProxy: isProxy(destination))
    handlers.withLock { handlers in
      // A program may connect to any number of addresses and ports.
      if handlers.count >= 1_000 { handlers.removeAll() }
      handlers[destination] = handler
    }
    return handler
  }

  private func isProxy(_ destination: Destination) -> Bool {
    destination.name == nil && destination.port == proxyPort.withLock { $0 }
  }

  /// Whether the command has asked for it by HTTP, or the recording has it: a spare connection is no other protocol.
  private func isUpstream(_ destination: Destination) -> Bool {
    let host = Self.host(of: destination)
    return environment.upstreams.contains { $0.origin.host == host && $0.origin.port == Int(destination.port) }
  }

  func relay(for destination: Destination, protocol name: String) -> RelayTarget? {
    guard let target = target(of: destination) else {
      let (host, port) = (Self.host(of: destination), Int(destination.port))
      guard !environment.isDenied(host: host, port: port) else { return nil }
      if environment.mode.mayReachNetwork {
        environment.fail(
          "\(destination) was refused: the host is not among the allowed hosts; add --allow \(destination.host), or "
            + "refuse it with --deny \(destination.host)")
      } else {
        environment.fail(
          "\(destination) was not reached: its protocol (\(name)) is not HTTP and cannot be replayed; replace the server "
            + "by one on this machine (--host-port), or refuse it with --deny \(destination.host)")
      }
      return nil
    }
    environment.noteRelayed("\(destination) (\(name)); a replay cannot serve it")
    return target
  }

  func relayOfSilentClient(for destination: Destination) -> RelayTarget? {
    guard !environment.isMapped(host: Self.host(of: destination), port: Int(destination.port)) else { return nil }
    return target(of: destination)
  }

  func noticed(_ event: InterceptionEvent) {
    switch event {
    case .certificateRefused(let destination, let cause):
      guard !environment.isDenied(host: Self.host(of: destination), port: Int(destination.port)) else { return }
      environment.fail(
        "the command seems not to trust the environment's certificate for \(destination) (\(cause)): it may trust only "
          + "its own CAs or a pinned certificate; turn that off in a test build, give it an endpoint (--upstream, --env), "
          + "or, if it does not need the host, add --deny \(destination.host)")
    case .handshakeFailed(let destination, let cause):
      environment.noteIntercepted("TLS handshake for \(destination): \(cause)")
    case .unsupported(let destination, let name):
      guard !environment.isDenied(host: Self.host(of: destination), port: Int(destination.port)) else { return }
      let advice = name == "HTTP/2" ? "have the program use HTTP/1.1, or refuse" : "refuse"
      environment.fail(
        "\(destination) was not reached: its protocol (\(name)) is not supported; \(advice) the host with "
          + "--deny \(destination.host)")
    case .relayed(let destination, let name):
      environment.noteRelayed("\(destination) (\(name)); a replay cannot serve it")
    case .relayFailed(let destination, let cause):
      environment.noteRelayed("\(destination) cannot be reached: \(cause)")
    case .silent(let destination):
      // Browsers open connections to web servers in advance.
      guard ![80, 443].contains(destination.port), !isProxy(destination), !isUpstream(destination),
        !environment.isDenied(host: Self.host(of: destination), port: Int(destination.port))
      else { return }
      environment.fail(
        "\(destination) was not reached: the command sent nothing, so in its protocol the server may send first, which cannot "
          + "be replayed; replace the server by one on this machine (--host-port), or refuse it with --deny \(destination.host)"
      )
    case .nameTableFull(let name): environment.fail("no address is left for the name \(name)")
    case .failed(let text): environment.fail(text)
    }
  }

  private func target(of destination: Destination) -> RelayTarget? {
    let host = Self.host(of: destination)
    guard environment.mayRelay(host: host, port: Int(destination.port)) else { return nil }
    return RelayTarget(host: destination.host, port: destination.port)
  }

  /// The host as in a URL.
  private static func host(of destination: Destination) -> String {
    destination.host.contains(":") ? "[\(destination.host)]" : destination.host
  }
}
