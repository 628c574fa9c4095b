import Cassettes
import LaunchContract

/// Takes values out of JSON as it streams by, by their places; all else stays to the byte, white space and `0.00` too.
///
/// What is taken out keeps its shape, so that an app still reads it: a string becomes a mark, a number `0`, a Boolean
/// `false`; arrays and objects keep their elements and names, and lose what these hold. Several documents after one
/// another, as NDJSON has them, are each one. What is no JSON passes. Where a mark stands as a number, `0` comes.
struct JSONStream {
  /// Bytes of a name or string that are looked at as a whole.
  private static let limit = 64 << 10
  /// Arrays and objects in each other that are told apart.
  private static let deepest = 4096

  private struct Level {
    let isObject: Bool
    let isTaken: Bool
    let progress: [JSONPath.Progress]
    /// Of the element that is there or comes.
    var index = 0
    var name: String?
    var expectsName: Bool
  }

  private enum Mode {
    case between
    /// In a string, after its opening quote.
    case string(isName: Bool, isTaken: Bool, isEscaped: Bool)
    /// In a number or a literal.
    case word(isTaken: Bool)
  }

  private let paths: [JSONPath]
  private let patterns: PatternScanner
  private(set) var hasFound = false
  private var levels: [Level] = []
  private var tooDeep = 0
  private var mode = Mode.between
  /// What has come of a name, a string or a word that is looked at as a whole; in a string without its quotes.
  private var piece: [UInt8] = []
  private var isPieceWhole = true

  /// - Parameters:
  ///   - paths: what goes by its place.
  ///   - patterns: what goes from strings with escapes; in others it is found as in any text.
  init(paths: [JSONPath], patterns: PatternScanner) {
    self.paths = paths
    self.patterns = patterns
  }

