/// An alphabet, made ready to write strings with.
struct Letters: Sendable {
  private let scalars: [Unicode.Scalar]
  /// The same as bytes, where all of them are ASCII.
  private let bytes: [UInt8]?
  /// The first byte that would favour some letters.
  private let limit: Int

  /// The alphabet of nearly all strings, made ready once.
  private static let lettersAndDigits = Letters(Array(RandomStrings.lettersAndDigits.unicodeScalars))

  private init(_ scalars: [Unicode.Scalar]) {
    self.scalars = scalars
    bytes = scalars.allSatisfy(\.isASCII) ? scalars.map { UInt8($0.value) } : nil
    limit = 256 - 256 % scalars.count
  }

  /// - Throws: ``DioramaError`` unless there are 2 to 256 letters.
  static func of(_ alphabet: String) throws(DioramaError) -> Letters {
    if alphabet == RandomStrings.lettersAndDigits { return lettersAndDigits }
    try StringDerivation.check(alphabet: alphabet)
    return Letters(Array(alphabet.unicodeScalars))
  }

  /// A string of so many letters, one for each byte that favours none.
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
