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
  /// `S`, the name space of the seed: sixteen bytes.
  private let namespace: [UInt8]

  /// Any text is a seed, the empty one too.
  package init(seed: String) {
    namespace = UUID5.bytes(namespace: Self.root, name: Array(seed.utf8))
  }

  /// `S`, the name space of the seed.
  package var S: UUID { UUID5.uuid(namespace) }

  /// A string of so many characters (Unicode scalars), each out of the alphabet.
  ///
  /// - Parameters:
  ///   - key: not empty, without control characters.
  ///   - ordinal: counts the uses of the key, from 0.
  ///   - length: in Unicode scalars, from 0.
  ///   - alphabet: 2 to 256 Unicode scalars; one that occurs twice is twice as likely.
  /// - Returns: the string.
  /// - Throws: ``DioramaError`` of kind `invalidRequest`.
  package func string(key: String, ordinal: Int, length: Int, alphabet: String) throws(DioramaError) -> String {
    try Self.check(key: key, ordinal: ordinal)
    try Self.check(length: length)
    let letters = try Self.letters(of: alphabet)
    let limit = 256 - 256 % letters.count
    var bytes = DerivedBytes(namespace: namespace, key: key, ordinal: ordinal)
    var string = String.UnicodeScalarView()
    for _ in 0..<length {
      var byte = Int(bytes.next())
      while byte >= limit { byte = Int(bytes.next()) }
      string.append(letters[byte % letters.count])
    }
    return String(string)
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
    var bytes = UUID5.bytes(namespace: namespace, name: Array("\(key)\u{1F}\(ordinal)".utf8))
    if version4 { bytes[6] = bytes[6] & 0x0F | 0x40 }
    return UUID5.uuid(bytes)
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
    var bytes = DerivedBytes(namespace: namespace, key: key, ordinal: ordinal)
    let highest = UInt64(bitPattern: range.upperBound &- range.lowerBound)
    guard highest < .max else { return range.lowerBound &+ Int64(bitPattern: bytes.nextEight()) }
    let width = highest + 1
    // 2⁶⁴ mod width, which 64 bits can only say by way of 2⁶⁴ − 1.
    let surplus = (UInt64.max % width + 1) % width
    var number = bytes.nextEight()
    while number > UInt64.max - surplus { number = bytes.nextEight() }
    return range.lowerBound &+ Int64(bitPattern: number % width)
  }

  /// The value for any parameters, as the text that the string store keeps.
  package func value(key: String, ordinal: Int, _ parameters: StringParameters) throws(DioramaError) -> String {
    switch parameters {
    case .string(let length, let alphabet):
      return try string(key: key, ordinal: ordinal, length: length, alphabet: alphabet)
    case .uuid(let version4):
      return try uuid(key: key, ordinal: ordinal, version4: version4).uuidString.lowercased()
    case .integer(let low, let high):
      guard low <= high else { throw DioramaError(.invalidRequest, "the integers \(low)…\(high) are none") }
      return String(try integer(key: key, ordinal: ordinal, in: low...high))
    }
  }

  /// `D`, the name space of all seeds: 6f0c9f2e-3b1d-5c58-9d0f-8a4be1c5d7a2.
  private static let root: [UInt8] = [
    0x6F, 0x0C, 0x9F, 0x2E, 0x3B, 0x1D, 0x5C, 0x58, 0x9D, 0x0F, 0x8A, 0x4B, 0xE1, 0xC5, 0xD7, 0xA2,
  ]
}

/// The endless row of bytes for a seed, key and ordinal.
private struct DerivedBytes {
  private let namespace: [UInt8]
  private let prefix: [UInt8]
  private var blocks = 0
  private var block: [UInt8] = []
  private var position = 0

  init(namespace: [UInt8], key: String, ordinal: Int) {
    self.namespace = namespace
    prefix = Array("\(key)\u{1F}\(ordinal)\u{1F}".utf8)
  }

  mutating func next() -> UInt8 {
    if position == block.count {
      block = UUID5.bytes(namespace: namespace, name: prefix + Array(String(blocks).utf8))
      // These two carry version and variant; the later one first, so that the other keeps its place.
      block.remove(at: 8)
      block.remove(at: 6)
      blocks += 1
      position = 0
    }
    defer { position += 1 }
    return block[position]
  }

  /// Eight bytes, the first as the most significant.
  mutating func nextEight() -> UInt64 {
    (0..<8).reduce(0) { number, _ in number << 8 | UInt64(next()) }
  }
}
