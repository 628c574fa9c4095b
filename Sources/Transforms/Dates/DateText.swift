import Cassettes

/// What stands at a place of a text.
enum DateLook: Equatable {
  /// Nothing to be moved.
  case none
  /// It cannot be told before more of the text has come.
  case more
  /// What reaches up to `end` becomes the replacement.
  case found(end: Int, replacement: [UInt8])
}

/// A text from one place on, read by fixed pieces: whoever asks for what is not there any more learns that.
struct DateReader {
  let text: UnsafeBufferPointer<UInt8>
  /// Where it reads next.
  var index: Int
  /// Whether the text ended in the middle of something.
  private(set) var isCut = false

  init(_ text: UnsafeBufferPointer<UInt8>, at index: Int) {
    self.text = text
    self.index = index
  }

  /// The byte that comes next.
  mutating func peek() -> UInt8? {
    guard index < text.count else {
      isCut = true
      return nil
    }
    return text[index]
  }

  /// Takes one of these bytes.
  mutating func take(_ first: Unicode.Scalar, _ second: Unicode.Scalar? = nil) -> Bool {
    guard let byte = peek(), byte == UInt8(ascii: first) || second.map({ byte == UInt8(ascii: $0) }) ?? false else {
      return false
    }
    index += 1
    return true
  }

  /// Takes a character as it is or percent-encoded.
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

  /// Takes a number of exactly so many digits.
  mutating func number(_ digits: Int) -> Int? {
    var value = 0
    for _ in 0..<digits {
      guard let byte = peek(), byte &- 0x30 < 10 else { return nil }
      value = value * 10 + Int(byte &- 0x30)
      index += 1
    }
    return value
  }

  /// Takes one of some words of the same length.
  mutating func word(_ words: [[UInt8]], length: Int) -> Int? {
    var bytes: [UInt8] = []
    for offset in 0..<length {
      guard index + offset < text.count else {
        // As far as it goes it may be one.
        isCut = words.contains { $0.starts(with: bytes) }
        return nil
      }
      bytes.append(text[index + offset])
    }
    guard let number = words.firstIndex(of: bytes) else { return nil }
    index += length
    return number
  }

  /// Whether no digit comes: a date is not the beginning of a longer number.
  mutating func endsNumber(isWhole: Bool) -> Bool {
    guard let byte = peek() else { return isWhole }
    return byte &- 0x30 >= 10
  }
}

extension [UInt8] {
  /// Writes a number over the digits that stand at a place.
  mutating func overwrite(_ number: Int, digits: Int, at place: Int) {
    var number = number
    for offset in stride(from: digits - 1, through: 0, by: -1) {
      self[place + offset] = UInt8(ascii: "0") + UInt8(number % 10)
      number /= 10
    }
  }
}
