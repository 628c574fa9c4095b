import Basics
import Cassettes
package import ControlAPI
import EnvironmentConfiguration
import HTTPMessages
import Transforms

/// The upstreams of an environment by index: their addresses, and how to reach them.
struct UpstreamTable: Sendable {
  var addresses: AddressMap
  var access: [ReadyAccess]
}

/// What an isolated command may reach.
struct OriginPolicy: Sendable {
  private let allow: [HostPattern]
  private let deny: [HostPattern]
  private let map: [Origin: Origin]

  /// - Parameter settings: the settings.
  /// - Throws: a ``CodedError`` of kind `usage` that names the first one that is not valid.
  init(_ settings: EnvironmentConfiguration.Isolation) throws(CodedError) {
    func patterns(_ texts: [String]) throws(CodedError) -> [HostPattern] {
      try texts.map { text throws(CodedError) in try CodedError.translating(to: .usage, try HostPattern(text)) }
    }
    allow = try patterns(settings.allow)
    deny = try patterns(settings.deny)
    var map: [Origin: Origin] = [:]
    for (text, url) in settings.map.sorted(by: { $0.key < $1.key }) {
      let (origin, destination) = (try Origin(parsing: text), try Origin(parsing: url))
      if let other = map.updateValue(destination, forKey: origin), other != destination {
        throw CodedError(
          .usage,
          "requests for \(origin) cannot be sent to both \(other) and \(destination); remove one (--map, isolation.map)"
        )
      }
    }
    self.map = map
  }

  /// Whether requests for a host are refused in every mode.
  func denies(host: String, port: Int) -> Bool { deny.contains { $0.matches(host: host, port: port) } }

  /// Whether a host may be reached while recording.
  func allows(host: String, port: Int) -> Bool {
    allow.isEmpty || allow.contains { $0.matches(host: host, port: port) }
  }

  /// Whether the settings name a host of this machine, so that it may be reached.
  func names(host: String, port: Int) -> Bool {
    maps(host: host, port: port) || allow.contains { $0.matches(host: host, port: port) }
  }

  /// Whether requests for a host and port are sent to another origin.
  func maps(host: String, port: Int) -> Bool { map.keys.contains { $0.host == host && $0.port == port } }

  /// A note for each origin that is sent to another one and was not requested, probably because it is misspelled.
  ///
  /// - Parameter requested: the origins that were requested.
  /// - Returns: the notes, by origin.
  func unusedMaps(_ requested: [Origin]) -> [String] {
    let unused = map.filter { !requested.contains($0.key) }.map { (origin: $0.key.description, url: $0.value) }
    let others = requested.filter { map[$0] == nil }.map(\.description)
    return unused.sorted { $0.origin < $1.origin }.map { origin, url in
      let near = EditDistance.likely(origin, among: others).map { [$0] } ?? Array(others.prefix(3))
      return "--map \(origin)=\(url) was not used"
        + (near.isEmpty ? "" : "; the command asked for \(near.joined(separator: ", "))")
    }
  }

  /// Where the requests for an origin are sent; nil for the origin itself.
  func destination(of origin: Origin) -> Origin? { map[origin] }
}

/// The upstreams of an isolated command: the declared ones, then each further origin that it asks for.
final class InterceptedUpstreams: Sendable {
  /// The maximum number of upstreams. A command that invents host names must not fill the memory.
  static let limit = 1000

  let policy: OriginPolicy
  let table: Guarded<UpstreamTable>
  private let known: Guarded<[Origin: Int]>

  init(_ policy: OriginPolicy, _ declared: UpstreamTable) {
    self.policy = policy
    var declared = declared
    var known: [Origin: Int] = [:]
    for (index, upstream) in declared.addresses.upstreams.enumerated() {
      if known[upstream.origin] == nil { known[upstream.origin] = index }
      declared.access[index].destination = policy.destination(of: upstream.origin)
    }
    table = Guarded(declared)
    self.known = Guarded(known)
  }

  /// The index of an origin's upstream, which is added if it is new.
  ///
  /// - Parameters:
  ///   - origin: the origin.
  ///   - added: called with all upstreams if the origin is new, before another one is added.
  /// - Returns: the index; nil if there are too many upstreams.
  func index(of origin: Origin, added: ([AddressMap.Upstream]) -> Void) -> Int? {
    known.withLock { known in
      if let index = known[origin] { return index }
      let upstreams = table.withLock { table -> [AddressMap.Upstream]? in
        let upstreams = table.addresses.upstreams
        guard upstreams.count < Self.limit else { return nil }
        let names = Set(upstreams.map { Environment.variableName($0.name) })
        let name = Cassette.name(of: origin) { !names.contains(Environment.variableName($0)) }
        table.addresses.append(AddressMap.Upstream(name: name, origin: origin, port: 0))
        var access = ReadyAccess()
        access.destination = policy.destination(of: origin)
        table.access.append(access)
        return table.addresses.upstreams
      }
      guard let upstreams else { return nil }
      known[origin] = upstreams.count - 1
      added(upstreams)
      return upstreams.count - 1
    }
  }

  /// The index of an origin's upstream; nil if it is new.
  func knownIndex(of origin: Origin) -> Int? { known.withLock { $0[origin] } }
}

