import Foundation

/// A place in a file.
struct FilePlace: Hashable, Comparable, Encodable, CustomStringConvertible {
  let path: String
  let line: Int
  let column: Int

  var description: String { "\(path):\(line):\(column)" }

  static func < (left: Self, right: Self) -> Bool {
    (left.path, left.line, left.column) < (right.path, right.line, right.column)
  }
}

/// Step definitions, parameter types and enums in Swift files, found without compiling them.
struct SwiftSteps {
  /// How a definition matches.
  enum Kind: String, Encodable {
    /// A Cucumber Expression.
    case expression
    /// This text alone.
    case exact
    /// A Swift regular expression, which must match the whole text.
    case regex
    /// A regular expression of a `StepDefiner`, which may match any part of the text, in any case of letters.
    case pattern
  }

  struct Definition {
    let keyword: String
    let kind: Kind
    let source: String
    let place: FilePlace
    /// The documentation above it.
    let documentation: String?
  }

  /// A step in Swift code: `Given("a patient")` without a closure.
  struct Use {
    let text: String
    let place: FilePlace
    /// Whether a missing definition is a mistake; other functions have the name, too.
    let isChecked: Bool
  }

  struct Parameter {
    enum Values {
      case patterns([String])
      /// The cases of an enum.
      case type(String)
      case unknown
    }

    let name: String
    let values: Values
    let place: FilePlace
  }

  struct Note: Encodable {
    let place: FilePlace
    let message: String
  }

  private(set) var definitions: [Definition] = []
  private(set) var uses: [Use] = []
  private(set) var parameters: [Parameter] = []
  /// How the cases of enums are written, by the name of the enum.
  private(set) var enums: [String: [String]] = [:]
  private(set) var notes: [Note] = []

  private static let keywords: Set<String> = ["Given", "When", "Then", "And", "But", "Step", "step"]
  /// Labels of arguments that tell only a place.
  private static let placeLabels: Set<String> = ["file", "filePath", "fileID", "line", "column"]

  private var path = ""
  private var tokens: [SwiftTokens.Token] = []
  private var documentation: [Int: String] = [:]

  /// Finds what a file has.
  ///
  /// - Parameters:
  ///   - source: the text of the file.
  ///   - path: its path, for places.
  mutating func add(_ source: String, path: String) {
    let file = SwiftTokens(source)
    self.path = path
    tokens = file.tokens
    documentation = file.documentation
    for index in tokens.indices {
      guard case .word(let word) = tokens[index].kind else { continue }
      if word == "enum" {
        addEnum(at: index)
      } else if Self.keywords.contains(word) || word == "perform", isCall(index) {
        addStep(word, at: index)
      } else if word == "ParameterType", isCall(index) {
        addParameter(at: index)
      }
    }
  }

  private func kind(_ index: Int) -> SwiftTokens.Kind? { tokens.indices ~= index ? tokens[index].kind : nil }

  private func place(_ index: Int) -> FilePlace {
    FilePlace(path: path, line: tokens[index].line, column: tokens[index].column)
  }

  /// Whether the function of that name is called, not declared, and is no method of something else.
  private func isCall(_ index: Int) -> Bool {
    guard kind(index + 1) == .mark("(") else { return false }
    switch kind(index - 1) {
    case .word("func"), .word("struct"), .word("class"): return false
    case .mark("."):
      guard case .word(let owner) = kind(index - 2) else { return false }
      return owner == "self" || owner == "DioramaScenarios"
    default: return true
    }
  }

  /// The index after the parenthesis, bracket or brace that closes the one at an index.
  private func end(of open: Int) -> Int {
    var depth = 0
    for index in open..<tokens.count {
      switch tokens[index].kind {
      case .mark("("), .mark("["), .mark("{"): depth += 1
      case .mark(")"), .mark("]"), .mark("}"):
        depth -= 1
        if depth == 0 { return index + 1 }
      default: break
      }
    }
    return tokens.count
  }

