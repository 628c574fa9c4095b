package import Basics
import Cassettes
package import EnvironmentConfiguration
import Foundation
import HTTPMessages
import LaunchContract

extension EnvironmentSpecification {
  /// Resolves a configuration.
  ///
  /// Whether the cassette may lie where it does is for the daemon to say. ``ports`` has to be filled in: a configuration
  /// has only their names. Secrets that are elsewhere have been read (``EnvironmentConfiguration/readingSecrets``).
  ///
  /// - Parameters:
  ///   - configuration: what is asked for.
  ///   - isChecked: whether its schema has been checked.
  /// - Throws: a ``CodedError`` of kind `usage` that names the first setting at fault.
  package init(_ configuration: EnvironmentConfiguration, isChecked: Bool = false) throws(CodedError) {
    do throws(CodedError) {
      try isChecked ? configuration.checkRelations() : configuration.check()
    } catch {
      throw CodedError(.usage, error.problem)
    }
    self.init(name: configuration.name ?? "", mode: configuration.mode.flatMap(Mode.init(rawValue:)) ?? .once)
    caller = configuration.caller.flatMap(Caller.init(rawValue:)) ?? .api
    command = configuration.command ?? command
    cassette = configuration.cassette.map { path in
      guard path.hasPrefix("/") else { return CassetteLocation(path) }
      return CassetteLocation("/" + path.split(separator: "/").filter { $0 != "." }.joined(separator: "/"))
    }
    if name.isEmpty { name = cassette?.name ?? "environment" }
    seed = configuration.seed
    // An object has no order; that of the names gives each the same port again after a restart.
    for (name, upstream) in configuration.upstreams.sorted(by: { $0.key < $1.key }) {
      if let origin = upstream.url.flatMap({ try? Origin(parsing: $0) }) {
        upstreams.append(.init(name: name, origin: origin))
      }
      if let variable = upstream.variable {
        endpointVariables = (endpointVariables ?? [:]).merging([variable: name]) { $1 }
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
    try configuration.checkRules()
    rules = configuration.matching
    order = configuration.matching?.order
    playsUniquely = configuration.matching?.playsUniquely ?? false
    redaction = configuration.redaction ?? RedactionRules()
    shift = configuration.dates
    policies = configuration.policies.map(CassettePolicies.init)
    streams = configuration.streams.flatMap(StreamPace.init(rawValue:))
    allowedHosts = configuration.allowedHosts
    decodedLimit = configuration.decodedLimit
    if caller == .api { asked = configuration.withoutSecrets }
  }

  private static func credential(
    _ index: Int, _ item: EnvironmentConfiguration.Credential
  ) throws(CodedError) -> Credential {
    let secret: [UInt8]
    switch (item.secret, item.text) {
    case (let text?, _): secret = Data(base64Encoded: text.revealed).map(Array.init) ?? []
    case (nil, let text?): secret = Array(text.revealed.utf8)
    case (nil, nil):
      throw CodedError(.usage, "credentials[\(index)]: it has no secret; give \"secret\" in Base64, or \"text\"")
    }
    guard secret.count <= 64 << 10 else {
      throw CodedError(.usage, "credentials[\(index)]: its secret has \(secret.count) bytes, more than 65536")
    }
    return Credential(service: item.service, account: item.account, group: item.group, secret: secret)
  }
}

extension EnvironmentSpecification.Clock {
  /// - Parameter clock: as a configuration has it, checked.
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
  /// Checks what no schema can: patterns, JSON paths, places of dates.
  ///
  /// - Throws: a ``CodedError`` of kind `usage` that names the first rule at fault.
  func checkRules() throws(CodedError) {
    do throws(CodedError) { _ = try RuleBook(matching ?? MatchingRules(), upstreams: []) } catch {
      throw CodedError(.usage, error.problem)
    }
    _ = try redaction?.compiled()
    _ = try dates?.compiled()
  }

  /// For messages: secrets are replaced by `…`.
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

  /// As a daemon is asked for it. What depends on this process is settled: the cassette's path becomes absolute, without
  /// `..`, and `once` is `replay` where `CI` is set.
  package func forDaemon(isContinuousIntegration: Bool) -> Self {
    var settled = self
    if isContinuousIntegration, mode ?? "once" == "once" { settled.mode = "replay" }
    settled.cassette = cassette.map { CassetteLocation($0).plainBase }
    return settled
  }
}

extension CassetteLocation {
  /// The absolute path without ending and without `..`, which the daemon refuses: a folder's own path, where it is there.
  fileprivate var plainBase: String {
    guard base.split(separator: "/").contains("..") else { return base }
    let real = realpath(folder, nil).map { pointer in
      defer { free(pointer) }
      return String(cString: pointer)
    }
    return real.map { ($0 == "/" ? "" : $0) + "/" + name } ?? (base as NSString).standardizingPath
  }
}
