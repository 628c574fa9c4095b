import Foundation

/// Suggests Cucumber Expressions for a step that no expression matches.
///
/// ```swift
/// let generator = CucumberExpressionGenerator(ParameterTypeRegistry())
/// let suggestion = try generator.expressions(for: "I have 2 cucumbers and 1.5 tomato").first
/// print(suggestion?.source ?? "", suggestion?.parameterNames ?? [])
/// // I have {int} cucumbers and {float} tomato ["int", "float"]
/// ```
public struct CucumberExpressionGenerator: Sendable {
  /// A suggested expression.
  public struct Suggestion: Sendable {
    /// The Cucumber Expression.
    public let source: String
    /// The types of its parameters, in order.
    public let parameterTypes: [AnyParameterType]

    /// Names for the parameters: `int`, `int2`. A reserved word gets a number, too.
    public var parameterNames: [String] {
      var counts: [String: Int] = [:]
      return parameterTypes.map { type in
        let count = counts[type.name, default: 0] + 1
        counts[type.name] = count
        return count == 1 && !Self.reservedWords.contains(Substring(type.name)) ? type.name : "\(type.name)\(count)"
      }
    }

    private static let reservedWords: Set<Substring> = Set(
      """
      Any Self as associatedtype await break case catch class continue default defer deinit do else enum extension
      fallthrough false fileprivate for func guard if import in init inout internal is let nil operator private
      precedencegroup protocol public repeat rethrows return self static struct subscript super switch throw throws true
      try typealias var where while
      """.split(whereSeparator: \.isWhitespace))
  }

  private static let maximumSuggestions = 256

  private let registry: ParameterTypeRegistry

  /// - Parameter registry: the types to suggest.
  public init(_ registry: ParameterTypeRegistry) { self.registry = registry }

  /// Suggests expressions.
  ///
  /// - Parameter text: the step's text.
  /// - Returns: at least one expression, and at most 256, the best first. There are several if types match the same text.
  /// - Throws: ``ExpressionError`` if a type takes too many steps to match.
  public func expressions(for text: String) throws(ExpressionError) -> [Suggestion] {
    let units = Array(text.utf16)
    /// The escaped text before each parameter.
    var literals: [String] = []
    var choices: [[AnyParameterType]] = []
    var position = 0
    while position < units.count, let (range, types) = try next(in: text, units, from: position) {
      literals.append(Self.escaped(units[position..<range.lowerBound]))
      choices.append(types)
      position = range.upperBound
    }
    let end = Self.escaped(units[position...])
    return combinations(of: choices).map { types in
      Suggestion(source: zip(literals, types).map { "\($0)\($1)" }.joined() + end, parameterTypes: types)
    }
  }

  /// The first and longest match of any type, and the types that match there.
  private func next(
    in text: String, _ units: [UInt16], from position: Int
  ) throws(ExpressionError) -> (Range<Int>, [AnyParameterType])? {
    var best: (range: NSRange, types: [AnyParameterType])?
    for type in registry.parameterTypes where type.useForSnippets {
      for pattern in type.patterns {
        let range = try pattern.firstRange(in: text, from: position) { range in
          range.length > 0 && Self.isBoundary(units, before: range.location)
            && Self.isBoundary(units, after: range.location + range.length)
        }
        guard let range else { continue }
        // The first wins, then the longest, then an integer.
        func rank(_ range: NSRange, _ type: AnyParameterType) -> (Int, Int, Int) {
          (range.location, -range.length, type.valueType == Int.self ? 0 : 1)
        }
        if let current = best, rank(range, type) >= rank(current.range, current.types[0]) {
          guard rank(range, type) == rank(current.range, current.types[0]) else { continue }
          if !current.types.contains(where: { $0.name == type.name }) { best?.types.append(type) }
        } else {
          best = (range, [type])
        }
      }
    }
    return best.map {
      ($0.range.location..<$0.range.location + $0.range.length, $0.types.sorted(by: AnyParameterType.isBefore))
    }
  }

  private func combinations(of choices: [[AnyParameterType]]) -> [[AnyParameterType]] {
    var result: [[AnyParameterType]] = [[]]
    // The last parameter varies fastest, and the combinations that are cut off come last.
    for types in choices {
      if types.count == 1 {
        for index in result.indices { result[index].append(types[0]) }
        continue
      }
      result = Array(
        result.lazy.flatMap { start in types.lazy.map { start + [$0] } }.prefix(Self.maximumSuggestions))
    }
    return result
  }

  private static func isBoundary(_ units: [UInt16], before index: Int) -> Bool {
    index == 0 || isSeparator(units[index - 1])
  }

  private static func isBoundary(_ units: [UInt16], after index: Int) -> Bool {
    index == units.count || isSeparator(units[index])
  }

  /// Whether it is white space, punctuation or a symbol.
  private static func isSeparator(_ unit: UInt16) -> Bool {
    switch Unicode.Scalar(unit)?.properties.generalCategory {
    case .spaceSeparator, .lineSeparator, .paragraphSeparator, .connectorPunctuation, .dashPunctuation,
      .openPunctuation, .closePunctuation, .initialPunctuation, .finalPunctuation, .otherPunctuation, .mathSymbol,
      .currencySymbol, .modifierSymbol, .otherSymbol:
      true
    default: false
    }
  }

  private static func escaped(_ units: ArraySlice<UInt16>) -> String {
    var escaped = ""
    for scalar in String(decoding: units, as: UTF16.self).unicodeScalars {
      if #"({/\"#.unicodeScalars.contains(scalar) { escaped += "\\" }
      escaped.unicodeScalars.append(scalar)
    }
    return escaped
  }
}
