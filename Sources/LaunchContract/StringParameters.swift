/// What was asked of the string store: the kind of value and what bounds it.
///
/// In JSON these members stand beside the value. `type` is left out for a string, so that a string's entry is what
/// `NAME.strings.json` has always looked like.
package enum StringParameters: Sendable, Equatable {
  /// So many characters (Unicode scalars), each out of the alphabet.
  case string(length: Int, alphabet: String)
  /// So many characters out of a-z0-9, an `@` and the domain.
  case email(length: Int, domain: String)
  /// A UUID; of version 5, or one whose version digit says 4.
  case uuid(version4: Bool)
  /// A whole number, both ends included.
  case integer(low: Int64, high: Int64)
  /// One of a list: its text where the list has texts, else its place from 0.
  case choice(StringList)
  /// A list in another order: the places from 0, with commas between them.
  case shuffle(StringList)
  /// Numbers without end; the value is the name space in which their bytes are made.
  case generator

  /// The alphabet of a string that names none, and of e-mail addresses.
  package static let defaultAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789"
  /// The length of a string or an e-mail address that names none.
  package static let defaultLength = 12
  /// The domain of an e-mail address that names none; RFC 2606 keeps it from ever being anybody's.
  package static let defaultDomain = "example.com"
}

/// What a choice or a shuffle is made of.
package enum StringList: Sendable, Equatable {
  /// The texts themselves, so that the store shows them and a replay notices another list.
  case options([String])
  /// So many things that have no text, or too many texts to write down each time.
  case count(Int)

  /// The most texts that are written down.
  package static let mostOptions = 256

  /// How many there are.
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
