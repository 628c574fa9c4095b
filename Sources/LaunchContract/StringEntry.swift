/// What was asked of the string store: the kind of value and what bounds it.
///
/// In JSON these members stand beside the value. `type` is left out for a string, so that a string's entry is what
/// `NAME.strings.json` has always looked like.
package enum StringParameters: Sendable, Equatable {
  /// So many characters (Unicode scalars), each out of the alphabet.
  case string(length: Int, alphabet: String)
  /// A UUID; of version 5, or one whose version digit says 4.
  case uuid(version4: Bool)
  /// A whole number, both ends included.
  case integer(low: Int64, high: Int64)
}

/// One value of the string store: a use of a key, in the place of its ordinal.
package struct StringEntry: Sendable, Equatable {
  /// The value; a UUID in lower case, an integer in decimal.
  package var value: String
  /// What it was made for.
  package var parameters: StringParameters

  package init(value: String, parameters: StringParameters) {
    self.value = value
    self.parameters = parameters
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
    case .uuid(let version4): return version4 ? "a UUID marked version 4" : "a UUID"
    case .integer(let low, let high): return "an integer in \(low)…\(high)"
    }
  }
}

extension StringParameters: Codable {
  private enum Kind: String, Codable {
    case string, uuid, integer
  }

  private enum CodingKeys: String, CodingKey {
    case type, length, alphabet, low, high, version4
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    switch try container.decodeIfPresent(Kind.self, forKey: .type) ?? .string {
    case .string:
      self = .string(
        length: try container.decode(Int.self, forKey: .length),
        alphabet: try container.decode(String.self, forKey: .alphabet))
    case .uuid:
      self = .uuid(version4: try container.decodeIfPresent(Bool.self, forKey: .version4) ?? false)
    case .integer:
      self = .integer(
        low: try container.decode(Int64.self, forKey: .low), high: try container.decode(Int64.self, forKey: .high))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .string(let length, let alphabet):
      try container.encode(length, forKey: .length)
      try container.encode(alphabet, forKey: .alphabet)
    case .uuid(let version4):
      try container.encode(Kind.uuid, forKey: .type)
      if version4 { try container.encode(true, forKey: .version4) }
    case .integer(let low, let high):
      try container.encode(Kind.integer, forKey: .type)
      try container.encode(low, forKey: .low)
      try container.encode(high, forKey: .high)
    }
  }
}

extension StringEntry: Codable {
  private enum CodingKeys: String, CodingKey {
    case value
  }

  package init(from decoder: any Decoder) throws {
    value = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .value)
    parameters = try StringParameters(from: decoder)
  }

  package func encode(to encoder: any Encoder) throws {
    try parameters.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(value, forKey: .value)
  }
}
