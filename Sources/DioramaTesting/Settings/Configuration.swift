import Basics
package import EnvironmentConfiguration
import LaunchContract

extension TestEnvironment {
  /// The settings of a test's environment. All of them are optional.
  ///
  /// Declare a configuration that several tests or suites share:
  ///
  /// ```swift
  /// extension TestEnvironment.Configuration {
  ///   static let shop = Self(upstreams: ["api": "https://dev.api1.com"], clock: .frozen(at: "2018-10-08T09:00:00Z"))
  /// }
  /// @Suite(.environment(.shop)) struct BookingTests { … }
  /// ```
  ///
  /// A test's settings override its suite's. Settings with names, such as toggles, values and upstreams, are combined
  /// by name; rules and lists are added. The project file and the command have the same settings: see the configuration
  /// reference for all of them, with their limits.
  public struct Configuration: Sendable {
    var settings = EnvironmentConfiguration()
    /// An error in the settings, such as a value that cannot be encoded as JSON. It is thrown when the environment is
    /// provisioned.
    var failure: DioramaTestingError?
    var host: Host?
    /// The instant at which the clock begins in mode `mock`, if no setting says so; nil for the time of provisioning.
    var mockStart: String?

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - mode: what to do with requests, ``Mode/once`` by default. The variable `DIORAMA_MODE` overrides it.
    ///   - upstreams: the backends: origins such as `https://dev.api1.com` by name. Replay needs none.
    ///   - access: how to reach upstreams if their URL is not enough, by upstream name.
    ///   - stubs: a folder of stubs in WireMock's format, with `mappings` and `__files`. They answer before the
    ///     cassette. A relative path starts at the folder of the test's file.
    ///   - stubTemplates: whether all texts of stubs' responses are templates.
    ///   - collections: a JSON file of collections, which answer after stubs. A relative path starts at the folder of
    ///     the test's file.
    ///   - openAPI: the API's OpenAPI document, in YAML or JSON. Requests and stub responses are checked against it. In
    ///     mode `mock`, it also answers requests that no stub or collection answers. A relative path starts at the
    ///     folder of the test's file.
    ///   - proto: the `.proto` files of gRPC services, or descriptor sets that protoc has written. Recordings then have
    ///     each gRPC message as JSON, too. Relative paths start at the folder of the test's file.
    ///   - protoPaths: folders in which the files that `proto` imports are looked up; by default the folder of each file.
    ///   - faults: network and backend faults.
    ///   - toggles: feature toggles of the app.
    ///   - values: values for the app's own keys.
    ///   - defaults: user defaults of the app.
    ///   - credentials: secrets in the app's credential store, which is in memory.
    ///   - credentialFaults: simulated faults of that store, such as `.locked`.
    ///   - clock: how time runs. By default it is frozen: in `replay` and `extend` at the recording date, otherwise at
    ///     the time of provisioning.
    ///   - seed: the seed of random values; by default the recorded one, otherwise a random one.
    ///   - cassette: the cassette's path, with or without `.har`. A relative path starts at the folder of the test's
    ///     file. By default `Cassettes/<suite>/<test>`, or `Cassettes/<suite>/<test>/<case>` for a parameterized test.
    ///   - policies: what happens to old recordings and unused interactions.
    ///   - streams: when the parts of recorded streams are sent; by default one after the other, without waiting.
    ///   - allowedHosts: additional host names that clients may use for endpoints. Web pages from these hosts may also
    ///     use endpoints while the environment records or adds secrets to requests; `*` allows any.
    ///   - decodedLimit: the maximum size in bytes of a decoded body, 1 GiB by default; a larger one is kept as sent.
    ///   - ports: names of free ports that the app binds itself.
    ///   - rules: changes to what counts as the same request.
    ///   - order: the order in which interactions play; by default that of `rules`, otherwise
    ///     ``PlaybackOrder/request``.
    ///   - playsUniquely: whether each interaction plays only once. Otherwise the last of equal interactions repeats.
    ///   - redaction: what to redact in recordings, in addition to credentials and the headers that carry them.
    ///   - rewriting: exceptions from the rewriting of upstream URLs in responses.
    ///   - dates: moves dates in replayed responses to the clock's time.
    ///   - isolation: lets `diorama env enter` run programs with fixed URLs in the environment.
    ///   - resources: scarce things that the test needs for itself, such as test accounts, by name.
    ///   - host: this process or a daemon; by default as the variable `DIORAMA_DAEMON` sets it, otherwise this process.
    public init(
      _ mode: Mode? = nil, upstreams: [String: String] = [:], access: [String: UpstreamAccess] = [:],
      stubs: String? = nil, stubTemplates: Bool? = nil,
      collections: String? = nil, openAPI: String? = nil, proto: [String] = [], protoPaths: [String] = [],
      faults: [Fault] = [], toggles: [String: Value] = [:], values: [String: Value] = [:],
      defaults: [String: Value] = [:],
      credentials: [Credential] = [], credentialFaults: [CredentialFault] = [], clock: ClockSettings? = nil,
      seed: String? = nil, cassette: String? = nil, policies: Policies? = nil, streams: StreamPace? = nil,
      allowedHosts: [String] = [], decodedLimit: Int? = nil, ports: [String] = [], rules: MatchingRules? = nil,
      order: PlaybackOrder? = nil, playsUniquely: Bool? = nil, redaction: RedactionRules? = nil,
      rewriting: RewritingRules? = nil, dates: DateShift? = nil, isolation: IsolationSettings? = nil,
      resources: [String: ResourceRequest] = [:], host: Host? = nil
    ) {
      self.host = host
      settings.mode = mode?.rawValue
      settings.upstreams = upstreams.mapValues { .init(url: $0) }
      for (name, access) in access { settings.upstreams[name, default: .init()].access = access.access }
      settings.stubs = stubs
      settings.stubTemplates = stubTemplates
      settings.collections = collections
      do { settings.faults = try faults.map { fault throws(DioramaTestingError) in try fault.json() } } catch {
        failure = error
      }
      settings.openapi = openAPI
      settings.proto = proto
      settings.protoPaths = protoPaths
      settings.toggles = json(toggles, "toggle")
      settings.values = json(values, "value")
      settings.defaults = json(defaults, "user default")
      settings.credentials = credentials.map(\.configuration)
      settings.credentialFaults = credentialFaults.map(\.fault)
      settings.clock = clock?.configuration
      settings.seed = seed
      settings.cassette = cassette
      settings.policies = policies?.configuration
      settings.streams = streams?.text
      settings.allowedHosts = allowedHosts
      settings.decodedLimit = decodedLimit
      settings.ports = ports
      if rules != nil || order != nil || playsUniquely != nil {
        settings.matching = rules?.rules ?? .init()
        if let order { settings.matching?.order = ConfiguredOrder(rawValue: order.rawValue) }
        settings.matching?.playsUniquely = playsUniquely
      }
      settings.redaction = redaction?.rules
      settings.rewriting = rewriting?.rules
      settings.dates = dates?.rules
      settings.isolation = isolation?.settings
      settings.resources = resources.mapValues(\.query)
    }

