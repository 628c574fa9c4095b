package import EnvironmentConfiguration
package import LaunchContract

/// The answer to `GET {control}/isolation`: what is needed to lead the connections of a command to an environment.
package struct IsolationPlan: Codable, Sendable {
  /// The environment's ID.
  package var environment: String
  /// The settings, checked.
  package var settings: EnvironmentConfiguration.Isolation
  /// Ports that the command binds itself, and that are reachable from outside.
  package var ports: [UInt16]
  /// The environment's own ports on 127.0.0.1: the main port and the endpoints.
  package var ownPorts: [UInt16]
  /// Whether a backend is on this machine, so that requests to this machine use the proxy, too.
  package var hasLocalOrigins: Bool
  /// The certificate of the environment's authority, as DER in Base64.
  package var certificate: String
  /// The seed of random values.
  package var seed: String
  /// The clock, with what it shows now.
  package var clock: LiveState.ClockReading
  /// The last step that `clock` includes.
  package var revision: Int

  package init(
    environment: String, settings: EnvironmentConfiguration.Isolation, ports: [UInt16], ownPorts: [UInt16],
    hasLocalOrigins: Bool, certificate: String, seed: String, clock: LiveState.ClockReading, revision: Int
  ) {
    self.environment = environment
    self.settings = settings
    self.ports = ports
    self.ownPorts = ownPorts
    self.hasLocalOrigins = hasLocalOrigins
    self.certificate = certificate
    self.seed = seed
    self.clock = clock
    self.revision = revision
  }
}

/// The body of `POST {control}/isolation`: how a command is isolated, for the environment's report.
package struct IsolationNote: Codable, Sendable {
  /// `namespaces`, `seccomp` or `proxy`; nil if it is known already.
  package var kind: String?
  /// Why the better kind was not available, and what would allow it; nil if it was.
  package var reason: String?
  /// What the command's programs do not have although it was asked for, one line each.
  package var missing: [String]
  /// What failed while connections were intercepted, one line each. The environment fails, too.
  package var problems: [String]
  /// The command that enters the environment, for the report.
  package var entering: String?
  /// The command that leaves it, as it has entered.
  package var leaving: String?

  package init(kind: String? = nil, reason: String? = nil, missing: [String] = [], problems: [String] = []) {
    self.kind = kind
    self.reason = reason
    self.missing = missing
    self.problems = problems
  }
}
