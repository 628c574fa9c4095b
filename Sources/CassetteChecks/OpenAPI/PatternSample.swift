import Basics

/// Generates strings that match a regular expression.
///
/// Supports literals, sets, groups, alternatives, repetitions and anchors. Assertions are ignored, so check each string
/// with the expression.
struct PatternSample {
  private indirect enum Item {
    /// One of these characters.
    case characters([Unicode.Scalar])
    case sequence([Item])
    case alternatives([Item])
    case repeated(Item, Int, Int?)
  }

  /// The maximum length of a text in characters, and the maximum nesting and size of an expression.
  private static let maximumLength = 4096
  private static let maximumDepth = 24
  private static let maximumItems = 2000

  private let root: Item

  /// Nil if the expression has other constructs.
  ///
  /// - Parameter text: the expression.
  init?(_ text: String) {
    var parser = Parser(text)
    guard let item = parser.alternatives(depth: 0), parser.rest.isEmpty else { return nil }
    root = item
  }

  /// Generates a string.
  ///
  /// - Parameters:
  ///   - extra: the maximum number of repetitions beyond the necessary ones.
  ///   - isExact: whether to always add that many.
  ///   - random: draws an integer.
  /// - Returns: the string; nil if it would be too long.
  func text(extra: Int, isExact: Bool = false, random: (ClosedRange<Int>) -> Int) -> String? {
    var output = "".unicodeScalars
    var steps = 0
    return Self.append(root, to: &output, extra, isExact ? { $0.upperBound } : random, random, &steps)
      ? String(output) : nil
  }

  private static func append(
    _ item: Item, to output: inout String.UnicodeScalarView, _ extra: Int, _ count: (ClosedRange<Int>) -> Int,
    _ random: (ClosedRange<Int>) -> Int, _ steps: inout Int
  ) -> Bool {
    steps += 1
    guard steps <= 4 * maximumLength else { return false }
    switch item {
    case .characters(let all): output.append(all.count == 1 ? all[0] : all[random(0...all.count - 1)])
    case .sequence(let items):
      for item in items where !append(item, to: &output, extra, count, random, &steps) { return false }
    case .alternatives(let items):
      return append(items[random(0...items.count - 1)], to: &output, extra, count, random, &steps)
    case .repeated(let item, let least, let most):
      guard least <= maximumLength else { return false }
      let most = min(most ?? .max, least + extra)
      for _ in 0..<(least < most ? count(least...most) : least)
      where !append(item, to: &output, extra, count, random, &steps) { return false }
    }
    return true
  }

  private struct Parser {
    var rest: Substring.UnicodeScalarView
    private var items = 0

    init(_ text: String) { rest = text[...].unicodeScalars }

    private static func scalars(_ text: String) -> [Unicode.Scalar] { Array(text.unicodeScalars) }

