extension StringParameters: Codable {
  private enum Kind: String, Codable, CaseIterable {
    case string, email, uuid, integer, choice, shuffle, generator
  }

  private enum CodingKeys: String, CodingKey {
    case type, length, alphabet, domain, low, high, version4, options, count
  }

  /// Decodes the parameters of a stored value, which are always complete.
  package init(from decoder: any Decoder) throws {
    try self.init(decoder, hasDefaults: false)
  }

  /// Decodes a request; a missing length, alphabet or domain gets its default.
  package init(request decoder: any Decoder) throws {
    try self.init(decoder, hasDefaults: true)
  }

  private init(_ decoder: any Decoder, hasDefaults: Bool) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    func member<Value: Decodable>(_ key: CodingKeys, default value: Value) throws -> Value {
      if hasDefaults, !container.contains(key) { return value }
      return try container.decode(Value.self, forKey: key)
    }
    switch try container.decodeWordIfPresent(Kind.self, forKey: .type) ?? .string {
    case .string:
      self = .string(
        length: try member(.length, default: Self.defaultLength),
        alphabet: try member(.alphabet, default: Self.defaultAlphabet))
    case .email:
      self = .email(
        length: try member(.length, default: Self.defaultLength),
        domain: try member(.domain, default: Self.defaultDomain))
    case .uuid:
      self = .uuid(version4: try container.decodeIfPresent(Bool.self, forKey: .version4) ?? false)
    case .integer:
      self = .integer(
        low: try container.decode(Int64.self, forKey: .low), high: try container.decode(Int64.self, forKey: .high))
    case .choice: self = .choice(try Self.list(in: container))
    case .shuffle: self = .shuffle(try Self.list(in: container))
    case .generator: self = .generator
    }
  }

  private static func list(in container: KeyedDecodingContainer<CodingKeys>) throws -> StringList {
    if let options = try container.decodeIfPresent([String].self, forKey: .options) { return .options(options) }
    return .count(try container.decode(Int.self, forKey: .count))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .string(let length, let alphabet):
      try container.encode(length, forKey: .length)
      try container.encode(alphabet, forKey: .alphabet)
    case .email(let length, let domain):
      try container.encode(Kind.email, forKey: .type)
      try container.encode(length, forKey: .length)
      try container.encode(domain, forKey: .domain)
    case .uuid(let version4):
      try container.encode(Kind.uuid, forKey: .type)
      if version4 { try container.encode(true, forKey: .version4) }
    case .integer(let low, let high):
      try container.encode(Kind.integer, forKey: .type)
      try container.encode(low, forKey: .low)
      try container.encode(high, forKey: .high)
    case .choice(let list): try Self.encode(.choice, list, into: &container)
    case .shuffle(let list): try Self.encode(.shuffle, list, into: &container)
    case .generator: try container.encode(Kind.generator, forKey: .type)
    }
  }

  private static func encode(
    _ kind: Kind, _ list: StringList, into container: inout KeyedEncodingContainer<CodingKeys>
  ) throws {
    try container.encode(kind, forKey: .type)
    switch list {
    case .options(let options): try container.encode(options, forKey: .options)
    case .count(let count): try container.encode(count, forKey: .count)
    }
  }
}
