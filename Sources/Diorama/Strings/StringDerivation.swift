package import Foundation
package import LaunchContract

/// The algorithm `uuid5-v1`: every random value is a function of seed, key and ordinal.
///
/// It is exactly specified, so that other languages can compute the same values with their standard libraries. It needs
/// about one SHA-1 for fourteen characters.
///
/// ```swift
/// let derivation = StringDerivation(seed: "recording-2018")
/// try derivation.string(key: "email", ordinal: 0, length: 12, alphabet: "abcdefghijklmnopqrstuvwxyz0123456789")
/// // "z0r1lpyugt7o"
/// ```
package struct StringDerivation: Sendable {
  /// `S`, the seed's namespace.
  package let S: UUID

  /// Uses the namespace `S` of a recording.
  init(namespace: UUID) {
    S = namespace
  }

  /// Uses a seed: any text, including the empty text.
  package init(seed: String) {
    S = UUID5.uuid(namespace: Self.root, name: Array(seed.utf8))
  }

  /// A string of characters from the alphabet.
  ///
  /// - Parameters:
  ///   - key: nonempty, without control characters.
  ///   - ordinal: how often the key was used before.
  ///   - length: the number of Unicode scalars, from 0 to 1,048,576.
  ///   - alphabet: 2 to 256 Unicode scalars; a scalar that occurs twice is twice as likely.
  /// - Returns: the string.
  /// - Throws: ``DioramaError`` of kind `invalidRequest`.
  package func string(key: String, ordinal: Int, length: Int, alphabet: String) throws(DioramaError) -> String {
    try Self.check(key: key, ordinal: ordinal)
    try Self.check(length: length)
    let letters = try Letters.of(alphabet)
    var row = DerivedBytes(namespace: S, key: key, ordinal: ordinal)
    return letters.string(length: length, from: &row)
  }

  /// A UUID.
  ///
  /// - Parameters:
  ///   - key: nonempty, without control characters.
  ///   - ordinal: how often the key was used before.
  ///   - version4: whether to mark the UUID as version 4.
  /// - Returns: the UUID. The string store keeps it in lowercase.
  /// - Throws: ``DioramaError`` of kind `invalidRequest`.
  package func uuid(key: String, ordinal: Int, version4: Bool = false) throws(DioramaError) -> UUID {
    try Self.check(key: key, ordinal: ordinal)
    let uuid = UUID5.uuid(namespace: S, name: Array("\(key)\u{1F}\(ordinal)".utf8))
    return version4 ? UUID5.markedVersion4(uuid) : uuid
  }

  /// An integer, uniformly distributed.
  ///
  /// - Parameters:
  ///   - key: nonempty, without control characters.
  ///   - ordinal: how often the key was used before.
  ///   - range: the range of the integer, up to all 64 bits.
  /// - Returns: the number.
  /// - Throws: ``DioramaError`` of kind `invalidRequest`.
  package func integer(key: String, ordinal: Int, in range: ClosedRange<Int64>) throws(DioramaError) -> Int64 {
    try Self.check(key: key, ordinal: ordinal)
    var row = DerivedBytes(namespace: S, key: key, ordinal: ordinal)
    let highest = UInt64(bitPattern: range.upperBound &- range.lowerBound)
    return range.lowerBound &+ Int64(bitPattern: row.number(upTo: highest))
  }

  /// The index of a list element: the integer in 0…count − 1 for the same key and ordinal.
  ///
  /// - Parameters:
  ///   - key: nonempty, without control characters.
  ///   - ordinal: how often the key was used before.
  ///   - count: the number of elements, at least 1.
  /// - Returns: the index.
  /// - Throws: ``DioramaError`` of kind `invalidRequest`.
  package func choice(key: String, ordinal: Int, count: Int) throws(DioramaError) -> Int {
    try Self.check(.choice(.count(count)))
    return Int(try integer(key: key, ordinal: ordinal, in: 0...Int64(count - 1)))
  }

  /// A random order of list elements.
  ///
  /// A Fisher–Yates shuffle from the end: for i = count − 1, …, 2, 1 the elements at i and j are swapped, where j is an
  /// integer in 0…i by the rule of ``integer(key:ordinal:in:)``. All of these integers come from the bytes of the key and
  /// ordinal, in order.
  ///
  /// - Parameters:
  ///   - key: nonempty, without control characters.
  ///   - ordinal: how often the key was used before.
  ///   - count: the number of elements, from 0 to 100,000.
  /// - Returns: the indices 0…count − 1 in the new order.
  /// - Throws: ``DioramaError`` of kind `invalidRequest`.
  package func shuffle(key: String, ordinal: Int, count: Int) throws(DioramaError) -> [Int] {
    try Self.check(key: key, ordinal: ordinal)
    try Self.check(.shuffle(.count(count)))
    var row = DerivedBytes(namespace: S, key: key, ordinal: ordinal)
    var places = Array(0..<count)
    for place in stride(from: count - 1, to: 0, by: -1) {
      places.swapAt(place, Int(row.number(upTo: UInt64(place))))
    }
    return places
  }

  /// The value for any parameters, as the text in the string store.
  package func value(key: String, ordinal: Int, _ parameters: StringParameters) throws(DioramaError) -> String {
    try Self.check(parameters)
    switch parameters {
    case .string(let length, let alphabet):
      return try string(key: key, ordinal: ordinal, length: length, alphabet: alphabet)
    case .email(let length, let domain):
      let name = try string(key: key, ordinal: ordinal, length: length, alphabet: RandomStrings.lettersAndDigits)
      return "\(name)@\(domain)"
    case .uuid(let version4):
      return try uuid(key: key, ordinal: ordinal, version4: version4).uuidString.lowercased()
    case .integer(let low, let high):
      return String(try integer(key: key, ordinal: ordinal, in: low...high))
    case .choice(let list):
      return list.text(at: try choice(key: key, ordinal: ordinal, count: list.count))
    case .shuffle(let list):
      return try shuffle(key: key, ordinal: ordinal, count: list.count).map(String.init).joined(separator: ",")
    case .generator:
      try Self.check(key: key, ordinal: ordinal)
      return S.uuidString.lowercased()
    }
  }

  /// `D`, the namespace of all seeds: 6f0c9f2e-3b1d-5c58-9d0f-8a4be1c5d7a2.
  private static let root = UUID(
    uuid: (0x6F, 0x0C, 0x9F, 0x2E, 0x3B, 0x1D, 0x5C, 0x58, 0x9D, 0x0F, 0x8A, 0x4B, 0xE1, 0xC5, 0xD7, 0xA2))
}