extension Environment {
  /// Adds to the report how a command is isolated. Of several commands, the one with the weakest kind counts.
  ///
  /// - Parameter note: what the command's side says about it.
  package func noteIsolation(_ note: IsolationNote) {
    state.withLock { state in
      if let command = note.leaving.map(redactor.redact), let count = state.entered[command] {
        state.entered[command] = count > 1 ? count - 1 : nil
      }
      guard var isolation = state.isolation ?? note.kind.map({ .init(kind: $0, reason: note.reason) }) else { return }
      let strength = Report.Isolation.kinds.firstIndex(of:)
      if let kind = note.kind, strength(kind) ?? 0 > strength(isolation.kind) ?? 0 {
        isolation.kind = kind
        isolation.reason = note.reason
      }
      let new = note.missing.filter { isolation.missing?.contains($0) != true }
      // Commands may come without end.
      if !new.isEmpty { isolation.missing = Array(((isolation.missing ?? []) + new).prefix(1000)) }
      state.isolation = isolation
      if let command = note.entering.map(redactor.redact), state.entered.count < 1000 {
        state.entered[command, default: 0] += 1
      }
    }
    for problem in note.problems { fail(problem) }
  }

  /// Adds a remark about the isolation to the report. Equal lines are added once.
  func noteRemark(_ line: String) { noteIsolation(IsolationNote(missing: [line])) }

  /// The kind of isolation that is used; nil before a command is isolated.
  package var isolationKind: String? { state.withLock { $0.isolation?.kind } }

  /// Adds a connection to the report whose bytes are relayed and not recorded. Equal lines are added once.
  package func noteRelayed(_ line: String) {
    state.withLock { state in
      guard state.isolation?.relayed.contains(line) == false, state.isolation?.relayed.count ?? 0 < 1000 else { return }
      state.isolation?.relayed.append(line)
    }
  }

  /// Adds a line about an intercepted connection to the journal.
  package func noteIntercepted(_ text: String) { note(.note, status: 0, method: "", url: "", text: text) }

  /// Whether requests for a host are refused in every mode.
  package func isDenied(host: String, port: Int) -> Bool {
    intercepted?.policy.denies(host: host, port: port) ?? false
  }

  /// Whether bytes that are not HTTP may be relayed between the isolated command and a host.
  ///
  /// - Parameters:
  ///   - host: the name or address, in lower case.
  ///   - port: the port.
  /// - Returns: false where nothing may reach the network, or the settings do not permit the host.
  package func mayRelay(host: String, port: Int) -> Bool {
    guard let policy = intercepted?.policy, mode.mayReachNetwork else { return false }
    return policy.allows(host: host, port: port) && !policy.denies(host: host, port: port)
      && !isKeptFrom(host: host, port: port)
  }

  /// Whether a host is this machine itself, which isolated commands reach by the ports that they are given.
  ///
  /// Without this, a request through a tunnel (CONNECT), or with a target that is a URL, would still reach it.
  /// Commands with a proxy share the machine's network.
  func isKeptFrom(host: String, port: Int) -> Bool {
    guard let policy = intercepted?.policy, Origin.isLoopback(host) else { return false }
    return state.withLock { $0.isolation?.kind != "proxy" } && !policy.names(host: host, port: port)
  }

  /// Checks that the settings permit to send a request of an isolated command.
  ///
  /// - Parameters:
  ///   - origin: its origin.
  ///   - request: the request, for the report.
  /// - Throws: a ``Problem`` if the host is not allowed.
  func checkIsAllowed(_ origin: Origin, _ request: Request) throws(Problem) {
    if isKeptFrom(host: origin.host, port: origin.port) {
      throw refusal(
        request, url: origin.description + request.target, title: "The host is this machine",
        detail:
          "\(origin.authority) is a server of this machine; to reach it without recording, add --host-port \(origin.port); "
          + "to record it, add --allow \(origin.host), or use another name with --map")
    }
    guard let policy = intercepted?.policy, !policy.allows(host: origin.host, port: origin.port) else { return }
    throw refusal(
      request, url: origin.description + request.target, title: "The host is not allowed",
      detail: "\(origin.host) is not among the allowed hosts; add --allow \(origin.host), or refuse it with "
        + "--deny \(origin.host)")
  }

  /// Whether requests for a host and port are sent to another origin.
  package func isMapped(host: String, port: Int) -> Bool { intercepted?.policy.maps(host: host, port: port) ?? false }

  /// The index of the upstream of an origin that an isolated command asks for.
  ///
  /// - Parameters:
  ///   - origin: the origin.
  ///   - request: the request, for the report.
  /// - Returns: the index.
  /// - Throws: a ``Problem`` if the settings do not permit the origin.
  func interceptedUpstream(_ origin: Origin, for request: Request) throws(Problem) -> Int {
    guard let intercepted else { throw Problem(status: 500, title: "No command is isolated", detail: "\(origin)") }
    if intercepted.policy.denies(host: origin.host, port: origin.port) {
      note(
        .note, status: 403, method: request.method, url: origin.description + request.target,
        text: "\(origin.host) is denied (--deny, isolation.deny)")
      throw Problem(
        status: 403, title: "The host is denied", detail: "\(origin.host) is denied by --deny or isolation.deny")
    }
    if let index = intercepted.knownIndex(of: origin) { return index }
    if mode.mayReachNetwork { try checkIsAllowed(origin, request) }
    let index = intercepted.index(of: origin) { upstreams in
      guard let recorder else { return }
      do throws(CodedError) {
        try recorder.setUpstreams(upstreams.map { .init(name: $0.name, origin: $0.origin) })
      } catch {
        failRecording(error)
      }
    }
    guard let index else {
      throw refusal(
        request, url: origin.description + request.target, title: "Too many hosts",
        detail: "the command has asked for \(InterceptedUpstreams.limit) origins; name those that matter with --allow")
    }
    return index
  }
}
