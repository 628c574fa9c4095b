package import Basics
package import Foundation

/// The document that a test passes to the app at launch; it describes the app's environment.
///
/// The environment writes its JSON with ``ContractWriter``; the app reads it with ``decode(argumentsOf:environment:)``.
package struct LaunchContract: Sendable, Equatable {
  /// The version that is written, and the highest that is read.
  package static let currentVersion = 1

  /// 1.
  package var version: Int
  /// The environment's identity.
  package var environment: Environment
  /// How the network is served (`proxy`, `record`, `extend`, `replay`, `once`, `mock`), for the app's information.
  package var mode: String
  /// The app's time.
  package var clock: Clock
  /// The seed from which random values are derived.
  package var seed: String
  /// Named switches and values for the app.
  package var toggles: [String: JSON]
  /// User defaults for the app.
  package var defaults: [String: JSON]
  /// Other values for the app, such as a location.
  package var values: [String: JSON]
  /// The local URL of each upstream, by its name.
  package var endpoints: [String: String]
  /// Leased ports by name, for the app to bind.
  package var ports: [String: Int]
  /// The content of the app's credential store, which is never the machine's own; nil for none.
  package var credentials: Credentials?
  /// Where the app sends reports; nil for nowhere.
  package var control: Control?
  /// The source of random values; nil: derived from the seed if set, else real.
  package var strings: Strings?
  /// Members unknown to this version, as sorted paths (`clock.drift`); they are never written.
  package var unknownFields: [String] = []

  package init(
    environment: Environment, mode: String, clock: Clock, seed: String, toggles: [String: JSON] = [:],
    defaults: [String: JSON] = [:], values: [String: JSON] = [:], endpoints: [String: String] = [:],
    ports: [String: Int] = [:], credentials: Credentials? = nil, control: Control? = nil, strings: Strings? = nil,
    version: Int = Self.currentVersion
  ) {
    self.version = version
    self.environment = environment
    self.mode = mode
    self.clock = clock
    self.seed = seed
    self.toggles = toggles
    self.defaults = defaults
    self.values = values
    self.endpoints = endpoints
    self.ports = ports
    self.credentials = credentials
    self.control = control
    self.strings = strings
  }

  /// Encodes the document as JSON on one line; equal contracts give equal bytes.
  ///
  /// - Throws: `EncodingError` for a number that JSON cannot express.
  package func encodedDocument() throws -> Data {
    try JSON.encode(self)
  }
}

extension LaunchContract {
  /// An environment's ID and the name given by its test.
  package struct Environment: Codable, Sendable, Equatable {
    /// The ID in the control API.
    package var id: String
    /// The display name, such as `Booking/books a slot`.
    package var name: String

    package init(id: String, name: String) {
      self.id = id
      self.name = name
    }
  }

  /// The app's time and how it advances.
  package struct Clock: Sendable, Equatable {
    /// How the clock runs, as the article Time of the library Diorama explains.
    package enum Kind: String, Codable, Sendable, CaseIterable {
      case system, frozen, ticking, scaled, manual
    }

    /// How time advances.
    package var kind: Kind
    /// The start time in RFC 3339 as given; required for every kind but `system`.
    package var start: String?
    /// Seconds of the app per real second, 0.000001 to 1,000,000; used for `scaled` only.
    package var rate: Double
    /// An IANA name such as `Europe/London`; nil for the machine's time zone.
    package var timeZone: String?
    /// A locale such as `en_GB`; nil for the machine's.
    package var locale: String?
    /// The real time in RFC 3339 at which the environment's clock showed `start`.
    ///
    /// Keeps all apps of an environment in sync for `ticking` and `scaled`. Nil: when the app starts.
    package var provisioned: String?

    package init(
      kind: Kind, start: String? = nil, rate: Double = 1, timeZone: String? = nil, locale: String? = nil,
      provisioned: String? = nil
    ) {
      self.kind = kind
      self.start = start
      self.rate = rate
      self.timeZone = timeZone
      self.locale = locale
      self.provisioned = provisioned
    }
  }

  /// Where the app sends reports: the environment's main port.
  package struct Control: Codable, Sendable, Equatable {
    /// A URL such as `http://127.0.0.1:20011/__diorama`.
    package var url: String
    /// Sent as `Authorization: Bearer …`.
    package var token: Secret
    /// The latest change of the environment included in this contract; the app receives later ones while it runs.
    ///
    /// Nil if changes cannot be followed.
    package var revision: Int?

    package init(url: String, token: String, revision: Int? = nil) {
      self.url = url
      self.token = Secret(token)
      self.revision = revision
    }
  }