    private mutating func json(_ values: [String: Value], _ what: String) -> [String: JSON] {
      do { return try values.contractValues(what) } catch {
        failure = failure ?? error
        return [:]
      }
    }

    /// The configuration that the tags of a scenario make.
    package init(_ settings: EnvironmentConfiguration) { self.settings = settings }

    /// Combines this configuration with that of an enclosing suite. This configuration takes precedence.
    package func inside(_ outer: Configuration) -> Configuration {
      var all = self
      all.settings = settings.inside(outer.settings)
      all.failure = failure ?? outer.failure
      all.host = host ?? outer.host
      all.mockStart = mockStart ?? outer.mockStart
      return all
    }

    /// The complete settings for a test, including those of the project file.
    ///
    /// - Parameters:
    ///   - identity: the test.
    ///   - variables: the process's environment variables; `DIORAMA_MODE`, `CI` and those of secrets are read.
    /// - Returns: the settings, checked, with absolute paths.
    /// - Throws: ``DioramaTestingError`` for an invalid setting.
    func resolved(
      for identity: TestIdentity, variables: [String: String]
    ) throws(DioramaTestingError) -> EnvironmentConfiguration {
      if let failure { throw failure }
      let project: ProjectFile?
      do {
        project = try ProjectFile.nearest(to: identity.folder).map { path throws(CodedError) in
          try EmbeddedHosting.readProjectFile(path)
        }
      } catch {
        throw DioramaTestingError(.usage, error.message)
      }
      var settings = settings
      let folder = identity.folder
      for path in [\EnvironmentConfiguration.stubs, \.collections, \.openapi] {
        settings[keyPath: path] = settings[keyPath: path].map { $0.hasPrefix("/") ? $0 : "\(folder)/\($0)" }
      }
      for path in [\EnvironmentConfiguration.proto, \.protoPaths] {
        settings[keyPath: path] = settings[keyPath: path].map { $0.hasPrefix("/") ? $0 : "\(folder)/\($0)" }
      }
      settings.mode = settings.mode ?? project?.settings.mode
      let code = settings.mode.flatMap(Mode.init(rawValue:)) ?? .once
      let upstreams = settings.upstreams.merging(project?.settings.upstreams ?? [:]) { own, _ in own }
      let hasUpstreams = upstreams.values.contains { $0.url != nil }
      let mode = try RequestedMode.resolve(code, hasUpstreams: hasUpstreams, variables: variables)
      settings.mode = mode.rawValue
      settings.cassette =
        mode.needsCassette ? try identity.cassette(named: settings.cassette, in: project?.cassettes) : nil
      let isIsolated = settings.isolation?.kind != nil
      if let project { settings = project.completing(settings) }
      // The file's kind is for diorama run: most tests use endpoints.
      if !isIsolated { settings.isolation = nil }
      settings.mode = mode.rawValue
      if mode == .mock, let mockStart, settings.clock?.start == nil, settings.clock?.kind != "system" {
        settings.clock = settings.clock ?? .init()
        settings.clock?.start = mockStart
      }
      settings.name = identity.name
      settings.command = identity.filter
      settings.caller = "test"
      settings.upstreams = settings.upstreams.mapValues { $0.absolute(in: folder) }
      do { try settings.check() } catch { throw DioramaTestingError(.usage, error.problem) }
      do {
        return try settings.readingSecrets(
          in: folder, variables, isContinuousIntegration: !(variables["CI"] ?? "").isEmpty)
      } catch {
        throw DioramaTestingError(.usage, error.message)
      }
    }
  }
}

extension EnvironmentConfiguration.Upstream {
  /// The upstream with absolute paths, for a process in another folder.
  fileprivate func absolute(in folder: String) -> Self {
    let absolute: (String) -> String = { $0.hasPrefix("/") ? $0 : "\(folder)/\($0)" }
    var upstream = self
    upstream.access.ca = access.ca.map(absolute)
    upstream.access.clientCertificate = access.clientCertificate.map(absolute)
    upstream.access.clientKey = access.clientKey.map(absolute)
    return upstream
  }
}
