package import Basics
package import ControlAPI
import Cassettes
import Foundation
import HTTPMessages
import LaunchContract

extension EnvironmentSpecification {
  /// The environment that a program asks for by the control API.
  ///
  /// Whether the cassette may lie where it does, and whether the owner lives, is for the daemon to say. ``ports`` has to
  /// be filled in: the request has only their names.
  ///
  /// - Throws: a ``CodedError`` of kind `usage` that names the first member at fault.
  package init(_ request: ProvisioningRequest) throws(CodedError) {
    let mode = try request.mode.map { text throws(CodedError) in try RequestLimits.word(text, "mode", Mode.self) }
    self.init(name: request.name ?? "", mode: mode ?? .once)
    try RequestLimits.check(name, "name", mayBeEmpty: true)
    caller = .api
    if let text = request.caller { caller = try RequestLimits.word(text, "caller", Caller.self) }
    if let text = request.command {
      try RequestLimits.check(text, "command", limit: RequestLimits.text)
      command = text
    }
    playsUniquely = request.playsUniquely ?? false
    rules = try Self.rules(request.rules)
    if let text = request.order { order = try RequestLimits.word(text, "order", PlaybackOrder.self) }
    if let text = request.streams {
      guard let pace = StreamPace(rawValue: text) else {
        throw RequestLimits.usage("streams", StreamPace.problem(with: text))
      }
      streams = pace
    }
    if let hosts = request.allowedHosts {
      try RequestLimits.check(count: hosts.count, "allowedHosts", limit: RequestLimits.upstreams)
      for host in hosts {
        if let problem = EndpointAccess.problem(withHost: host) { throw RequestLimits.usage("allowedHosts", problem) }
      }
      allowedHosts = hosts
    }
    if let limit = request.decodedLimit {
      guard Self.decodedLimits.contains(limit) else {
        throw RequestLimits.usage("decodedLimit", "it is \(limit), not between 1 and \(Self.decodedLimits.upperBound)")
      }
      decodedLimit = limit
    }
    if let path = request.cassette { cassette = try Self.location(path) }
    if name.isEmpty { name = cassette?.name ?? "environment" }
    if let seed = request.seed {
      try RequestLimits.check(seed, "seed", limit: RequestLimits.text, mayBeEmpty: true)
      self.seed = seed
    }
    upstreams = try Self.upstreams(request.upstreams ?? [:])
    if let access = request.access {
      try RequestLimits.check(count: access.count, "access", limit: RequestLimits.upstreams)
      for (name, one) in access.sorted(by: { $0.key < $1.key }) { try one.check("access.\(name.prefix(60))") }
      self.access = access
    }
    if let settings = request.clock { clock = try Clock(settings) }
    toggles = try Self.values(request.toggles, "toggles")
    defaults = try Self.values(request.defaults, "defaults")
    values = try Self.values(request.values, "values")
    try checkValues()
    credentials = try Self.credentials(request.credentials ?? [])
    credentialFaults = try Self.faults(request.credentialFaults ?? [])
    if let rules = request.redact {
      _ = try rules.compiled(from: "redact")
      redaction = rules
    }
    if let rules = request.shift {
      _ = try rules.compiled(from: "shift")
      shift = rules
    }
    if let settings = request.policies { policies = try CassettePolicies(settings) }
    try Self.checkPorts(request.ports ?? [])
    try Self.checkLife(request)
  }

  /// - Throws: a ``CodedError`` of kind `usage`, for a path that is not absolute or goes up.
  private static func location(_ path: String) throws(CodedError) -> CassetteLocation {
    try RequestLimits.check(path, "cassette", limit: RequestLimits.text)
    guard path.hasPrefix("/") else {
      throw RequestLimits.usage(
        "cassette", "'\(path)' is not absolute; the daemon does not know your folder, so give the whole path")
    }
    let parts = path.split(separator: "/", omittingEmptySubsequences: true)
    guard !parts.contains("..") else {
      throw RequestLimits.usage("cassette", "'\(path)' goes up by '..'; give it without")
    }
    let location = CassetteLocation("/" + parts.filter { $0 != "." }.joined(separator: "/"))
    guard !path.hasSuffix("/"), !location.name.isEmpty, location.name != "/" else {
      throw RequestLimits.usage(
        "cassette", "'\(path)' names a folder, not a cassette, such as /home/me/shop/Cassettes/login")
    }
    guard location.name.utf8.count <= 200 else {
      throw RequestLimits.usage("cassette", "its name has \(location.name.utf8.count) bytes, more than 200")
    }
    return location
  }

  /// - Throws: a ``CodedError`` of kind `usage`.
  private static func rules(_ value: JSON?) throws(CodedError) -> MatchingRules? {
    guard let value else { return nil }
    do throws(CodedError) {
      let rules = try MatchingRules(value)
      _ = try RuleBook(rules, upstreams: [])
      return rules
    } catch {
      throw RequestLimits.usage("rules", error.problem)
    }
  }

