package import Foundation
package import LaunchContract

/// The algorithm `uuid5-v1`: every random value is a function of seed, key and ordinal.
///
/// `INTERFACE.md`, "Strings", specifies it to the bit; the standard library of another language gets the same values.
/// Pure and cheap: about one SHA-1 for every fourteen characters.
///
/// ```swift
/// let derivation = StringDerivation(seed: "recording-2018")
/// try derivation.string(key: "email", ordinal: 0, length: 12, alphabet: "abcdefghijklmnopqrstuvwxyz0123456789")
/// // "z0r1lpyugt7o"
/// ```
package struct StringDerivation: Sendable {
  /// `S`, the name space of the seed.
  package let S: UUID

  /// Takes `S` as a recording has kept it.
  init(namespace: UUID) {
    S = namespace
  }

  /// Any text is a seed, the empty one too.
  package init(seed: String) {
    S = UUID5.uuid(namespace: Self.root, name: Array(seed.utf8))
  }

  /// A string of so many characters (Unicode scalars), each out of the alphabet.
  ///
  /// - Parameters:
  ///   - key: not empty, without control characters.
  ///   - ordinal: counts the uses of the key, from 0.
  ///   - length: in Unicode scalars, from 0 to 1,048,576.
  ///   - alphabet: 2 to 256 Unicode scalars; one that occurs twice is twice as likely.
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
  ///   - key: not empty, without control characters.
  ///   - ordinal: counts the uses of the key, from 0.
  ///   - version4: whether the version digit is to say 4, for a reader that insists on random UUIDs.
  /// - Returns: the UUID; its text in the store and elsewhere is in lower case.
  /// - Throws: ``DioramaError`` of kind `invalidRequest`.
  package func uuid(key: String, ordinal: Int, version4: Bool = false) throws(DioramaError) -> UUID {
    try Self.check(key: key, ordinal: ordinal)
    let uuid = UUID5.uuid(namespace: S, name: Array("\(key)\u{1F}\(ordinal)".utf8))
    return version4 ? UUID5.markedVersion4(uuid) : uuid
  }

  /// A whole number out of a range, both ends included; the range may be that of all 64 bits.
  ///
  /// - Parameters:
  ///   - key: not empty, without control characters.
  ///   - ordinal: counts the uses of the key, from 0.
  ///   - range: the numbers that it may be, each as likely as the others.
  /// - Returns: the number.
  /// - Throws: ``DioramaError`` of kind `invalidRequest`.
  package func integer(key: String, ordinal: Int, in range: ClosedRange<Int64>) throws(DioramaError) -> Int64 {
    try Self.check(key: key, ordinal: ordinal)
    var row = DerivedBytes(namespace: S, key: key, ordinal: ordinal)
    let highest = UInt64(bitPattern: range.upperBound &- range.lowerBound)
    return range.lowerBound &+ Int64(bitPattern: row.number(upTo: highest))
  }

  /// A place in a list: the integer in 0…count − 1 for the same key and ordinal.
  ///
  /// - Parameters:
  ///   - key: not empty, without control characters.
  ///   - ordinal: counts the uses of the key, from 0.
  ///   - count: how many elements the list has, from 1.
  /// - Returns: the place, from 0.
  /// - Throws: ``DioramaError`` of kind `invalidRequest`.
  package func choice(key: String, ordinal: Int, count: Int) throws(DioramaError) -> Int {
    try Self.check(.choice(.count(count)))
    return Int(try integer(key: key, ordinal: ordinal, in: 0...Int64(count - 1)))
  }

  /// A list in another order, by the places of its elements.
  ///
  /// Fisher and Yates, from the last place down: for i = count − 1, …, 2, 1 the elements at i and j change places,
  /// where j is an integer in 0…i by the rule of ``integer(key:ordinal:in:)``, and all of them take their bytes in
  /// turn from one row, that of the key and ordinal.
  ///
  /// - Parameters:
  ///   - key: not empty, without control characters.
  ///   - ordinal: counts the uses of the key, from 0.
  ///   - count: how many elements the list has, from 0 to 100,000.
  /// - Returns: which element comes first, which second, and so on: each of 0…count − 1 once.
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

  /// The value for any parameters, as the text that the string store keeps.
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

  /// `D`, the name space of all seeds: 6f0c9f2e-3b1d-5c58-9d0f-8a4be1c5d7a2.
  private static let root = UUID(
    uuid: (0x6F, 0x0C, 0x9F, 0x2E, 0x3B, 0x1D, 0x5C, 0x58, 0x9D, 0x0F, 0x8A, 0x4B, 0xE1, 0xC5, 0xD7, 0xA2))
}
