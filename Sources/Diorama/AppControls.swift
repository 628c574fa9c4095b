public import Foundation

#if DEBUG || Controlled
  package import Basics
  package import LaunchContract
#else
  import LaunchContract
#endif

/// The app's access to its environment: time, random values, toggles, credentials, backends.
///
/// Create one at launch and pass it on; there is no shared instance. Without a launch contract everything is live, at no
/// cost: nothing is read, opened or sent. With a contract, the app runs in the environment that a test has set up.
///
/// ```swift
/// let controls = try AppControls.launch()
/// let today = controls.clock.now
/// let api = controls.endpoint("api", default: URL(string: "https://dev.api1.com")!)
/// ```
///
/// Only debug builds, and builds with the package trait `Controlled`, look for a contract.
public struct AppControls: Sendable {
  /// The app's clock.
  public let clock: DioramaClock
  /// Random values that a test can record and replay.
  public let strings: RandomStrings
  /// Feature toggles that a test can set.
  public let toggles: Toggles
  /// Other values that a test can set.
  public let values: Values
  /// Passwords and tokens: in memory under a contract, otherwise the system's store or the app's own.
  public let credentials: any CredentialStore

  let endpoints: Endpoints
  #if DEBUG || Controlled
    /// Nil without an environment.
    let reporter: UsageReporter?
    /// Nil without an environment.
    let environment: ControlAddress?
  #endif

  /// Reads the launch contract and sets up the environment.
  ///
  /// The contract is the argument after `-DioramaContract`, or the value of the environment variable
  /// `DIORAMA_CONTRACT`. Its user defaults are set in the argument domain of `UserDefaults.standard`, with their types.
  ///
  /// - Returns: live controls if there is no contract.
  /// - Throws: ``DioramaError`` if the contract is invalid or of a later version. Report the error and exit: a test that
  ///   continued would reach the real backends.
  public static func launch() throws(DioramaError) -> AppControls {
    try launch(credentials: platformCredentialStore())
  }

  /// Reads the launch contract and checks its toggles and values against those the app declares.
  ///
  /// ```swift
  /// let controls = try AppControls.launch(declaring: [.toggle(.skipOnboarding), .value(.location)])
  /// ```
  ///
  /// - Parameter registry: the toggles and values that a test can set. An unknown name in the contract is an error.
  /// - Returns: live controls if there is no contract.
  /// - Throws: ``DioramaError`` as ``launch()`` does, and if the contract sets an undeclared toggle or value.
  public static func launch(declaring registry: ControlRegistry) throws(DioramaError) -> AppControls {
    try launch(declaring: registry, credentials: platformCredentialStore())
  }

  /// Reads the launch contract, for an app with its own credential store.
  ///
  /// ```swift
  /// import DioramaSecretService
  /// let controls = try AppControls.launch(credentials: SecretServiceCredentialStore())
  /// ```
  ///
  /// - Parameters:
  ///   - registry: the toggles and values that a test can set; nil to skip the check.
  ///   - credentials: the store to use without a contract. Under a contract it is not created: the app gets an in-memory
  ///     store with the test's credentials.
  /// - Returns: live controls if there is no contract.
  /// - Throws: ``DioramaError`` if the contract is invalid or of a later version.
  public static func launch(
    declaring registry: ControlRegistry? = nil, credentials: @autoclosure () -> any CredentialStore
  ) throws(DioramaError) -> AppControls {
    #if DEBUG || Controlled
      return try launch(
        arguments: CommandLine.arguments, environment: ProcessInfo.processInfo.environment, declaring: registry,
        defaults: { .standard }, credentials: credentials(),
        warn: { FileHandle.standardError.write(Data("diorama: \($0.escapedForTerminal)\n".utf8)) })
    #else
      return live(credentials())
    #endif
  }

  /// The base URL of a backend.
  ///
  /// - Parameters:
  ///   - name: the upstream's name, as in `--upstream NAME=URL`.
  ///   - url: the live URL. If a test has not declared the upstream, the app gets a URL on the environment's main port
  ///     instead, so that it never reaches the real backend by mistake.
  /// - Returns: the URL to append paths to.
  public func endpoint(_ name: String, default url: URL) -> URL {
    endpoints.url(name, default: url)
  }

  /// Reports the toggles and recorded values that the app has read so far.
  ///
  /// The app reports them in the background within milliseconds, and at exit. Call this before a test in the same
  /// process requests the environment's report, or before the app ends without calling `exit`.
  ///
  /// ```swift
  /// controls.flush()
  /// ```
  ///
  /// Returns when the environment has received the report, or after some seconds if it cannot be reached. Does nothing
  /// without a contract.
  public func flush() {
    #if DEBUG || Controlled
      reporter?.flush()
    #endif
  }