  /// The source of random values.
  package struct Strings: Codable, Sendable, Equatable {
    /// How the app obtains a value.
    package enum Policy: String, Codable, Sendable, CaseIterable {
      /// Derives it from the seed without reporting it.
      case derive
      /// Derives it from the seed unless it is in the entries, and reports it before use.
      case report
      /// Reads it from the entries; a missing value is an error.
      case replay
    }

    /// How the app obtains each value.
    package var policy: Policy
    /// The recorded values, by key and ordinal.
    package var entries: [String: [StringEntry?]]?
    /// In place of `entries`: the absolute path of a `NAME.strings.json`.
    package var file: String?

    package init(policy: Policy, entries: [String: [StringEntry?]]? = nil, file: String? = nil) {
      self.policy = policy
      self.entries = entries
      self.file = file
    }

    package init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      policy = try container.decodeWord(Policy.self, forKey: .policy)
      entries = try container.decodeIfPresent([String: [StringEntry?]].self, forKey: .entries)
      file = try container.decodeIfPresent(String.self, forKey: .file)
    }
  }
}

extension LaunchContract: Codable {
  private enum CodingKeys: String, CodingKey, CaseIterable {
    case version, environment, mode, clock, seed, toggles, defaults, values, endpoints, ports, credentials, control
    case strings
  }

  /// Decodes a contract. Only `version` is required, so a hand-written contract can be short.
  package init(from decoder: any Decoder) throws {
    let document = try decoder.container(keyedBy: CodingKeys.self)
    // First, since a later version may have a different structure.
    let version = try document.decode(Int.self, forKey: .version)
    guard version == Self.currentVersion else {
      let advice = version > Self.currentVersion ? "; rebuild the app with a newer Diorama" : ""
      throw CodedError(.broken, "version: \(version) is not supported, only \(Self.currentVersion) is\(advice)")
    }
    func decode<Value: Decodable>(_ key: CodingKeys, default value: Value) throws -> Value {
      try document.decodeIfPresent(Value.self, forKey: key) ?? value
    }
    self.init(
      environment: try decode(.environment, default: Environment(id: "", name: "")),
      mode: try decode(.mode, default: ""),
      clock: try decode(.clock, default: Clock(kind: .system)),
      seed: try decode(.seed, default: ""),
      toggles: try decode(.toggles, default: [:]),
      defaults: try decode(.defaults, default: [:]),
      values: try decode(.values, default: [:]),
      endpoints: try decode(.endpoints, default: [:]),
      ports: try decode(.ports, default: [:]),
      credentials: try document.decodeIfPresent(Credentials.self, forKey: .credentials),
      control: try document.decodeIfPresent(Control.self, forKey: .control),
      strings: try document.decodeIfPresent(Strings.self, forKey: .strings),
      version: version)
    try checkMembers()
    unknownFields = try Self.unknownFields(decoder)
  }

  package func encode(to encoder: any Encoder) throws {
    var document = encoder.container(keyedBy: CodingKeys.self)
    try document.encode(version, forKey: .version)
    try document.encode(environment, forKey: .environment)
    try document.encode(mode, forKey: .mode)
    try document.encode(clock, forKey: .clock)
    try document.encode(seed, forKey: .seed)
    try document.encode(toggles, forKey: .toggles)
    try document.encode(defaults, forKey: .defaults)
    try document.encode(values, forKey: .values)
    try document.encode(endpoints, forKey: .endpoints)
    try document.encode(ports, forKey: .ports)
    try document.encodeIfPresent(credentials, forKey: .credentials)
    try document.encodeIfPresent(control, forKey: .control)
    try document.encodeIfPresent(strings, forKey: .strings)
  }

  /// Checks what the types do not express.
  private func checkMembers() throws(CodedError) {
    for (name, port) in ports.sorted(by: { $0.key < $1.key }) where !(1...65_535 ~= port) {
      throw CodedError(.broken, "ports.\(name): \(port) is not a port (1 to 65535)")
    }
    if let revision = control?.revision, revision < 0 {
      throw CodedError(.broken, "control.revision: \(revision) is negative")
    }
    if let file = strings?.file, !file.hasPrefix("/") {
      throw CodedError(.broken, "strings.file: '\(file)' is not an absolute path")
    }
  }

