import Basics
import Foundation

/// A type of values that a ``StepDefiner``'s regular expressions capture.
///
/// `String`, `Int`, `Double` and `Bool` conform. Your own `Codable` types conform with ``CodableMatchedStringRepresentable``.
public protocol MatchedStringRepresentable {
  /// Creates the value from the captured text, or nil if the text is not valid.
  ///
  /// - Parameter match: the captured text.
  init?(fromMatch match: String)
}

/// A `Codable` type that steps contain as JSON.
///
/// ```swift
/// struct Person: Codable, Equatable { let name: String }
/// extension Person: CodableMatchedStringRepresentable {}
///
/// Given("User is logged in as \(Person(name: "Nick"))")  // User is logged in as {"name":"Nick"}
/// ```
public protocol CodableMatchedStringRepresentable: Codable, CustomStringConvertible, MatchedStringRepresentable {}

extension CodableMatchedStringRepresentable {
  /// Decodes the value from JSON; nil if the text is something else.
  public init?(fromMatch match: String) {
    guard let value = try? JSON.decode(Self.self, from: Data(match.utf8), source: "the step") else { return nil }
    self = value
  }

  /// The value as JSON on one line, with sorted keys.
  public var description: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // JSON cannot express the value, such as an infinite number. The step's text then says so.
    guard let data = try? encoder.encode(self) else { return "<\(Self.self) is not valid JSON>" }
    return String(decoding: data, as: UTF8.self)
  }
}

extension String: MatchedStringRepresentable {
  /// The captured text.
  public init?(fromMatch match: String) { self = match }
}

extension Int: MatchedStringRepresentable {
  /// A decimal integer.
  public init?(fromMatch match: String) { self.init(match) }
}

extension Double: MatchedStringRepresentable {
  /// A decimal number.
  public init?(fromMatch match: String) { self.init(match) }
}

extension Bool: MatchedStringRepresentable {
  /// `true` or `false`.
  public init?(fromMatch match: String) { self.init(match) }
}

/// The values that a ``StepDefiner``'s regular expression captures, by the names and indices of its groups.
///
/// ```swift
/// step("User is logged in as (?<aRegisteredUser>.+)") { (match: StepMatches<Person>) in
///   let person = match["aRegisteredUser"]  // the same as match[0]
/// }
/// ```
public struct StepMatches<Value: MatchedStringRepresentable> {
  /// The values of all groups that took part in the match, the first group's first.
  public let matches: [Value]
  private let named: [String: Value]

  init(_ captures: [SearchedExpression.Capture]) throws {
    var matches: [Value] = []
    var named: [String: Value] = [:]
    for capture in captures {
      guard let text = capture.text else { continue }
      let value = try capture.value(Value.self)
      matches.append(value)
      if let name = capture.name, !text.isEmpty || named[name] == nil { named[name] = value }
    }
    (self.matches, self.named) = (matches, named)
  }

  /// The value of a named group, or nil if it took no part in the match.
  public subscript(name: String) -> Value? { named[name] }

  /// The value of a group, named or not. The index must be valid; see ``matches``.
  public subscript(index: Int) -> Value { matches[index] }
}
