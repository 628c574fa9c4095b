/// A view of a text with its percent-encoding removed `depth` times: at depth 1 `%5C` is read as a backslash, at depth
/// 2 `%255C` is. Bytes are decoded one at a time, without a copy of the text.
struct PercentLayer {
  let text: UnsafeBufferPointer<UInt8>
  /// How often the text is percent-encoded; 0 if it is read literally.
  let depth: Int
  /// Whether ``text`` ends here and no more bytes follow.
  let isWhole: Bool

  /// Creates the view in which a delimiter is encoded.
  ///
  /// - Parameters:
  ///   - delimiter: the range of the delimiter, such as `%2F` or `%255C%252F`.
  ///   - text: the available text.
  ///   - isWhole: whether `text` ends here and no more bytes follow.
  init(of delimiter: Range<Int>, in text: UnsafeBufferPointer<UInt8>, isWhole: Bool) {
    self.init(text: text, depth: Self.prefix(of: text[delimiter]).map { $0.count / 2 + 1 } ?? 0, isWhole: isWhole)
  }

  init(text: UnsafeBufferPointer<UInt8>, depth: Int, isWhole: Bool) {
    self.text = text
    self.depth = depth
    self.isWhole = isWhole
  }

  /// The bytes before the two digits of any delimiter encoded like this one: `%` for `%3A`, `%25` for `%253A`.
  ///
  /// - Parameter spelling: an encoded delimiter, which is not itself a percent sign.
  /// - Returns: nil if the delimiter is not percent-encoded.
  static func prefix(of spelling: some Collection<UInt8>) -> [UInt8]? {
    guard spelling.first == AddressByte.percent else { return nil }
    var prefix = [AddressByte.percent]
    var rest = spelling.dropFirst()
    while rest.prefix(2).elementsEqual("25".utf8) {
      prefix += rest.prefix(2)
      rest = rest.dropFirst(2)
    }
    return prefix
  }

  /// The decoded byte at an index, and the index after its encoding.
  func byte(at index: Int) -> AddressLook<(byte: UInt8, end: Int)> {
    guard index < text.count else { return isWhole ? .none : .more }
    guard depth > 0, text[index] == AddressByte.percent else { return .found((text[index], index + 1)) }
    var index = index + 1
    for remaining in stride(from: depth - 1, through: 0, by: -1) {
      guard index + 1 < text.count else { return isWhole ? .none : .more }
      guard let high = AddressByte.hexValue(text[index]), let low = AddressByte.hexValue(text[index + 1]) else {
        return .none
      }
      index += 2
      guard remaining > 0 else { return .found((high << 4 | low, index)) }
      guard high == 2, low == 5 else { return .none }
    }
    return .none
  }
}