  /// String literals that `+` joins.
  private func string(at index: inout Int) -> String? {
    guard case .string(var text) = kind(index) else { return nil }
    index += 1
    while kind(index) == .mark("+"), case .string(let next) = kind(index + 1) {
      text += next
      index += 2
    }
    return text
  }

  private mutating func addStep(_ word: String, at start: Int) {
    var index = start + 2
    var isExact = false
    if kind(index) == .word("exactly"), kind(index + 1) == .mark(":") {
      isExact = true
      index += 2
    }
    let source: String
    var isRegex = false
    if let text = string(at: &index) {
      source = text
    } else if case .regex(let text) = kind(index) {
      (source, isRegex) = (text, true)
      index += 1
    } else {
      if word != "perform", word != "step", hasClosure(start, after: index) {
        notes.append(
          Note(place: place(start), message: "the expression is not a literal; this definition is ignored"))
      }
      return
    }
    guard kind(index) == .mark(")") || kind(index) == .mark(",") else { return }
    let isDefinition = word != "perform" && hasClosure(start, after: index)
    if isDefinition {
      if !isRegex, source.contains(SwiftTokens.interpolation) {
        notes.append(
          Note(place: place(start), message: "the expression has an interpolation; this definition is ignored"))
        return
      }
      let kind: Kind = isExact ? .exact : isRegex ? .regex : word == "step" ? .pattern : .expression
      definitions.append(
        Definition(
          keyword: word, kind: kind, source: source, place: place(start),
          documentation: documentation[tokens[start].line - 1]))
    } else if !isRegex {
      uses.append(Use(text: source, place: place(start), isChecked: word.first?.isUppercase == true))
    }
  }

  /// Whether a closure follows a call, or an argument that does not tell a place.
  private func hasClosure(_ start: Int, after index: Int) -> Bool {
    let end = end(of: start + 1)
    if kind(end) == .mark("{") { return true }
    guard kind(index) == .mark(",") else { return false }
    if case .word(let label) = kind(index + 1), kind(index + 2) == .mark(":") {
      return !Self.placeLabels.contains(label)
    }
    return true
  }

  private mutating func addParameter(at start: Int) {
    var index = start + 2
    guard let name = string(at: &index), kind(index) == .mark(",") else { return }
    index += 1
    if case .word("capturing") = kind(index), kind(index + 1) == .mark(":") { index += 2 }
    var patterns: [String] = []
    while let pattern = string(at: &index) {
      patterns.append(pattern)
      guard kind(index) == .mark(",") else { break }
      index += 1
    }
    var values: Parameter.Values = patterns.isEmpty ? .unknown : .patterns(patterns)
    if patterns.isEmpty {
      // `Booking.Vehicle.self`
      var last: String?
      while case .word(let word) = kind(index), word != "self" {
        last = word
        index += kind(index + 1) == .mark(".") ? 2 : 1
      }
      if kind(index) == .word("self"), let last { values = .type(last) }
    }
    if patterns.contains(where: { $0.contains(SwiftTokens.interpolation) }) { values = .unknown }
    parameters.append(Parameter(name: name, values: values, place: place(start)))
  }

  private mutating func addEnum(at start: Int) {
    guard case .word(let name) = kind(start + 1) else { return }
    var index = start + 2
    // The protocols and the raw type.
    while index < tokens.count, kind(index) != .mark("{") { index += 1 }
    let end = end(of: index)
    index += 1
    var cases: [String] = []
    while index < end - 1 {
      guard kind(index) == .word("case") else {
        index = kind(index) == .mark("{") || kind(index) == .mark("(") ? self.end(of: index) : index + 1
        continue
      }
      repeat {
        index += 1
        guard case .word(let word) = kind(index) else { break }
        index += 1
        var text = word
        if kind(index) == .mark("(") { index = self.end(of: index) }
        if kind(index) == .mark("=") {
          index += 1
          if let raw = string(at: &index) {
            text = raw
          } else {
            index += kind(index) == .mark("-") ? 2 : 1
          }
        }
        cases.append(text)
      } while kind(index) == .mark(",")
    }
    enums[name, default: []] += cases
  }
}
