import LaunchContract

/// Follows paths through JSON as it streams by, wherever its pieces are cut: says what each byte is part of, and which
/// path means it.
///
/// Several documents after one another, as NDJSON has them, are each one. What is no JSON is walked through as well as it
/// goes.
///
/// ```swift
/// while index < chunk.count {
///   let (step, end) = walker.step(chunk, from: index)
///   // What chunk[index..<end] is; walker.match tells of which path.
///   index = end
/// }
/// ```
package struct JSONWalker: Sendable {
  /// What the next bytes are.
  package enum Step: Sendable {
    /// One that opens, closes or parts values, or white space.
    case between
    /// The first of a name, a string or a word, which is a number or a literal.
    case begins
    /// More of that.
    case inside
    /// The closing quote of a name or string; in lines also the end of a line that comes instead.
    case ends
    /// None: a word is over before the byte, with which the next step is taken.
    case over
  }

  private struct Level {
    let isObject: Bool
    /// What holds for all that is in it.
    let match: Int?
    /// Of the element that is there or comes.
    var index = 0
    var name: String?
    var expectsName: Bool
  }

  private enum Mode {
    case between
    /// In a string, after its opening quote.
    case string(isEscaped: Bool)
    /// In a number or a literal.
    case word
  }

  /// Bytes of a name that is looked at.
  private static let limit = 64 << 10
  /// Arrays and objects in each other that are told apart.
  private static let deepest = 4096

  private let paths: [JSONPath]
  private let isInLines: Bool
  private var levels: [Level] = []
  /// How far each path has come at each level, one level after the other.
  private var progress: [JSONPath.Progress] = []
  private var tooDeep = 0
  private var mode = Mode.between
  /// What has come of a name, without its quotes.
  private var name: [UInt8] = []
  /// Whether the string that was begun last is a member's name.
  private var isName = false
  /// The number of the first path that means the value which was begun last, or one that holds it; nil for a name.
  package private(set) var match: Int?

  /// - Parameters:
  ///   - paths: to follow; none that counts from an end.
  ///   - isInLines: whether each line is a document, and a broken one no reason to misread the next.
  package init(_ paths: [JSONPath], isInLines: Bool = false) {
    self.paths = paths
    self.isInLines = isInLines
  }

  /// Whether a name or string has begun and not ended.
  package var isInString: Bool { if case .string = mode { true } else { false } }
  /// Whether a word has begun and is not over.
  package var isInWord: Bool { if case .word = mode { true } else { false } }

  /// Looks at the next bytes.
  ///
  /// - Parameters:
  ///   - chunk: what has come.
  ///   - start: where to go on in it.
  ///   - isInWord: whether a word that has begun goes on with the next byte, whatever that is.
  /// - Returns: what they are, and where they end.
  package mutating func step(
    _ chunk: UnsafeBufferPointer<UInt8>, from start: Int, isInWord: Bool = false
  ) -> (step: Step, end: Int) {
    switch mode {
    case .between: (between(chunk[start]), start + 1)
    case .string(let isEscaped): string(chunk, from: start, isEscaped: isEscaped)
    case .word: isInWord || !Self.endsWord(chunk[start]) ? word(chunk, from: start) : over(start)
    }
  }

  /// What the bytes of a string say, without its quotes; nil for what is no string.
  package static func text(_ bytes: [UInt8]) -> String? {
    guard bytes.contains(UInt8(ascii: "\\")) else { return String(validating: bytes, as: UTF8.self) }
    let quote = [UInt8(ascii: "\"")]
    return (try? JSON.parse(quote + bytes + quote))?.string
  }

  private mutating func over(_ end: Int) -> (step: Step, end: Int) {
    mode = .between
    return (.over, end)
  }

  private func word(_ chunk: UnsafeBufferPointer<UInt8>, from start: Int) -> (step: Step, end: Int) {
    var end = start + 1
    while end < chunk.count, !Self.endsWord(chunk[end]) { end += 1 }
    return (.inside, end)
  }

  /// A run of bytes in a string, or what ends it.
  private mutating func string(
    _ chunk: UnsafeBufferPointer<UInt8>, from start: Int, isEscaped: Bool
  ) -> (step: Step, end: Int) {
    var isEscaped = isEscaped
    var end = start
    while end < chunk.count {
      let byte = chunk[end]
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") || isInLines && byte == 0x0A {
        break
      }
      end += 1
    }
    if end > start {
      mode = .string(isEscaped: isEscaped)
      if isName, !paths.isEmpty, name.count <= Self.limit { name += chunk[start..<end] }
      return (.inside, end)
    }
    mode = .between
    if chunk[start] == 0x0A {
      endLine()
    } else if isName, !levels.isEmpty {
      levels[levels.count - 1].name = name.count > Self.limit ? nil : Self.text(name)
    }
    return (.ends, start + 1)
  }

  private mutating func between(_ byte: UInt8) -> Step {
    switch byte {
    case UInt8(ascii: "{"), UInt8(ascii: "["): open(isObject: byte == UInt8(ascii: "{"))
    case UInt8(ascii: "}"), UInt8(ascii: "]"): close()
    case UInt8(ascii: ","):
      if tooDeep == 0, !levels.isEmpty {
        levels[levels.count - 1].index += 1
        levels[levels.count - 1].expectsName = levels[levels.count - 1].isObject
      }
    case UInt8(ascii: ":"):
      if tooDeep == 0, !levels.isEmpty { levels[levels.count - 1].expectsName = false }
    case 0x0A: if isInLines { endLine() }
    case 0x20, 0x09, 0x0D, 0xEF, 0xBB, 0xBF: break
    case UInt8(ascii: "\""):
      isName = tooDeep == 0 && levels.last?.expectsName == true
      match = isName ? nil : meant()
      name.removeAll(keepingCapacity: true)
      mode = .string(isEscaped: false)
      return .begins
    default:
      match = meant()
      mode = .word
      return .begins
    }
    return .between
  }

  private mutating func open(isObject: Bool) {
    guard tooDeep == 0, levels.count < Self.deepest else {
      tooDeep += 1
      return
    }
    let match = meant()
    let child = child
    let base = progress.count - paths.count
    // With plain loops, as in ``JSONPath/enter(_:_:)``.
    var number = 0
    while number < paths.count {
      progress.append(entered(number, child, base))
      number += 1
    }
    levels.append(Level(isObject: isObject, match: match, expectsName: isObject))
  }

  private mutating func close() {
    if tooDeep > 0 {
      tooDeep -= 1
    } else if levels.popLast() != nil {
      progress.removeLast(paths.count)
    }
  }

  private mutating func endLine() {
    levels.removeAll(keepingCapacity: true)
    progress.removeAll(keepingCapacity: true)
    tooDeep = 0
  }

  /// Where the value that begins lies in the one that holds it; nil at the root.
  private var child: JSONPath.Child? {
    guard let level = levels.last else { return nil }
    return level.isObject ? .name(level.name ?? "") : .index(level.index, of: nil)
  }

  /// The path that means the value which begins.
  private func meant() -> Int? {
    if paths.isEmpty { return nil }
    if let level = levels.last, level.match != nil || tooDeep > 0 { return level.match }
    let child = child
    let base = progress.count - paths.count
    var number = 0
    while number < paths.count {
      if paths[number].isAtEnd(entered(number, child, base)) { return number }
      number += 1
    }
    return nil
  }

  private func entered(_ number: Int, _ child: JSONPath.Child?, _ base: Int) -> JSONPath.Progress {
    guard let child else { return paths[number].start }
    return paths[number].enter(progress[base + number], child)
  }

  private static func endsWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: "{"), UInt8(ascii: "["),
      UInt8(ascii: ":"), UInt8(ascii: "\""), 0x20, 0x09, 0x0A, 0x0D:
      true
    default: false
    }
  }
}
