import Cassettes

/// The result of looking for a date at an index of a text.
enum DateLook: Equatable {
  /// Nothing to move.
  case none
  /// More bytes are needed to decide.
  case more
  /// The text up to `end` is to be replaced.
  case found(end: Int, replacement: [UInt8])
}

/// Reads a text from an index in small pieces, and remembers if the text ended too early.
struct DateReader {
  let text: UnsafeBufferPointer<UInt8>
  /// The index of the next byte.
  var index: Int
  /// Whether a read failed because the text ended.
  private(set) var isCut = false

  init(_ text: UnsafeBufferPointer<UInt8>, at index: Int) {
    self.text = text
    self.index = index
  }

  /// The next byte, without consuming it.
  mutating func peek() -> UInt8? {
    guard index < text.count else {
      isCut = true
      return nil
    }
    return text[index]
  }

  /// Consumes one of the given bytes.
  mutating func take(_ first: Unicode.Scalar, _ second: Unicode.Scalar? = nil) -> Bool {
    guard let byte = peek(), byte == UInt8(ascii: first) || second.map({ byte == UInt8(ascii: $0) }) ?? false else {
      return false
    }
    index += 1
    return true
  }

  /// Consumes a character that is written literally or percent-encoded.
  mutating func take(_ character: Unicode.Scalar, orEscaped digits: (Unicode.Scalar, Unicode.Scalar)) -> Bool {
    if take(character) { return true }
    guard !isCut else { return false }
    let start = index
    guard take("%"), take(digits.0), take(digits.1, Unicode.Scalar(digits.1.value | 0x20)) else {
      if !isCut { index = start }
      return false
    }
    return true
  }

  /// Consumes a number with exactly this many digits.
  mutating func number(_ digits: Int) -> Int? {
    var value = 0
    for _ in 0..<digits {
      guard let byte = peek(), byte &- 0x30 < 10 else { return nil }
      value = value * 10 + Int(byte &- 0x30)
      index += 1
    }
    return value
  }

  /// Consumes one of several words of the same length.
  mutating func word(_ words: [[UInt8]], length: Int) -> Int? {
    var bytes: [UInt8] = []
    for offset in 0..<length {
      guard index + offset < text.count else {
        // The available bytes may be the beginning of a word.
        isCut = words.contains { $0.starts(with: bytes) }
        return nil
      }
      bytes.append(text[index + offset])
    }
    guard let number = words.firstIndex(of: bytes) else { return nil }
    index += length
    return number
  }

  /// Whether the next byte is not a digit; otherwise the date would be part of a longer number.
  mutating func endsNumber(isWhole: Bool) -> Bool {
    guard let byte = peek() else { return isWhole }
    return byte &- 0x30 >= 10
  }
}

extension [UInt8] {
  /// Overwrites the digits at an index with a number.
  mutating func overwrite(_ number: Int, digits: Int, at place: Int) {
    var number = number
    for offset in stride(from: digits - 1, through: 0, by: -1) {
      self[place + offset] = UInt8(ascii: "0") + UInt8(number % 10)
      number /= 10
    }
  }
}
