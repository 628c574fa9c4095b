import Basics
import Cassettes
import EnvironmentService
import HTTPMessages
import LaunchContract

/// What a test asks for. Of a suite's and a test's own the test's count, and named things are put together.
struct Settings: Sendable {
  var mode: TestEnvironment.Mode?
  var upstreams: [String: String] = [:]
  var access: [String: TestEnvironment.UpstreamAccess] = [:]
  var toggles: [String: TestEnvironment.Value] = [:]
  var values: [String: TestEnvironment.Value] = [:]
  var defaults: [String: TestEnvironment.Value] = [:]
  var credentials: [TestEnvironment.Credential] = []
  var credentialFaults: [TestEnvironment.CredentialFault] = []
  var clock: TestEnvironment.ClockSettings?
  var seed: String?
  var cassette: String?
  var policies: TestEnvironment.Policies?
  var streams: TestEnvironment.StreamPace?
  var allowedHosts: [String] = []
  var decodedLimit: Int?
  var ports: [String] = []
  var rules: TestEnvironment.MatchingRules?
  var order: TestEnvironment.PlaybackOrder?
  var redaction = TestEnvironment.RedactionRules()
  var shift: TestEnvironment.DateShift?
  var host: TestEnvironment.Host?

  /// These, with those of a suite around where these say nothing.
  func inside(_ outer: Settings) -> Settings {
    var all = self
    all.mode = mode ?? outer.mode
    all.upstreams = outer.upstreams.merging(upstreams) { $1 }
    all.access = outer.access.merging(access) { $1 }
    all.toggles = outer.toggles.merging(toggles) { $1 }
    all.values = outer.values.merging(values) { $1 }
    all.defaults = outer.defaults.merging(defaults) { $1 }
    let own = Set(credentials.map(\.description))
    all.credentials = outer.credentials.filter { !own.contains($0.description) } + credentials
    // The test's come first, since of two that hit one call the first counts.
    all.credentialFaults = credentialFaults + outer.credentialFaults
    all.clock = clock ?? outer.clock
    all.seed = seed ?? outer.seed
    all.cassette = cassette ?? outer.cassette
    all.policies = policies ?? outer.policies
    all.streams = streams ?? outer.streams
    all.allowedHosts = outer.allowedHosts + allowedHosts
    all.decodedLimit = decodedLimit ?? outer.decodedLimit
    all.ports = outer.ports.filter { !ports.contains($0) } + ports
    all.rules = rules ?? outer.rules
    all.order = order ?? outer.order
    all.redaction = outer.redaction.adding(redaction)
    all.shift = shift ?? outer.shift
    all.host = host ?? outer.host
    return all
  }

  /// The environment that this comes to for a test, before it has ports.
  ///
  /// - Parameters:
  ///   - identity: which test asks.
  ///   - variables: the process's, of which `DIORAMA_MODE` and `CI` count.
  /// - Returns: what the service provisions.
  /// - Throws: when something of it makes no sense.
  func specification(
    for identity: TestIdentity, variables: [String: String]
  ) throws(DioramaTestingError) -> EnvironmentSpecification {
    let mode = try RequestedMode.resolve(mode ?? .once, hasUpstreams: !upstreams.isEmpty, variables: variables)
    var specification = EnvironmentSpecification(name: identity.name, mode: Mode(mode))
    specification.caller = .test
    specification.command = identity.filter
    specification.isContinuousIntegration = !(variables["CI"] ?? "").isEmpty
    specification.seed = seed
    specification.rules = rules?.rules
    specification.order = order.map { PlaybackOrder($0) }
    if let streams { specification.streams = try StreamPace(streams) }
    if let decodedLimit {
      let limits = EnvironmentSpecification.decodedLimits
      guard limits.contains(decodedLimit) else {
        throw DioramaTestingError(.usage, "decodedLimit: \(decodedLimit) is not between 1 and \(limits.upperBound)")
      }
      specification.decodedLimit = decodedLimit
    }
    if specification.mode.needsCassette {
      specification.cassette = CassetteLocation(try identity.cassette(named: cassette))
    }
    for (name, url) in upstreams.sorted(by: { $0.key < $1.key }) {
      do throws(CodedError) {
        specification.upstreams.append(.init(name: name, origin: try Origin(parsing: url)))
      } catch {
        throw DioramaTestingError(.usage, "upstream '\(name)': \(error)")
      }
    }
    if !access.isEmpty {
      let folder = identity.folder
      specification.access = access.mapValues { $0.resolved(in: folder) }
      for (name, one) in (specification.access ?? [:]).sorted(by: { $0.key < $1.key }) {
        do throws(CodedError) {
          try one.check("access[\"\(name)\"]")
        } catch {
          throw DioramaTestingError(.usage, error.message)
        }
      }
    }
    specification.allowedHosts = allowedHosts
    for host in allowedHosts {
      guard let problem = EndpointAccess.problem(withHost: host) else { continue }
      throw DioramaTestingError(.usage, "allowedHosts: \(problem)")
    }
    specification.redaction = redaction.rules
    specification.shift = shift?.rules
    if let policies { specification.policies = policies.specification }
    if let clock { specification.clock = try clock.specification() }
    specification.toggles = try toggles.contractValues("toggle")
    specification.values = try values.contractValues("value")
    specification.defaults = try defaults.contractValues("user default")
    specification.credentials = credentials.map {
      .init(service: $0.service, account: $0.account, group: $0.group, secret: $0.secret)
    }
    for fault in credentialFaults.map(\.fault) {
      if let nth = fault.nth, nth < 1 {
        throw DioramaTestingError(.usage, "credential fault \(fault.fault)(nth: \(nth)): calls are counted from 1")
      }
      specification.credentialFaults.append(fault)
    }
    return specification
  }
}
