package import Basics
import Cassettes
package import ControlAPI
import Foundation
import HTTPMessages
import LaunchContract

extension ProvisioningRequest {
  /// An environment as the control API asks for it, from whoever would else provision it himself.
  ///
  /// What depends on this process is settled here: the cassette's path becomes absolute, and `once` is `replay` where
  /// `CI` is set.
  ///
  /// - Parameters:
  ///   - specification: the environment.
  ///   - ports: names of ports that the daemon is to lease for it.
  /// - Throws: a ``CodedError`` where two upstreams have one name, or no clock can run at the rate.
  package init(_ specification: EnvironmentSpecification, ports: [String] = []) throws(CodedError) {
    try specification.checkRate()
    self.init()
    name = specification.name
    mode =
      (specification.mode == .once && specification.isContinuousIntegration ? .replay : specification.mode).rawValue
    cassette = specification.cassette.map(\.plainBase)
    var upstreams: [String: String] = [:]
    for upstream in specification.upstreams {
      if let other = upstreams.updateValue(upstream.origin.description, forKey: upstream.name) {
        throw CodedError(
          .usage, "upstream '\(upstream.name)' is given twice, as \(other) and \(upstream.origin)")
      }
    }
    self.upstreams = upstreams.nonEmpty
    access = specification.access?.nonEmpty
    clock = ClockSettings(specification.clock)
    seed = specification.seed
    toggles = specification.toggles.nonEmpty
    defaults = specification.defaults.nonEmpty
    values = specification.values.nonEmpty
    credentials =
      specification.credentials.map {
        Credential(
          service: $0.service, account: $0.account, group: $0.group,
          secret: Secret(Data($0.secret).base64EncodedString()))
      }.nonEmpty
    credentialFaults = specification.credentialFaults.nonEmpty
    redact = specification.redaction.isEmpty ? nil : specification.redaction
    shift = specification.shift
    self.ports = ports.nonEmpty
    playsUniquely = specification.playsUniquely ? true : nil
    rules = specification.rules?.document
    order = specification.order?.rawValue
    policies = specification.policies.flatMap { PolicySettings($0) }
    streams = specification.streams?.rawValue
    allowedHosts = specification.allowedHosts.isEmpty ? nil : specification.allowedHosts
    decodedLimit = specification.decodedLimit
    command = specification.command
    caller = specification.caller == .test ? "test" : "command"
  }
}

extension ClockSettings {
  /// Nil where nothing of it is wished.
  fileprivate init?(_ clock: EnvironmentSpecification.Clock) {
    self.init(
      kind: clock.kind, start: clock.start.map { RFC3339.format($0) }, rate: clock.rate == 1 ? nil : clock.rate,
      timeZone: clock.timeZone, locale: clock.locale)
    if self == ClockSettings() { return nil }
  }
}

extension PolicySettings {
  /// Nil where all is as it would be without.
  fileprivate init?(_ policies: CassettePolicies) {
    let usual = CassettePolicies()
    self.init(
      expiresAfterDays: policies.expiresAfterDays,
      expired: policies.expired == usual.expired ? nil : policies.expired.rawValue,
      recordsAnewAfterDays: policies.recordsAnewAfterDays,
      unused: policies.unused == usual.unused ? nil : policies.unused.rawValue)
    if self == PolicySettings() { return nil }
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

extension Collection {
  fileprivate var nonEmpty: Self? { isEmpty ? nil : self }
}
