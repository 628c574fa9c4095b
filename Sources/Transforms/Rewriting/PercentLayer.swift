/// A text as it reads once its percent-encoding is taken off, so often as it was put on: `%5C` is a backslash then, where it
/// was put on twice `%255C` is one. Nothing is copied: one byte is read at a time.
struct PercentLayer {
  let text: UnsafeBufferPointer<UInt8>
  /// How often it is percent-encoded; 0 for a text that is read as it stands.
  let depth: Int
  /// Whether nothing follows ``text``.
  let isWhole: Bool

  /// The layer in which a delimiter is written.
  ///
  /// - Parameters:
  ///   - delimiter: where it stands, such as that of `%2F` or `%255C%252F`.
  ///   - text: what is at hand.
  ///   - isWhole: whether nothing follows it.
  init(of delimiter: Range<Int>, in text: UnsafeBufferPointer<UInt8>, isWhole: Bool) {
    self.init(text: text, depth: Self.prefix(of: text[delimiter]).map { $0.count / 2 + 1 } ?? 0, isWhole: isWhole)
  }

  init(text: UnsafeBufferPointer<UInt8>, depth: Int, isWhole: Bool) {
    self.text = text
    self.depth = depth
    self.isWhole = isWhole
  }

  /// What stands before the two digits of every delimiter that is written like this one: `%` for `%3A`, `%25` for `%253A`.
  ///
  /// - Parameter spelling: of a delimiter; none is a percent sign itself.
  /// - Returns: nil where it is not percent-encoded.
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

  /// The byte that is written at an index, and where that ends.
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