  mutating func push(_ chunk: [UInt8], isLast: Bool = false) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(chunk.count + 64)
    chunk.withUnsafeBufferPointer { chunk in
      var index = 0
      while index < chunk.count {
        let byte = chunk[index]
        switch mode {
        case .between:
          between(byte, &output)
          index += 1
        case .string(let isName, let isTaken, let isEscaped):
          if isEscaped {
            mode = .string(isName: isName, isTaken: isTaken, isEscaped: false)
            add(byte, isTaken, &output)
          } else if byte == UInt8(ascii: "\\") {
            mode = .string(isName: isName, isTaken: isTaken, isEscaped: true)
            add(byte, isTaken, &output)
          } else if byte == UInt8(ascii: "\"") {
            endString(isName: isName, isTaken: isTaken, &output)
          } else {
            add(byte, isTaken, &output)
          }
          index += 1
        case .word(let isTaken):
          if Self.endsWord(byte), !(byte == UInt8(ascii: ":") && isInMark) {
            endWord(isTaken, &output)
          } else {
            add(byte, isTaken, &output)
            index += 1
          }
        }
      }
    }
    if isLast {
      switch mode {
      case .between: break
      // Cut short: what was to go does not come back.
      case .string(_, let isTaken, _): flush(isTaken, &output)
      case .word(let isTaken): endWord(isTaken, &output)
      }
    }
    return output
  }

  private mutating func between(_ byte: UInt8, _ output: inout [UInt8]) {
    switch byte {
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      output.append(byte)
      open(isObject: byte == UInt8(ascii: "{"))
    case UInt8(ascii: "}"), UInt8(ascii: "]"):
      output.append(byte)
      if tooDeep > 0 { tooDeep -= 1 } else { _ = levels.popLast() }
    case UInt8(ascii: ","):
      output.append(byte)
      if tooDeep == 0, let last = levels.indices.last {
        levels[last].index += 1
        levels[last].expectsName = levels[last].isObject
      }
    case UInt8(ascii: ":"):
      output.append(byte)
      if tooDeep == 0, let last = levels.indices.last { levels[last].expectsName = false }
    case 0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF: output.append(byte)
    case UInt8(ascii: "\""):
      let isName = tooDeep == 0 && levels.last?.expectsName == true
      let isTaken = !isName && isValueTaken()
      begin()
      mode = .string(isName: isName, isTaken: isTaken, isEscaped: false)
      output.append(byte)
    default:
      let isTaken = isValueTaken()
      begin()
      mode = .word(isTaken: isTaken)
      add(byte, isTaken, &output)
    }
  }

  private mutating func open(isObject: Bool) {
    guard tooDeep == 0, levels.count < Self.deepest else {
      tooDeep += 1
      return
    }
    let (progress, isTaken) = value()
    levels.append(Level(isObject: isObject, isTaken: isTaken, progress: progress, expectsName: isObject))
  }

  /// How far the paths have come at the value that begins, and whether it goes.
  private func value() -> (progress: [JSONPath.Progress], isTaken: Bool) {
    guard let level = levels.last else {
      let progress = paths.map(\.start)
      return (progress, isAtEnd(progress))
    }
    guard !level.isTaken else { return ([], true) }
    guard !paths.isEmpty else { return ([], false) }
    let child: JSONPath.Child = level.isObject ? .name(level.name ?? "") : .index(level.index, of: nil)
    let progress = zip(paths, level.progress).map { $0.enter($1, child) }
    return (progress, isAtEnd(progress))
  }

  private func isValueTaken() -> Bool {
    tooDeep > 0 ? levels.last?.isTaken == true : value().isTaken
  }

  private func isAtEnd(_ progress: [JSONPath.Progress]) -> Bool {
    for (path, progress) in zip(paths, progress) where path.isAtEnd(progress) { return true }
    return false
  }

  /// Whether the colon of a credential's mark may come.
  private var isInMark: Bool { piece.contains(UInt8(ascii: "<")) && !piece.contains(UInt8(ascii: ">")) }

  private mutating func begin() {
    piece.removeAll(keepingCapacity: true)
    isPieceWhole = true
  }

  private mutating func add(_ byte: UInt8, _ isTaken: Bool, _ output: inout [UInt8]) {
    guard isPieceWhole else {
      if !isTaken { output.append(byte) }
      return
    }
    piece.append(byte)
    if piece.count > Self.limit { flush(isTaken, &output) }
  }

  /// There is too much of it, or its end is missing.
  private mutating func flush(_ isTaken: Bool, _ output: inout [UInt8]) {
    guard isPieceWhole else { return }
    isPieceWhole = false
    if isTaken {
      hasFound = true
      output += RedactionMark.plain.text.utf8
    } else {
      output += piece
    }
  }

  private mutating func endString(isName: Bool, isTaken: Bool, _ output: inout [UInt8]) {
    if isName {
      let name = isPieceWhole ? decoded() : nil
      if let last = levels.indices.last { levels[last].name = name }
    }
    if isPieceWhole {
      if isTaken {
        hasFound = hasFound || piece != Array(RedactionMark.plain.text.utf8)
        output += RedactionMark.plain.text.utf8
      } else if !patterns.isEmpty, piece.contains(UInt8(ascii: "\\")), let text = decoded(),
        let redacted = patterns.redact(text)
      {
        hasFound = true
        var quoted: [UInt8] = []
        JSON.encode(redacted, into: &quoted)
        output += quoted[1..<(quoted.count - 1)]
      } else {
        output += piece
      }
    }
    output.append(UInt8(ascii: "\""))
    mode = .between
  }

  private func decoded() -> String? {
    guard piece.contains(UInt8(ascii: "\\")) else { return String(validating: piece, as: UTF8.self) }
    let quote = [UInt8(ascii: "\"")]
    return (try? JSON.parse(quote + piece + quote))?.string
  }

  private mutating func endWord(_ isTaken: Bool, _ output: inout [UInt8]) {
    mode = .between
    guard isPieceWhole else { return }
    guard isTaken else {
      // A secret's mark in the place of a number would be no JSON any more.
      output += piece.contains(UInt8(ascii: "<")) ? [UInt8(ascii: "0")] : piece
      return
    }
    let kept =
      switch piece.first ?? 0 {
      case UInt8(ascii: "n"): "null"
      case UInt8(ascii: "t"), UInt8(ascii: "f"): "false"
      case UInt8(ascii: "-"), 0x30...0x39: "0"
      default: "\"\(RedactionMark.plain.text)\""
      }
    hasFound = hasFound || piece != Array(kept.utf8)
    output += kept.utf8
  }

  private static func endsWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: "{"), UInt8(ascii: "["),
      UInt8(ascii: ":"),
      UInt8(ascii: "\""), 0x20, 0x09, 0x0A, 0x0D:
      true
    default: false
    }
  }
}
