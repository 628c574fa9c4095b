import Cassettes

/// Moves the dates and tokens of a text while it streams.
///
/// The result does not depend on how the text is split into chunks. Only the beginning of a possible date (about 40
/// bytes), declared query item or token (16 KiB) is held back.
struct DateScanner {
  /// The number of bytes before an index that are examined: the length of `\u0022`.
  private static let context = 6

  private let offset: DateOffset
  private let tokens: TokenShift?
  private let query: QueryDates?
  private let isBack: Bool
  private let keepsLength: Bool
  /// The last bytes that were passed on.
  private var before: [UInt8] = []
  private var held: [UInt8] = []

  /// - Parameters:
  ///   - offset: the distance by which dates are moved.
  ///   - tokens: moves tokens; nil if they stay unchanged.
  ///   - query: moves declared query items of URLs; nil if none are declared.
  ///   - isBack: whether to move from the app's requests to the recording.
  ///   - keepsLength: whether to leave dates unchanged if their length may change.
  init(offset: DateOffset, tokens: TokenShift?, query: QueryDates? = nil, isBack: Bool, keepsLength: Bool) {
    self.offset = offset
    self.tokens = tokens
    self.query = query
    self.isBack = isBack
    self.keepsLength = keepsLength
  }

  /// Adds the next chunk, or the last one.
  ///
  /// - Returns: the bytes that can be passed on; may be empty.
  mutating func push(_ chunk: [UInt8], isLast: Bool = false) -> [UInt8] {
    let text = before.isEmpty && held.isEmpty ? chunk : before + held + chunk
    let start = before.count
    held.removeAll(keepingCapacity: true)
    var output: [UInt8] = []
    var copied = start
    var stop = text.count
    text.withUnsafeBufferPointer { text in
      var index = start
      scan: while index < text.count {
        switch look(at: index, in: text, isWhole: isLast) {
        case .none: index += 1
        case .more:
          stop = index
          break scan
        case .found(let end, let replacement):
          output += text[copied..<index]
          output += replacement
          copied = end
          index = end
        }
      }
    }
    if stop < text.count { held = Array(text[stop...]) }
    before = Array(text[max(0, stop - Self.context)..<stop])
    if copied == 0, stop == text.count { return text }
    output += text[copied..<stop]
    return output
  }

  /// Passes on the held bytes, and then these bytes unchanged.
  mutating func pass(_ bytes: [UInt8]) -> [UInt8] {
    let rest = push([], isLast: true)
    before = Array((before + bytes).suffix(Self.context))
    return rest + bytes
  }

  /// Whether a whole text contains anything to move.
  func finds(in text: UnsafeBufferPointer<UInt8>) -> Bool {
    var index = 0
    while index < text.count {
      if case .found = look(at: index, in: text, isWhole: true) { return true }
      index += 1
    }
    return false
  }

  @inline(__always)
  private func look(at index: Int, in text: UnsafeBufferPointer<UInt8>, isWhole: Bool) -> DateLook {
    let byte = text[index]
    if byte &- 0x30 < 10 {
      guard index == 0 || text[index - 1] &- 0x30 >= 10 || Self.endsEscape(at: index, in: text) else { return .none }
      let look = ISODateText.look(at: index, in: text, isWhole: isWhole, offset: offset)
      // A date without separators must not be part of a longer word.
      if case .found = look, text[index + 4] != UInt8(ascii: "-"), !Self.isAfterWord(index, in: text) { return .none }
      return look
    }
    if HTTPDateText.mayBegin(with: byte) {
      guard Self.isAfterWord(index, in: text) else { return .none }
      return HTTPDateText.look(at: index, in: text, isWhole: isWhole, keepsLength: keepsLength, offset: offset)
    }
    if let tokens, TokenShift.mayBegin(with: byte) {
      guard Self.isAfterWord(index, in: text) else { return .none }
      return tokens.look(at: index, in: text, isWhole: isWhole, offset: offset, isBack: isBack)
    }
    if let query, QueryDates.mayBegin(with: byte) {
      return query.look(at: index, in: text, isWhole: isWhole, keepsLength: keepsLength, offset: offset)
    }
    return .none
  }

  /// Whether the preceding byte is not part of a word, or is the end of an escape.
  private static func isAfterWord(_ index: Int, in text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard index > 0 else { return true }
    switch text[index - 1] {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"):
      return endsEscape(at: index, in: text) || (index > 1 && text[index - 2] == UInt8(ascii: "\\"))
    default: return true
    }
  }

  /// Whether an escape such as `%20` or `\u0022` ends right before an index.
  private static func endsEscape(at index: Int, in text: UnsafeBufferPointer<UInt8>) -> Bool {
    func isHex(_ range: Range<Int>) -> Bool {
      range.allSatisfy { text[$0] &- 0x30 < 10 || (text[$0] | 0x20) &- 0x61 < 6 }
    }
    if index >= 3, text[index - 3] == UInt8(ascii: "%"), isHex((index - 2)..<index) { return true }
    return index >= 6 && text[index - 6] == UInt8(ascii: "\\") && text[index - 5] == UInt8(ascii: "u")
      && isHex((index - 4)..<index)
  }
}
