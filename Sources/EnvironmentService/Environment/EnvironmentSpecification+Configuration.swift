package import Basics
import Cassettes
package import EnvironmentConfiguration
import Foundation
import HTTPMessages
import LaunchContract
import Stubs

extension EnvironmentSpecification {
  /// Resolves a configuration.
  ///
  /// The daemon checks separately whether the cassette's location is allowed. The caller sets ``ports``, because a
  /// configuration has only their names. Read secrets from variables and files first, with
  /// ``EnvironmentConfiguration/readingSecrets``.
  ///
  /// - Parameters:
  ///   - configuration: the configuration.
  ///   - isChecked: whether its schema has been checked.
  /// - Throws: a ``CodedError`` of kind `usage` that names the first invalid setting.
  package init(_ configuration: EnvironmentConfiguration, isChecked: Bool = false) throws(CodedError) {
    try CodedError.translating(to: .usage, try isChecked ? configuration.checkRelations() : configuration.check())
    self.init(name: configuration.name ?? "", mode: configuration.mode.flatMap(Mode.init(rawValue:)) ?? .once)
    caller = configuration.caller.flatMap(Caller.init(rawValue:)) ?? .api
    command = configuration.command ?? command
    cassette = configuration.cassette.map { path in
      guard path.hasPrefix("/") else { return CassetteLocation(path) }
      return CassetteLocation("/" + path.split(separator: "/").filter { $0 != "." }.joined(separator: "/"))
    }
    stubs = configuration.stubs
    collections = configuration.collections
    openAPI = configuration.openapi
    if !configuration.proto.isEmpty { proto = configuration.proto }
    if !configuration.protoPaths.isEmpty { protoPaths = configuration.protoPaths }
    stubsAreTemplates = configuration.stubTemplates
    if !configuration.faults.isEmpty {
      let settings = try CodedError.translating(to: .usage, try EnvironmentConfiguration.faults(configuration.faults))
      faults = settings
      _ = try CodedError.translating(to: .usage, try FaultSet(settings))
    }
    if name.isEmpty { name = cassette?.name ?? "environment" }
    seed = configuration.seed
    // JSON objects are unordered. Sorting by name gives each upstream the same port again after a restart.
    for (name, upstream) in configuration.upstreams.sorted(by: { $0.key < $1.key }) {
      if let origin = upstream.url.flatMap({ try? Origin(parsing: $0) }) {
        upstreams.append(.init(name: name, origin: origin))
      }
      if let variable = upstream.variable {
        endpointVariables = (endpointVariables ?? [:]).merging([variable: name]) { $1 }
      }
      if let port = upstream.port.flatMap(UInt16.init(exactly:)) {
        endpointPorts = (endpointPorts ?? [:]).merging([name: port]) { $1 }
      }
      if upstream.access != UpstreamAccess() { access = (access ?? [:]).merging([name: upstream.access]) { $1 } }
    }
    if let settings = configuration.clock { clock = Clock(settings) }
    toggles = configuration.toggles
    defaults = configuration.defaults
    values = configuration.values
    try checkValues()
    credentials = try configuration.credentials.enumerated().map { index, item throws(CodedError) in
      try Self.credential(index, item)
    }
    credentialFaults = configuration.credentialFaults
    if !configuration.resources.isEmpty { resources = configuration.resources }
    try configuration.checkRules()
    rules = configuration.matching
    order = configuration.matching?.order
    playsUniquely = configuration.matching?.playsUniquely ?? false
    redaction = configuration.redaction ?? RedactionRules()
    rewriting = configuration.rewriting
    shift = configuration.dates
    policies = configuration.policies.map(CassettePolicies.init)
    streams = configuration.streams.flatMap(StreamPace.init(rawValue:))
    allowedHosts = configuration.allowedHosts
    decodedLimit = configuration.decodedLimit
    if let kind = configuration.isolation?.kind, kind != "off" { isolation = configuration.isolation }
    if caller == .api { asked = configuration.withoutSecrets }
  }

  /// Checks one fault.
  ///
  /// - Parameters:
  ///   - fault: an object or its short form.
  ///   - place: its place, for errors.
  /// - Throws: a ``CodedError`` if it is not valid.
  package static func check(fault: JSON, at place: String) throws(CodedError) {
    _ = try FaultSet.Rule(FaultSettings(fault, at: place), at: place)
  }

  private static func credential(
    _ index: Int, _ item: EnvironmentConfiguration.Credential
  ) throws(CodedError) -> Credential {
    guard let secret = item.bytes else {
      throw CodedError(.usage, "credentials[\(index)]: missing secret; set \"secret\" (Base64) or \"text\"")
    }
    guard secret.count <= 64 << 10 else {
      throw CodedError(.usage, "credentials[\(index)]: the secret has \(secret.count) bytes; the limit is 65536")
    }
    return Credential(service: item.service, account: item.account, group: item.group, secret: secret)
  }
}

extension EnvironmentSpecification.Clock {
  /// Converts a configuration's clock.
  ///
  /// - Parameter clock: the checked settings.
  package init(_ clock: EnvironmentConfiguration.Clock) {
    self.init()
    kind = clock.kind
    start = clock.start.flatMap(RFC3339.parse)
    rate = clock.rate ?? 1
    timeZone = clock.timeZone
    locale = clock.locale
  }
}

extension EnvironmentConfiguration {
  /// Checks what a schema cannot express: patterns, JSON paths, places in messages.
  ///
  /// - Throws: a ``CodedError`` of kind `usage` that names the first invalid rule.
  func checkRules() throws(CodedError) {
    try CodedError.translating(to: .usage, try RuleBook(matching ?? MatchingRules(), upstreams: []))
    _ = try redaction?.compiled()
    _ = try rewriting?.compiled()
    _ = try dates?.compiled()
  }

  /// The configuration for messages, with secrets replaced by `…`.
  fileprivate var withoutSecrets: Self {
    var plain = self
    plain.credentials = credentials.map {
      Credential(service: $0.service, account: $0.account, group: $0.group, text: Secret("…"))
    }
    plain.upstreams = upstreams.mapValues { upstream in
      var upstream = upstream
      upstream.access.headers = upstream.access.headers?.mapValues { _ in Secret("…") }
      return upstream
    }
    return plain
  }
}
