import Foundation

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
      throw ContractError("version: \(version) is not supported, only \(Self.currentVersion) is\(advice)")
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
  private func checkMembers() throws(ContractError) {
    for (name, port) in ports.sorted(by: { $0.key < $1.key }) where !(1...65_535 ~= port) {
      throw ContractError("ports.\(name): \(port) is not a port (1 to 65535)")
    }
    if let revision = control?.revision, revision < 0 {
      throw ContractError("control.revision: \(revision) is negative")
    }
    if let file = strings?.file, !file.hasPrefix("/") {
      throw ContractError("strings.file: '\(file)' is not an absolute path")
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
      throw ContractError("clock.start: a \(kind) clock requires a start time")
    }
    guard 0.000_001...1_000_000 ~= rate else {
      throw ContractError("clock.rate: \(rate) is not between 0.000001 and 1000000")
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
      throw ContractError("clock.\(key.rawValue): '\(text)' is not an instant such as 2018-10-08T09:00:00Z")
    }
    return text
  }
}