  /// Controls without a contract.
  package static var live: AppControls { live(platformCredentialStore()) }

  /// Controls without a contract, with the app's own credential store.
  package static func live(_ credentials: any CredentialStore) -> AppControls {
    AppControls(
      clock: .live, strings: .live, toggles: .live, values: .live, credentials: credentials, endpoints: .live)
  }

  private init(
    clock: DioramaClock, strings: RandomStrings, toggles: Toggles, values: Values, credentials: any CredentialStore,
    endpoints: Endpoints
  ) {
    self.clock = clock
    self.strings = strings
    self.toggles = toggles
    self.values = values
    self.credentials = credentials
    self.endpoints = endpoints
    #if DEBUG || Controlled
      reporter = nil
      environment = nil
    #endif
  }
}

#if DEBUG || Controlled
  extension AppControls {
    /// Does the work of ``launch()`` with explicit inputs.
    ///
    /// - Parameters:
    ///   - arguments: the app's arguments.
    ///   - environment: the app's environment.
    ///   - registry: the app's declarations; nil to skip the check.
    ///   - defaults: the target of the contract's user defaults, called only if there are some; nil to skip them.
    ///   - credentials: the store to use without a contract; nil for the platform's.
    ///   - patience: timeouts for an environment that does not respond.
    ///   - warn: takes one line for standard error.
    /// - Returns: live controls if there is no contract.
    /// - Throws: ``DioramaError``.
    package static func launch(
      arguments: [String], environment: [String: String], declaring registry: ControlRegistry? = nil,
      defaults: (() -> UserDefaults)? = nil, credentials: @autoclosure () -> (any CredentialStore)? = nil,
      patience: Patience = Patience(), warn: @escaping @Sendable (String) -> Void
    ) throws(DioramaError) -> AppControls {
      let contract: LaunchContract?
      do { contract = try LaunchContract.decode(argumentsOf: arguments, environment: environment) } catch {
        throw DioramaError(error)
      }
      guard let contract else { return live(credentials() ?? platformCredentialStore()) }
      if !contract.unknownFields.isEmpty {
        warn("ignored unknown members of the launch contract: \(contract.unknownFields.joined(separator: ", "))")
      }
      let controls = try AppControls(contract, declaring: registry, patience: patience, warn: warn)
      do { if let defaults { try contract.applyDefaults(to: defaults) } } catch { throw DioramaError(error) }
      try controls.follow(contract, warn: warn)
      return controls
    }

    /// Creates the controls of a contract. Sends nothing until the app uses them.
    package init(
      _ contract: LaunchContract, declaring registry: ControlRegistry? = nil, patience: Patience = Patience(),
      warn: @escaping @Sendable (String) -> Void
    ) throws(DioramaError) {
      try registry?.check(contract)
      environment = try contract.control.map { control throws(DioramaError) in
        try ControlAddress(control, patience: patience)
      }
      let connection = environment.map { ControlConnection($0) }
      // A connection of its own with short timeouts: only the end of the process waits for it.
      reporter = environment.map {
        UsageReporter(ControlConnection($0, timeout: .seconds(5), waitsForReturn: false), warn: warn)
      }
      do { clock = DioramaClock(try Timeline(contract.clock)) } catch {
        throw DioramaError(error.kind, "launch contract: \(error.description)")
      }
      if contract.strings == nil, contract.seed.isEmpty {
        strings = .live
      } else {
        let policy = contract.strings ?? LaunchContract.Strings(policy: .derive)
        strings = RandomStrings(
          .contract(
            try ContractStrings(policy, seed: contract.seed, connection: connection, reporter: reporter)))
      }
      toggles = Toggles(
        contract.toggles, known: registry?.names(.toggle),
        report: { [reporter] name, value in reporter?.didRead(toggle: name, value: value) }, warn: warn)
      values = Values(contract.values, known: registry?.names(.value), warn: warn)
      credentials = try InMemoryCredentialStore(contract.credentials)
      endpoints = try Endpoints(contract.endpoints, control: contract.control)
    }

    /// Applies changes from the environment while the app runs, if the contract names an environment that sends them.
    ///
    /// The link lives as long as the environment, even if the app discards its controls.
    package func follow(
      _ contract: LaunchContract, warn: @escaping @Sendable (String) -> Void
    ) throws(DioramaError) {
      guard let environment, let revision = contract.control?.revision, let timeline = clock.timeline else { return }
      let controls = EnvironmentLink.Controls(
        timeline: timeline, toggles: { [toggles] in toggles.update($0) }, values: { [values] in values.update($0) })
      try EnvironmentLink(contract, environment, revision: revision, controls: controls, reporter: reporter, warn: warn)
        .start()
    }
  }

  extension LaunchContract {
    /// Finds and decodes the contract that a program was started with.
    ///
    /// The argument `-DioramaContract VALUE` has precedence over the environment variable `DIORAMA_CONTRACT`. The last
    /// such argument counts, as with user defaults.
    ///
    /// - Parameters:
    ///   - arguments: the program's arguments.
    ///   - environment: the program's environment; an empty variable counts as unset.
    /// - Returns: nil if there is no contract.
    /// - Throws: ``CodedError`` with the JSON path: invalid JSON, an invalid member, a later version, a missing file.
    package static func decode(
      argumentsOf arguments: [String], environment: [String: String]
    ) throws(CodedError) -> LaunchContract? {
      let name = "-DioramaContract"
      if let index = arguments.lastIndex(of: name) {
        guard index + 1 < arguments.count else {
          throw .contract("requires a value: JSON or file:/absolute/path", source: "the argument \(name)")
        }
        return try read(arguments[index + 1], source: "the argument \(name)")
      }
      let variable = "DIORAMA_CONTRACT"
      guard let value = environment[variable], !value.isEmpty else { return nil }
      return try read(value, source: variable)
    }
  }

  extension LaunchContract {
    /// Adds the contract's user defaults to the argument domain, where they override stored values, values that the
    /// app stores later, and its command-line arguments.
    ///
    /// - Throws: ``CodedError`` for a value that is not a property list.
    func applyDefaults(to defaults: () -> UserDefaults) throws(CodedError) {
      guard !self.defaults.isEmpty else { return }
      let values = try userDefaults().mapValues(\.object)
      let target = defaults()
      let domain = target.volatileDomain(forName: UserDefaults.argumentDomain)
      // On Apple's platforms a domain that exists may not be set.
      target.removeVolatileDomain(forName: UserDefaults.argumentDomain)
      target.setVolatileDomain(domain.merging(values) { $1 }, forName: UserDefaults.argumentDomain)
    }
  }

  extension PropertyList {
    /// The Foundation value. Numbers are boxed, so that `integer(forKey:)` and `double(forKey:)` accept either.
    fileprivate var object: Any {
      switch self {
      case .bool(let value): value
      case .int(let value): NSNumber(value: value)
      case .double(let value): NSNumber(value: value)
      case .string(let value): value
      case .date(let value): value
      case .data(let value): value
      case .array(let values): values.map(\.object)
      case .dictionary(let members): members.mapValues(\.object)
      }
    }
  }
