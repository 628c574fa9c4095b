import Basics

/// The kind of a requested random value, with its limits.
///
/// In JSON, these members are beside the value. `type` is omitted for strings, as in the original form of
/// `NAME.strings.json`.
package enum StringParameters: Sendable, Equatable {
  /// A number of characters (Unicode scalars) from the alphabet.
  case string(length: Int, alphabet: String)
  /// A number of characters from a-z0-9, an `@` and the domain.
  case email(length: Int, domain: String)
  /// A UUID: of version 5, or marked as version 4.
  case uuid(version4: Bool)
  /// An integer, with both limits included.
  case integer(low: Int64, high: Int64)
  /// An element of a list: its text if the list has texts, else its index.
  case choice(StringList)
  /// A shuffled list: the indices, separated by commas.
  case shuffle(StringList)
  /// An endless sequence of numbers; the value is the namespace from which their bytes are derived.
  case generator

  /// The default alphabet of strings, and the one of e-mail addresses.
  package static let defaultAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789"
  /// The default length of strings and e-mail addresses.
  package static let defaultLength = 12
  /// The default domain of e-mail addresses, reserved by RFC 2606.
  package static let defaultDomain = "example.com"
}

/// The list for a choice or a shuffle.
package enum StringList: Sendable, Equatable {
  /// The texts, so the store shows them and a replay detects a different list.
  case options([String])
  /// A number of elements without texts, or with too many texts to store.
  case count(Int)

  /// The maximum number of stored texts.
  package static let mostOptions = 256

  /// The number of elements.
  package var count: Int {
    switch self {
    case .options(let options): options.count
    case .count(let count): count
    }
  }
}

extension StringParameters: CustomStringConvertible {
  /// For messages: `a string of 12 over "abc…789" (36)`.
  package var description: String {
    switch self {
    case .string(let length, let alphabet):
      let scalars = alphabet.unicodeScalars
      let shown = scalars.count <= 12 ? alphabet : "\(String(scalars.prefix(5)))…\(String(scalars.suffix(5)))"
      return "a string of \(length) over \"\(shown)\" (\(scalars.count))"
    case .email(let length, let domain): return "an e-mail address of \(length) at \(domain)"
    case .uuid(let version4): return version4 ? "a UUID marked version 4" : "a UUID"
    case .integer(let low, let high): return "an integer in \(low)…\(high)"
    case .choice(let list): return "a choice out of \(list)"
    case .shuffle(let list): return "a shuffle of \(list)"
    case .generator: return "a generator"
    }
  }
}

extension StringList: CustomStringConvertible {
  /// For messages: `"gold", "silver" … (5)`.
  package var description: String {
    switch self {
    case .options(let options):
      let shown = options.prefix(4).map { "\"\($0)\"" }.joined(separator: ", ")
      return options.count <= 4 ? "[\(shown)]" : "[\(shown), …] (\(options.count))"
    case .count(let count): return count == 1 ? "1 element" : "\(count) elements"
    }
  }
}

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
