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
