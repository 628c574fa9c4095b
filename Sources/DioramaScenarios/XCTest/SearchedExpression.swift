import CucumberExpressions
import Foundation

/// A regular expression of a ``StepDefiner``: it ignores case, and matches a part of the step's text.
struct SearchedExpression: StepExpression {
  /// What a group has captured.
  struct Capture {
    let name: String?
    /// From 1.
    let number: Int
    /// nil if the group took no part in the match.
    let text: String?
    let range: NSRange

    func value<Value: MatchedStringRepresentable>(_ type: Value.Type) throws -> Value {
      let group = name.map { "group '\($0)'" } ?? "group \(number)"
      guard let text else {
        throw ScenarioError("\(group) of the step's regular expression captured nothing, which is not a valid \(type)")
      }
      guard let value = Value(fromMatch: text) else {
        throw ScenarioError("'\(text)', captured by \(group), is not a valid \(type)")
      }
      return value
    }
  }

  let source: String
  private let regex: Result<NSRegularExpression, ExpressionError>
  /// The names of the groups by their numbers, from 1.
  private let names: [Int: String]

  var regularExpression: String { source }

  init(_ source: String) {
    self.source = source
    do {
      regex = .success(try NSRegularExpression(pattern: source, options: .caseInsensitive))
    } catch {
      regex = .failure(ExpressionError("the regular expression '\(source)' is not valid"))
    }
    names = Self.names(in: source)
  }

  func match(_ text: String) throws(ExpressionError) -> [Argument]? {
    // The closure takes the captures itself.
    try regex.get().firstMatch(in: text, range: NSRange(text.startIndex..., in: text)) == nil ? nil : []
  }

  /// The captures of all groups; empty if the text does not match.
  func captures(of text: String) -> [Capture] {
    guard let regex = try? regex.get(),
      let match = regex.firstMatch(in: text, range: NSRange(text.startIndex..., in: text))
    else { return [] }
    return (1..<max(match.numberOfRanges, 1)).map { number in
      let range = match.range(at: number)
      return Capture(
        name: names[number], number: number, text: Range(range, in: text).map { String(text[$0]) }, range: range)
    }
  }

  /// The text with the names of groups, as words, in place of what they have captured.
  func readable(_ text: String) -> String {
    var result = text
    // From the end, so that ranges stay valid; of nested groups, the outer one counts.
    var end = Int.max
    let named = captures(of: text).filter { $0.name != nil && $0.range.location != NSNotFound }
    let outer = named.filter { inner in
      !named.contains { $0.number < inner.number && NSIntersectionRange($0.range, inner.range) == inner.range }
    }
    for capture in outer.sorted(by: { $0.range.location > $1.range.location }) {
      guard capture.range.upperBound <= end, let range = Range(capture.range, in: result), let name = capture.name
      else { continue }
      end = capture.range.location
      result.replaceSubrange(range, with: Self.words(of: name))
    }
    return result
  }

  /// `aRegisteredUser` is `a registered user`.
  private static func words(of name: String) -> String {
    name.reduce(into: "") { words, character in
      if character.isUppercase, !words.isEmpty { words.append(" ") }
      words += character.lowercased()
    }
  }

  private static func names(in source: String) -> [Int: String] {
    var names: [Int: String] = [:]
    var (number, setDepth) = (0, 0)
    var rest = source[...]
    while let character = rest.popFirst() {
      switch character {
      case "\\": rest = rest.dropFirst()
      case "[": setDepth += 1
      case "]": setDepth = max(setDepth - 1, 0)
      case "(" where setDepth == 0:
        if let name = rest.prefixMatch(of: /\?<([A-Za-z][A-Za-z0-9]*)>/) {
          number += 1
          names[number] = String(name.1)
        } else if !rest.hasPrefix("?") {
          number += 1
        }
      default: break
      }
    }
    return names
  }
}

extension Definition {
  /// The regular expression of a ``StepDefiner``.
  var searchedExpression: SearchedExpression? {
    if case .matcher(let expression) = pattern { expression as? SearchedExpression } else { nil }
  }

  /// Whether it matches a part of a step's text.
  var isSearched: Bool { searchedExpression != nil }
}