  /// The unknown members of the document and of its members with a fixed structure.
  private static func unknownFields(_ decoder: any Decoder) throws -> [String] {
    let document = try decoder.container(keyedBy: AnyKey.self)
    let known: [(CodingKeys, Set<String>)] = [
      (.environment, ["id", "name"]),
      (.clock, Clock.knownFields),
      (.credentials, Credentials.knownFields),
      (.control, ["url", "token", "revision"]),
      (.strings, ["policy", "entries", "file"]),
    ]
    var unknown = document.allKeys.map(\.stringValue).filter { CodingKeys(stringValue: $0) == nil }
    for (field, names) in known {
      let inner = try? document.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey(stringValue: field.rawValue))
      let others = inner?.allKeys.map(\.stringValue).filter { !names.contains($0) } ?? []
      unknown += others.map { "\(field.rawValue).\($0)" }
      for (list, names) in field == .credentials ? Credentials.knownElementFields : [:] {
        guard var elements = try? inner?.nestedUnkeyedContainer(forKey: AnyKey(stringValue: list)) else { continue }
        while !elements.isAtEnd {
          let place = "\(field.rawValue).\(list).\(elements.currentIndex)"
          let others = try elements.nestedContainer(keyedBy: AnyKey.self).allKeys.map(\.stringValue)
          unknown += others.filter { !names.contains($0) }.map { "\(place).\($0)" }
        }
      }
    }
    return unknown.sorted()
  }
}

extension LaunchContract.Clock: Codable {
  private enum CodingKeys: String, CodingKey, CaseIterable {
    case kind, start, rate, timeZone, locale, provisioned
  }

  fileprivate static var knownFields: Set<String> { Set(CodingKeys.allCases.map(\.rawValue)) }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let kind = try container.decodeWord(Kind.self, forKey: .kind)
    self.init(
      kind: kind,
      start: try Self.instant(container, .start),
      rate: try container.decodeIfPresent(Double.self, forKey: .rate) ?? 1,
      timeZone: try container.decodeIfPresent(String.self, forKey: .timeZone),
      locale: try container.decodeIfPresent(String.self, forKey: .locale),
      provisioned: try Self.instant(container, .provisioned))
    guard kind == .system || start != nil else {
      throw CodedError(.broken, "clock.start: a \(kind) clock requires a start time")
    }
    guard 0.000_001...1_000_000 ~= rate else {
      throw CodedError(.broken, "clock.rate: \(rate) is not between 0.000001 and 1000000")
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(kind, forKey: .kind)
    try container.encodeIfPresent(start, forKey: .start)
    try container.encode(rate, forKey: .rate)
    try container.encodeIfPresent(timeZone, forKey: .timeZone)
    try container.encodeIfPresent(locale, forKey: .locale)
    try container.encodeIfPresent(provisioned, forKey: .provisioned)
  }

  private static func instant(_ container: KeyedDecodingContainer<CodingKeys>, _ key: CodingKeys) throws -> String? {
    guard let text = try container.decodeIfPresent(String.self, forKey: key) else { return nil }
    guard RFC3339.parse(text) != nil else {
      throw CodedError(.broken, "clock.\(key.rawValue): '\(text)' is not an instant such as 2018-10-08T09:00:00Z")
    }
    return text
  }
}

extension LaunchContract {
  /// The content of the app's credential store at launch, and its faults.
  package struct Credentials: Sendable, Equatable {
    /// A generic password.
    package struct Item: Codable, Sendable, Equatable {
      /// The service it gives access to.
      package var service: String
      /// The account.
      package var account: String
      /// The shared access group; nil for the app's own.
      package var group: String?
      /// The secret in Base64.
      package var secret: Secret

      /// Creates an item from the raw bytes of the secret.
      package init(service: String, account: String, group: String? = nil, secret: Data) {
        self.service = service
        self.account = account
        self.group = group
        self.secret = Secret(secret.base64EncodedString())
      }
    }

    /// A fault, such as a locked device or a failing write.
    package struct Fault: Codable, Sendable, Equatable {
      /// `locked`, `missingEntitlement`, `cancelled`: every call fails; `failWrite`, `failRead`: one call fails.
      package var fault: String
      /// The number of the write or read that fails, from 1.
      package var nth: Int?
      /// The kind of failure, such as `cancelled`; nil for `failed`.
      package var error: String?

      package init(_ fault: String, nth: Int? = nil, error: String? = nil) {
        self.fault = fault
        self.nth = nth
        self.error = error
      }
    }

    /// `memory`.
    package var store: String
    /// The store's content at launch.
    package var items: [Item]
    /// The faults of the store.
    package var faults: [Fault]

    package init(store: String = "memory", items: [Item], faults: [Fault] = []) {
      self.store = store
      self.items = items
      self.faults = faults
    }
  }
}

extension LaunchContract.Credentials: Codable {
  private enum CodingKeys: String, CodingKey, CaseIterable {
    case store, items, faults
  }

  static var knownFields: Set<String> { Set(CodingKeys.allCases.map(\.rawValue)) }

  /// The members of the list elements.
  static var knownElementFields: [String: Set<String>] {
    ["items": ["service", "account", "group", "secret"], "faults": ["fault", "nth", "error"]]
  }