// The limits also apply without a contract, so that an invalid request fails on the first day and not in a recording.
extension StringDerivation {
  /// The maximum number of elements in a shuffle, because the string store keeps all their indices.
  package static let mostShuffled = 100_000
  /// The maximum number of characters in a string, because the string store keeps it.
  package static let longestString = 1 << 20

  package static func check(key: String, ordinal: Int = 0) throws(DioramaError) {
    guard !key.isEmpty else { throw DioramaError(.invalidRequest, "the key of a random value must not be empty") }
    guard !hasControlCharacter(key) else {
      throw DioramaError(
        .invalidRequest, "the key \(key.debugDescription) of a random value contains a control character")
    }
    guard ordinal >= 0 else {
      throw DioramaError(.invalidRequest, "the ordinal \(ordinal) of the key \"\(key)\" is negative")
    }
  }

  /// A scope's name becomes part of its keys.
  static func check(scope: String) throws(DioramaError) {
    guard !scope.isEmpty else {
      throw DioramaError(.invalidRequest, "the name of a scope of random values must not be empty")
    }
    guard !hasControlCharacter(scope) else {
      throw DioramaError(
        .invalidRequest, "the scope \(scope.debugDescription) of random values contains a control character")
    }
  }

  package static func check(_ parameters: StringParameters) throws(DioramaError) {
    switch parameters {
    case .string(let length, let alphabet):
      try check(length: length)
      try check(alphabet: alphabet)
    case .email(let length, let domain): try check(emailOf: length, at: domain)
    case .integer(let low, let high):
      guard low <= high else { throw DioramaError(.invalidRequest, "the integer range \(low)…\(high) is empty") }
    case .choice(let list):
      guard list.count > 0 else {
        throw DioramaError(.invalidRequest, "cannot choose from an empty list; provide at least one element")
      }
    case .shuffle(let list):
      guard 0...mostShuffled ~= list.count else {
        throw DioramaError(
          .invalidRequest, "cannot shuffle \(list.count) elements; the maximum is \(mostShuffled)")
      }
    case .uuid, .generator: break
    }
  }

  static func check(length: Int) throws(DioramaError) {
    guard 0...longestString ~= length else {
      throw DioramaError(
        .invalidRequest, "a random string cannot have \(length) characters; the range is 0 to \(longestString)")
    }
  }

  static func check(alphabet: String) throws(DioramaError) {
    if alphabet == RandomStrings.lettersAndDigits { return }
    let count = alphabet.unicodeScalars.count
    guard 2...256 ~= count else {
      throw DioramaError(
        .invalidRequest, "an alphabet has 2 to 256 characters (Unicode scalars), not \(count)")
    }
  }