#endif

/// The URLs of the app's backends.
struct Endpoints: Sendable {
  private let urls: [String: URL]
  /// The environment's main port, such as `http://127.0.0.1:20011`; nil without an environment.
  private let mainPort: URL?

  /// Every backend at its live URL.
  static let live = Endpoints()

  private init() {
    urls = [:]
    mainPort = nil
  }

  #if DEBUG || Controlled
    /// - Throws: ``DioramaError`` for an invalid URL.
    init(_ endpoints: [String: String], control: LaunchContract.Control?) throws(DioramaError) {
      var urls: [String: URL] = [:]
      for (name, text) in endpoints.sorted(by: { $0.key < $1.key }) {
        guard let url = URL(string: text), url.scheme != nil, url.host() != nil else {
          throw DioramaError(
            .contract, "launch contract: endpoints.\(name): '\(text)' is not a URL; expected http://127.0.0.1:20013")
        }
        urls[name] = url
      }
      self.urls = urls
      mainPort = control.flatMap { URL(string: "/", relativeTo: URL(string: $0.url))?.absoluteURL }
    }
  #endif

  /// The URL for a backend.
  ///
  /// For an undeclared backend, the URL is on the environment's main port, with the host as the first path segment. The
  /// environment serves the request if another upstream has that host, and otherwise refuses it and explains how to
  /// declare the upstream.
  func url(_ name: String, default url: URL) -> URL {
    if let declared = urls[name] { return declared }
    guard let mainPort, let scheme = url.scheme, ["http", "https"].contains(scheme), let host = url.host() else {
      return url
    }
    let authority = url.port.map { "\(host):\($0)" } ?? host
    return URL(string: "/\(authority)\(url.path(percentEncoded: true))", relativeTo: mainPort)?.absoluteURL ?? url
  }
}
