package import LaunchContract

/// What a key, a length, an alphabet and the rest have to be, live as well as in a test: what a recording would refuse
/// is refused on the first day.
extension StringDerivation {
  /// The most elements of a shuffle: its value, the places of them all, goes into the string store.
  static let mostShuffled = 100_000
  /// The most characters of a string, 1 MiB of plain letters: its value goes into the string store, too.
  package static let longestString = 1 << 20

  package static func check(key: String, ordinal: Int = 0) throws(DioramaError) {
    guard !key.isEmpty else { throw DioramaError(.invalidRequest, "a random value needs a key that is not empty") }
    guard !hasControlCharacter(key) else {
      throw DioramaError(.invalidRequest, "the key \(key.debugDescription) of a random value has a control character")
    }
    guard ordinal >= 0 else {
      throw DioramaError(.invalidRequest, "the ordinal \(ordinal) of the key \"\(key)\" is below 0")
    }
  }

  /// A scope's name becomes part of keys.
  static func check(scope: String) throws(DioramaError) {
    guard !scope.isEmpty else {
      throw DioramaError(.invalidRequest, "a scope of random values needs a name that is not empty")
    }
    guard !hasControlCharacter(scope) else {
      throw DioramaError(
        .invalidRequest, "the scope \(scope.debugDescription) of random values has a control character")
    }
  }

  package static func check(_ parameters: StringParameters) throws(DioramaError) {
    switch parameters {
    case .string(let length, let alphabet):
      try check(length: length)
      try check(alphabet: alphabet)
    case .email(let length, let domain): try check(emailOf: length, at: domain)
    case .integer(let low, let high):
      guard low <= high else { throw DioramaError(.invalidRequest, "the integers \(low)…\(high) are none") }
    case .choice(let list):
      guard list.count > 0 else {
        throw DioramaError(.invalidRequest, "there is no choice out of an empty list; give at least one element")
      }
    case .shuffle(let list):
      guard 0...mostShuffled ~= list.count else {
        throw DioramaError(
          .invalidRequest, "a shuffle has 0 to \(mostShuffled) elements, this one has \(list.count)")
      }
    case .uuid, .generator: break
    }
  }

  static func check(length: Int) throws(DioramaError) {
    guard 0...longestString ~= length else {
      throw DioramaError(
        .invalidRequest, "a random string has 0 to \(longestString) characters, this one would have \(length)")
    }
  }

  static func check(alphabet: String) throws(DioramaError) {
    if alphabet == RandomStrings.lettersAndDigits { return }
    let count = alphabet.unicodeScalars.count
    guard 2...256 ~= count else {
      throw DioramaError(
        .invalidRequest, "an alphabet has 2 to 256 characters (Unicode scalars), this one has \(count)")
    }
  }

  /// 64 is the most that RFC 5321, 4.5.3.1, lets stand before the `@`, 255 the most behind it.
  private static func check(emailOf length: Int, at domain: String) throws(DioramaError) {
    guard 1...64 ~= length else {
      throw DioramaError(
        .invalidRequest, "an e-mail address has 1 to 64 characters before its @, this one would have \(length)")
    }
    guard 1...255 ~= domain.utf8.count, !hasControlCharacter(domain),
      !domain.unicodeScalars.contains(where: { $0 == "@" || $0.properties.isWhitespace })
    else {
      throw DioramaError(
        .invalidRequest, "\(domain.debugDescription) is no domain of e-mail addresses, such as example.com")
    }
  }

  /// Whether there is one of U+0000…U+001F and U+007F…U+009F, found in the UTF-8: this is asked of every key.
  private static func hasControlCharacter(_ text: String) -> Bool {
    var before: UInt8 = 0
    for byte in text.utf8 {
      if byte < 0x20 || byte == 0x7F || before == 0xC2 && byte < 0xA0 { return true }
      before = byte
    }
    return false
  }
}