  private static func upstreams(_ request: [String: String]) throws(CodedError) -> [CassetteHeader.Upstream] {
    try RequestLimits.check(count: request.count, "upstreams", limit: RequestLimits.upstreams)
    var upstreams: [CassetteHeader.Upstream] = []
    // An object has no order; that of the names gives each the same port again after a restart.
    for (name, url) in request.sorted(by: { $0.key < $1.key }) {
      let member = "upstreams.\(name.prefix(60))"
      try RequestLimits.check(name, member)
      try RequestLimits.check(url, member, limit: RequestLimits.text)
      do throws(CodedError) {
        upstreams.append(.init(name: name, origin: try Origin(parsing: url)))
      } catch {
        throw RequestLimits.usage(member, error.description)
      }
    }
    return upstreams
  }

  private static func values(
    _ values: [String: JSON]?, _ member: String
  ) throws(CodedError) -> [String: JSON] {
    guard let values else { return [:] }
    try RequestLimits.check(count: values.count, member, limit: RequestLimits.values)
    for name in values.keys.sorted() { try RequestLimits.check(name, "\(member).\(name.prefix(60))", limit: 1000) }
    return values
  }

  private static func checkPorts(_ names: [String]) throws(CodedError) {
    try RequestLimits.check(count: names.count, "ports", limit: RequestLimits.ports)
    for (index, name) in names.enumerated() {
      try RequestLimits.check(name, "ports.\(index)")
      let variable = "DIORAMA_PORT_" + Environment.variableName(name)
      if let other = names[..<index].first(where: { "DIORAMA_PORT_" + Environment.variableName($0) == variable }) {
        throw RequestLimits.usage("ports.\(index)", "'\(other)' and '\(name)' would share \(variable); rename one")
      }
    }
  }

  private static func checkLife(_ request: ProvisioningRequest) throws(CodedError) {
    if let owner = request.owner, owner.pid < 2 {
      throw RequestLimits.usage("owner.pid", "\(owner.pid) is no process that could own an environment")
    }
    if let seconds = request.ttlSeconds, !RequestLimits.lifetime.contains(seconds) {
      throw RequestLimits.usage("ttlSeconds", "\(seconds) is not between 0.1 and 2592000, thirty days")
    }
  }
}

extension CassettePolicies {
  /// - Throws: a ``CodedError`` of kind `usage` that names the member at fault.
  init(_ settings: PolicySettings) throws(CodedError) {
    self.init()
    expiresAfterDays = settings.expiresAfterDays
    recordsAnewAfterDays = settings.recordsAnewAfterDays
    if let word = settings.expired {
      expired = try RequestLimits.word(word, "policies.expired", Severity.self)
      guard expiresAfterDays != nil else {
        throw RequestLimits.usage(
          "policies.expired", "nothing expires without policies.expiresAfterDays; give that, too")
      }
    }
    if let word = settings.unused { unused = try RequestLimits.word(word, "policies.unused", Severity.self) }
    try check()
  }
}

extension EnvironmentSpecification.Clock {
  /// - Throws: a ``CodedError`` of kind `usage` that names the member at fault.
  package init(_ settings: ClockSettings) throws(CodedError) {
    self.init()
    if let text = settings.kind {
      kind = try RequestLimits.word(text, "clock.kind", LaunchContract.Clock.Kind.self).rawValue
    }
    start = try Self.instant(settings.start)
    if let rate = settings.rate {
      try Self.check(rate: rate)
      self.rate = rate
    }
    timeZone = try Self.zone(settings.timeZone)
    locale = try Self.locale(settings.locale)
  }

  /// - Throws: a ``CodedError`` of kind `usage`.
  static func instant(_ text: String?) throws(CodedError) -> Date? {
    guard let text else { return nil }
    guard let date = RFC3339.parse(text) else {
      throw RequestLimits.usage(
        "clock.start", "'\(text.prefix(60))' is not an instant such as 2018-10-08T09:00:00Z (RFC 3339)")
    }
    return date
  }

  /// - Throws: a ``CodedError`` of kind `usage`.
  static func check(rate: Double) throws(CodedError) {
    guard 0.000_001...1_000_000 ~= rate else {
      throw RequestLimits.usage("clock.rate", "\(rate) is not between 0.000001 and 1000000")
    }
  }

  /// - Throws: a ``CodedError`` of kind `usage`.
  static func zone(_ name: String?) throws(CodedError) -> String? {
    guard let name else { return nil }
    try RequestLimits.check(name, "clock.timeZone")
    guard TimeZone(identifier: name) != nil else {
      throw RequestLimits.usage("clock.timeZone", "'\(name)' is no time zone; give an IANA name such as Europe/London")
    }
    return name
  }

  /// - Throws: a ``CodedError`` of kind `usage`.
  static func locale(_ name: String?) throws(CodedError) -> String? {
    guard let name else { return nil }
    try RequestLimits.check(name, "clock.locale")
    return name
  }
}

extension Environment.ClockPatch {
  /// What a program wants to be another about the clock.
  ///
  /// - Throws: a ``CodedError`` of kind `usage` that names the member at fault.
  package init(_ settings: ClockSettings) throws(CodedError) {
    let clock = try EnvironmentSpecification.Clock(settings)
    self.init(
      kind: clock.kind.flatMap(LaunchContract.Clock.Kind.init(rawValue:)), start: clock.start, rate: settings.rate,
      timeZone: clock.timeZone, locale: clock.locale)
  }
}
