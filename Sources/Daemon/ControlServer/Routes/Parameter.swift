import EnvironmentConfiguration
import HTTPMessages
import LaunchContract

/// A value in a request's path, query or head.
struct Parameter: Sendable {
  enum Place: String, Sendable {
    case path, query, header
  }

  let name: String
  let place: Place
  let schema: Schema
  let note: String

  /// - Throws: a ``Problem`` where the text is no such value.
  func check(_ text: String) throws(Problem) {
    let value: JSON
    switch schema {
    // Leading zeros and a plus are no JSON, and no number here either.
    case .integer: value = Int(text).map { "\($0)" == text ? .number(text) : .string(text) } ?? .string(text)
    case .boolean: value = ["true": .bool(true), "false": .bool(false)][text] ?? .string(text)
    default: value = .string(text)
    }
    if let problem = schema.problem(with: value, at: name) {
      throw Problem(400, "The \(place) cannot be read", problem)
    }
  }
}

/// The values of a request's parameters by name, each of which fits its schema.
struct ParameterValues: Sendable {
  private var texts: [String: String]

  init(_ texts: [String: String]) { self.texts = texts }

  mutating func merge(_ others: [String: String]) { texts.merge(others) { first, _ in first } }

  subscript(_ name: String) -> String? { texts[name] }
  func int(_ name: String) -> Int? { texts[name].flatMap { Int($0) } }
  func bool(_ name: String) -> Bool? { texts[name].map { $0 == "true" } }
}