    private static let digits = scalars("0123456789")
    private static let lower = scalars("abcdefghijklmnopqrstuvwxyz")
    private static let upper = scalars("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    private static let word = lower + upper + digits + scalars("_")
    private static let printable = (0x20...0x7E).compactMap(Unicode.Scalar.init)

    mutating func alternatives(depth: Int) -> Item? {
      guard depth <= PatternSample.maximumDepth else { return nil }
      var all: [Item] = []
      while true {
        guard let item = sequence(depth: depth) else { return nil }
        all.append(item)
        guard rest.first == "|" else { return all.count == 1 ? all[0] : .alternatives(all) }
        rest.removeFirst()
      }
    }

    private mutating func sequence(depth: Int) -> Item? {
      var all: [Item] = []
      while let next = rest.first, next != "|", next != ")" {
        items += 1
        guard items <= PatternSample.maximumItems, let item = item(depth: depth), let repeated = repetition(of: item)
        else { return nil }
        all.append(repeated)
      }
      return .sequence(all)
    }

    private mutating func item(depth: Int) -> Item? {
      switch rest.removeFirst() {
      case "^", "$": return .sequence([])
      case ".": return .characters(Self.word.dropLast())
      case "[": return set()
      case "(": return group(depth: depth)
      case "\\": return escape().map { $0.isEmpty ? .sequence([]) : .characters($0) }
      case "*", "+", "?": return nil
      case let plain: return .characters([plain])
      }
    }

    private mutating func group(depth: Int) -> Item? {
      var isAssertion = false
      if rest.first == "?" {
        rest.removeFirst()
        switch rest.popFirst() {
        case ":": break
        case "=", "!": isAssertion = true
        case "P", "<":
          if rest.first == "<" { rest.removeFirst() }
          if let next = rest.first, next == "=" || next == "!" {
            rest.removeFirst()
            isAssertion = true
          } else {
            guard let end = rest.firstIndex(of: ">") else { return nil }
            rest = rest[rest.index(after: end)...]
          }
        default: return nil
        }
      }
      guard let inner = alternatives(depth: depth + 1), rest.popFirst() == ")" else { return nil }
      return isAssertion ? .sequence([]) : inner
    }

    private mutating func repetition(of item: Item) -> Item? {
      var least = 0
      var most: Int?
      switch rest.first {
      case "*": break
      case "+": least = 1
      case "?": most = 1
      case "{":
        let parts = String(rest.dropFirst().prefix { $0 != "}" }).split(
          separator: ",", omittingEmptySubsequences: false)
        // Otherwise, the brace is a character.
        guard let first = parts.first.flatMap({ Int($0) }), first >= 0, parts.count <= 2 else { return item }
        least = first
        most = parts.count == 1 ? first : Int(parts[1])
        guard most ?? least >= least else { return nil }
        rest = rest.drop { $0 != "}" }
      default: return item
      }
      guard rest.popFirst() != nil else { return nil }
      // Lazy and possessive repetitions match the same texts.
      if rest.first == "?" || rest.first == "+" { rest.removeFirst() }
      return .repeated(item, least, most)
    }

    /// The characters of an escape, without the backslash; none for an assertion.
    private mutating func escape() -> [Unicode.Scalar]? {
      guard let letter = rest.popFirst() else { return nil }
      switch letter {
      case "d": return Self.digits
      case "D": return Self.lower + Self.upper
      case "w": return Self.word
      case "W": return Self.scalars("-. ")
      case "s": return [" "]
      case "S": return Self.word
      case "b", "B", "A", "Z", "z": return []
      case "n": return ["\n"]
      case "r": return ["\r"]
      case "t": return ["\t"]
      case "x": return code(digits: 2)
      case "u": return code(digits: 4)
      case "p", "P":
        guard rest.popFirst() == "{", let end = rest.firstIndex(of: "}") else { return nil }
        let name = String(rest[..<end])
        rest = rest[rest.index(after: end)...]
        guard letter == "p" else { return nil }
        return name == "Lu" ? Self.upper : name.hasPrefix("L") ? Self.lower : name.hasPrefix("N") ? Self.digits : nil
      case "0"..."9", "k", "c": return nil
      default: return [letter]
      }
    }

    private mutating func code(digits: Int) -> [Unicode.Scalar]? {
      var text = String(rest.prefix(digits))
      if rest.first == "{", let end = rest.firstIndex(of: "}") {
        text = String(rest[..<end].dropFirst())
        rest = rest[rest.index(after: end)...]
      } else {
        rest = rest.dropFirst(digits)
      }
      return UInt32(text, radix: 16).flatMap(Unicode.Scalar.init).map { [$0] }
    }

    private mutating func set() -> Item? {
      var isExcluding = false
      if rest.first == "^" {
        rest.removeFirst()
        isExcluding = true
      }
      var found: [Unicode.Scalar] = []
      while let next = rest.popFirst(), next != "]" {
        var characters = [next]
        if next == "\\" {
          // A backspace.
          guard rest.first != "b", let escaped = escape() else { return nil }
          characters = escaped
        }
        if rest.first == "-", let end = rest.dropFirst().first, end != "]", characters.count == 1 {
          rest.removeFirst()
          rest.removeFirst()
          var last = end
          if end == "\\" {
            guard let escaped = escape(), escaped.count == 1 else { return nil }
            last = escaped[0]
          }
          guard characters[0] <= last else { return nil }
          // A bound that no realistic pattern needs.
          characters = (characters[0].value...min(last.value, characters[0].value + 255))
            .compactMap(Unicode.Scalar.init)
        }
        found += characters
        guard found.count <= PatternSample.maximumItems * 8 else { return nil }
      }
      if isExcluding {
        let excluded = Set(found)
        let plain = (Self.word + Self.printable).filter { !excluded.contains($0) }
        found = plain.isEmpty ? [] : Array(plain.prefix(Self.word.count))
      }
      return found.isEmpty ? nil : .characters(found)
    }
  }
}