  /// Decodes credentials; all members are optional.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      store: try container.decodeIfPresent(String.self, forKey: .store) ?? "memory",
      items: try container.decodeIfPresent([Item].self, forKey: .items) ?? [],
      faults: try container.decodeIfPresent([Fault].self, forKey: .faults) ?? [])
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(store, forKey: .store)
    try container.encode(items, forKey: .items)
    if !faults.isEmpty { try container.encode(faults, forKey: .faults) }
  }
}

extension LaunchContract {
  /// Reads a contract from a value: the JSON itself, or `file:` and an absolute path.
  ///
  /// For how the app finds the value, see `decode(argumentsOf:environment:)` in `Diorama`, which is omitted from builds that
  /// must not be controlled.
  ///
  /// - Parameters:
  ///   - value: the value of the variable or argument.
  ///   - source: the origin of the value, for errors.
  /// - Returns: the contract.
  /// - Throws: ``CodedError`` with the place of the problem: invalid JSON, an invalid member, a later version, a missing
  ///   file, a file with credentials that others can read.
  package static func read(_ value: String, source: String) throws(CodedError) -> LaunchContract {
    guard value.hasPrefix("file:") else {
      if value.hasPrefix("/") { throw .contract("write a path as file:\(value)", source: source) }
      return try decode(Data(value.utf8), source: source)
    }
    let path = String(value.dropFirst("file:".count))
    guard path.hasPrefix("/") else {
      throw .contract("'\(path)' is not an absolute path; write file:/absolute/path", source: source)
    }
    let contract = try decode(try ContractFile.read(path), source: path)
    if contract.credentials?.items.isEmpty == false, !ContractFile.isPrivate(path) {
      throw .contract("it contains credentials that other users can read; run chmod 600 \(path)", source: path)
    }
    return contract
  }

  private static func decode(_ document: Data, source: String) throws(CodedError) -> LaunchContract {
    let parts = RecordedEntries.split(document, at: ["strings", "entries"])
    var contract = try JSON.decode(
      LaunchContract.self, from: parts?.rest ?? document, source: CodedError.contractPlace(source))
    if let parts { contract.strings?.entries = parts.entries }
    return contract
  }
}

extension LaunchContract {
  /// The maximum size of an argument's value in bytes; the system allows 131,071.
  private static let argumentLimit = 32_768

  /// The toggles and user defaults as `-key value` pairs for the argument domain of `UserDefaults`: first the toggles, then
  /// the defaults, each sorted by name. A user default replaces a toggle with the same name.
  ///
  /// Pairs that cannot be expressed are omitted: a key that is empty, begins with a dash or contains a NUL; a value with
  /// control characters that XML cannot contain, a date with fractional seconds, a null in a toggle, more than 32 KiB. The
  /// contract still contains them: `AppControls.launch()` adds all user defaults to the argument domain itself.
  ///
  /// ```swift
  /// application.launchArguments += try contract.launchArguments()
  /// // ["-skip-onboarding", "<true/>", "-hasSeenPushPrompt", "<true/>", "-name", "Ann"]
  /// ```
  ///
  /// - Throws: ``CodedError`` for a user default that cannot be expressed at all: null, or an invalid date.
  package func launchArguments() throws(CodedError) -> [String] {
    let defaults = try userDefaults()
    var words: [String] = []
    for (name, value) in toggles.sorted(by: { $0.key < $1.key }) where defaults[name] == nil {
      guard let list = try? PropertyList(value, at: "toggles.\(name)", hasTypedForms: false) else { continue }
      words += Self.pair(name, list)
    }
    for (name, value) in defaults.sorted(by: { $0.key < $1.key }) { words += Self.pair(name, value) }
    return words
  }

  private static func pair(_ name: String, _ value: PropertyList) -> [String] {
    guard let first = name.unicodeScalars.first, first != "-", !name.unicodeScalars.contains("\0"),
      let argument = value.argument, max(name.utf8.count, argument.utf8.count) <= argumentLimit
    else { return [] }
    return ["-\(name)", argument]
  }
}

extension CodedError {
  /// Creates an error in a launch contract.
  ///
  /// - Parameters:
  ///   - problem: the problem, preceded by the member: `clock.kind: …`. Must not contain a secret.
  ///   - kind: the category.
  ///   - source: the variable, argument or path of the contract; empty if unknown.
  /// - Returns: the error.
  package static func contract(_ problem: String, _ kind: Kind = .broken, source: String = "") -> CodedError {
    CodedError(kind, problem, at: contractPlace(source))
  }

  /// `launch contract in DIORAMA_CONTRACT`.
  package static func contractPlace(_ source: String = "") -> String {
    source.isEmpty ? "launch contract" : "launch contract in \(source)"
  }
}
