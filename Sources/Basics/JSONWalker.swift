/// Follows paths through a stream of JSON: classifies each byte, and reports which path selects it. Chunks may be
/// split anywhere.
///
/// Accepts several concatenated documents, such as NDJSON. Invalid JSON is processed as far as possible.
///
/// ```swift
/// while index < chunk.count {
///   let (step, end) = walker.step(chunk, from: index)
///   // Classifies chunk[index..<end]; walker.match is the path that selects it.
///   index = end
/// }
/// ```
package struct JSONWalker: Sendable {
  /// A classification of bytes.
  package enum Step: Sendable {
    /// A byte that opens, closes or separates values, or white space.
    case between
    /// The first byte of a name, a string or a word (a number or literal).
    case begins
    /// More bytes of a name, string or word.
    case inside
    /// The closing quote of a name or string; with `isInLines` also a line feed in its place.
    case ends
    /// No bytes: a word ended before this one, which the next step classifies.
    case over
  }

  private struct Level {
    let isObject: Bool
    /// The path that selects the whole container.
    let match: Int?
    /// The index of the current or next element.
    var index = 0
    var name: String?
    var expectsName: Bool
  }

  private enum Mode {
    case between
    /// Inside a string, after its opening quote.
    case string(isEscaped: Bool)
    /// Inside a number or a literal.
    case word
  }

  /// The maximum length in bytes of a name to compare.
  private static let limit = 64 << 10
  /// The maximum nesting depth that is tracked.
  private static let deepest = 4096

  private let paths: [JSONPath]
  /// The index of the path that selects strings and words only, without what is in a container; nil for none.
  package let leaf: Int?
  private let isInLines: Bool
  private var levels: [Level] = []
  /// The state of each path at each level, level by level.
  private var progress: [JSONPath.Progress] = []
  private var tooDeep = 0
  private var mode = Mode.between
  /// The name so far, without its quotes.
  private var name: [UInt8] = []
  /// Whether the current string is a member's name.
  package private(set) var isName = false
  /// The index of the first path that selects the current value or one of its containers; nil for a name.
  package private(set) var match: Int?

  /// - Parameters:
  ///   - paths: the paths to follow, which must not count from the end.
  ///   - leaf: a last path, which selects strings and words only, without what is in a container.
  ///   - isInLines: whether each line is a document, so that an invalid line does not affect the next.
  package init(_ paths: [JSONPath], leaf: JSONPath? = nil, isInLines: Bool = false) {
    self.paths = paths + (leaf.map { [$0] } ?? [])
    self.leaf = leaf == nil ? nil : paths.count
    self.isInLines = isInLines
  }

  /// Whether the walker is inside a name or string.
  package var isInString: Bool { if case .string = mode { true } else { false } }
  /// Whether the walker is inside a word.
  package var isInWord: Bool { if case .word = mode { true } else { false } }

  /// Classifies the next bytes.
  ///
  /// - Parameters:
  ///   - chunk: the bytes received.
  ///   - start: the offset to continue from.
  ///   - isInWord: whether the next byte continues a word regardless of its value.
  /// - Returns: the classification and the end of the bytes it applies to.
  package mutating func step(
    _ chunk: UnsafeBufferPointer<UInt8>, from start: Int, isInWord: Bool = false
  ) -> (step: Step, end: Int) {
    switch mode {
    case .between: (between(chunk[start]), start + 1)
    case .string(let isEscaped): string(chunk, from: start, isEscaped: isEscaped)
    case .word: isInWord || !Self.endsWord(chunk[start]) ? word(chunk, from: start) : over(start)
    }
  }

  /// Decodes the bytes of a string without its quotes; nil if they are invalid.
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

  /// Classifies a run of bytes in a string, or its end.
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
    let found = meant()
    let match = found == leaf ? nil : found
    let child = child
    let base = progress.count - paths.count
    // Plain loops, as in ``JSONPath/enter(_:_:)``.
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

  /// The name of the current member; nil in an array, and at the root.
  package var memberName: String? { levels.last?.name }

  /// A path that was given, for messages.
  package func path(_ index: Int) -> JSONPath { paths[index] }

  /// The position of the current value in its container; nil at the root.
  private var child: JSONPath.Child? {
    guard let level = levels.last else { return nil }
    return level.isObject ? .name(level.name ?? "") : .index(level.index, of: nil)
  }

  /// The path that selects the current value.
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