  /// RFC 5321, section 4.5.3.1: at most 64 octets before the `@` and 255 after it.
  private static func check(emailOf length: Int, at domain: String) throws(DioramaError) {
    guard 1...64 ~= length else {
      throw DioramaError(
        .invalidRequest, "an e-mail address cannot have \(length) characters before the @; the range is 1 to 64")
    }
    guard 1...255 ~= domain.utf8.count, !hasControlCharacter(domain),
      !domain.unicodeScalars.contains(where: { $0 == "@" || $0.properties.isWhitespace })
    else {
      throw DioramaError(
        .invalidRequest, "\(domain.debugDescription) is not a valid e-mail domain; expected, for example, example.com")
    }
  }

  /// Whether the text contains U+0000…U+001F or U+007F…U+009F. Scans UTF-8, because each key is checked.
  private static func hasControlCharacter(_ text: String) -> Bool {
    var before: UInt8 = 0
    for byte in text.utf8 {
      if byte < 0x20 || byte == 0x7F || before == 0xC2 && byte < 0xA0 { return true }
      before = byte
    }
    return false
  }
}

/// An alphabet prepared for making strings.
struct Letters: Sendable {
  private let scalars: [Unicode.Scalar]
  /// The alphabet as bytes, if it is ASCII.
  private let bytes: [UInt8]?
  /// The first byte that would cause a bias.
  private let limit: Int

  /// The default alphabet, prepared once.
  private static let lettersAndDigits = Letters(Array(RandomStrings.lettersAndDigits.unicodeScalars))

  private init(_ scalars: [Unicode.Scalar]) {
    self.scalars = scalars
    bytes = scalars.allSatisfy(\.isASCII) ? scalars.map { UInt8($0.value) } : nil
    limit = 256 - 256 % scalars.count
  }

  /// - Throws: ``DioramaError`` unless the alphabet has 2 to 256 characters.
  static func of(_ alphabet: String) throws(DioramaError) -> Letters {
    if alphabet == RandomStrings.lettersAndDigits { return lettersAndDigits }
    try StringDerivation.check(alphabet: alphabet)
    return Letters(Array(alphabet.unicodeScalars))
  }

  /// A string of characters from the alphabet, one for each byte below the limit.
  func string(length: Int, from row: inout some ByteRow) -> String {
    guard let bytes else {
      var string = String.UnicodeScalarView()
      for _ in 0..<length { string.append(scalars[index(from: &row)]) }
      return String(string)
    }
    return String(unsafeUninitializedCapacity: length) { buffer in
      for place in 0..<length { buffer[place] = bytes[index(from: &row)] }
      return length
    }
  }

  private func index(from row: inout some ByteRow) -> Int {
    var byte = Int(row.next())
    while byte >= limit { byte = Int(row.next()) }
    return byte % scalars.count
  }
}

extension StringList {
  /// Describes a list for the string store: the elements' texts if they are strings, numbers or cases with such raw
  /// values, and few enough; otherwise their count.
  init(describing elements: [some Any]) {
    self = .count(elements.count)
    guard elements.count <= Self.mostOptions else { return }
    var texts: [String] = []
    for element in elements {
      guard let text = Self.text(of: element) else { return }
      texts.append(text)
    }
    self = .options(texts)
  }

  private static func text(of element: Any) -> String? {
    if let text = element as? any LosslessStringConvertible { return text.description }
    let rawValue: Any? = (element as? any RawRepresentable)?.rawValue
    return (rawValue as? any LosslessStringConvertible)?.description
  }

  /// The text in the string store for a choice.
  func text(at index: Int) -> String {
    switch self {
    case .options(let options): options[index]
    case .count: String(index)
    }
  }

  /// The index for a choice's text in the string store; nil if the text is invalid.
  func index(of text: String) -> Int? {
    switch self {
    case .options(let options): options.firstIndex(of: text)
    case .count(let count): Int(text).flatMap { 0..<count ~= $0 ? $0 : nil }
    }
  }

  /// The indices for a shuffle's text in the string store; nil unless it contains each index once.
  func order(of text: String) -> [Int]? {
    var isFree = [Bool](repeating: true, count: count)
    var places: [Int] = []
    for part in text.split(separator: ",") {
      guard let place = Int(part), isFree.indices ~= place, isFree[place] else { return nil }
      isFree[place] = false
      places.append(place)
    }
    return places.count == count ? places : nil
  }
}
