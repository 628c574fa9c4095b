import Basics
import CucumberExpressions
import Foundation

/// Step definitions that can be matched, with the parameter types of their files.
struct StepLibrary {
  struct Definition {
    let declaration: SwiftSteps.Definition
    /// The regular expression for editors.
    let pattern: String
    /// The parameters' types, without braces.
    let parameters: [String]
    fileprivate let matches: @Sendable (String) -> Bool
  }

  /// A definition whose expression is not valid, or a parameter type.
  struct Failure {
    let place: FilePlace
    let message: String
  }

  private(set) var definitions: [Definition] = []
  private(set) var failures: [Failure] = []
  private(set) var notes: [SwiftSteps.Note]
  let uses: [SwiftSteps.Use]
  private(set) var registry = ParameterTypeRegistry()
  /// Swift's names of the types of parameters.
  private var typeNames: [String: String] = [:]
  private let enums: [String: [String]]

  init(_ found: SwiftSteps) {
    notes = found.notes
    uses = found.uses
    enums = found.enums
    for parameter in found.parameters { define(parameter) }
    for definition in found.definitions { add(definition) }
  }

  private mutating func define(_ parameter: SwiftSteps.Parameter) {
    switch parameter.values {
    case .patterns(let patterns): define(parameter.name, patterns, at: parameter.place)
    case .type(let name):
      if let cases = enums[name], !cases.isEmpty {
        define(parameter.name, [Self.pattern(of: cases)], at: parameter.place)
      } else {
        notes.append(
          .init(place: parameter.place, message: "the enum \(name) was not found; {\(parameter.name)} matches \\w+"))
        define(parameter.name, [#"\w+"#], at: parameter.place)
      }
      typeNames[parameter.name] = name
    case .unknown:
      notes.append(
        .init(
          place: parameter.place,
          message: "the regular expression of {\(parameter.name)} is not a literal; it matches anything"))
      define(parameter.name, [".+"], at: parameter.place)
    }
  }

  private mutating func define(_ name: String, _ patterns: [String], at place: FilePlace?) {
    do {
      let pattern = patterns.count == 1 ? patterns[0] : patterns.map { "(?:\($0))" }.joined(separator: "|")
      // A type that matches anything would be in each suggestion.
      try registry.define(
        ParameterType(name, capturing: pattern, useForSnippets: pattern != ".+") { $0.first ?? nil })
    } catch {
      if let place { failures.append(Failure(place: place, message: error.message)) }
    }
  }

  private static func pattern(of cases: [String]) -> String {
    cases.sorted { $0.count > $1.count }.map(NSRegularExpression.escapedPattern).joined(separator: "|")
  }

  private mutating func add(_ definition: SwiftSteps.Definition) {
    do {
      switch definition.kind {
      case .expression:
        let expression = try expression(definition)
        definitions.append(
          Definition(
            declaration: definition, pattern: expression.regularExpression,
            parameters: expression.parameterTypes.map(\.name)
          ) { (try? expression.match($0)) != nil })
      case .exact:
        definitions.append(
          Definition(
            declaration: definition, pattern: "^\(NSRegularExpression.escapedPattern(for: definition.source))$",
            parameters: []
          ) { $0 == definition.source })
      case .regex:
        let expression = try RegularExpression(definition.source, registry)
        definitions.append(
          Definition(declaration: definition, pattern: "^(?:\(definition.source))$", parameters: []) {
            (try? expression.match($0)) != nil
          })
      case .pattern:
        let expression = try NSRegularExpression(pattern: definition.source, options: .caseInsensitive)
        definitions.append(
          Definition(declaration: definition, pattern: definition.source, parameters: []) {
            expression.firstMatch(in: $0, range: NSRange(location: 0, length: $0.utf16.count)) != nil
          })
      }
    } catch let error as ExpressionError {
      failures.append(Failure(place: definition.place, message: error.message))
    } catch {
      failures.append(
        Failure(place: definition.place, message: "'\(definition.source)' is not a valid regular expression"))
    }
  }

  /// Registers unknown parameter types as enums of that name, or as anything.
  private mutating func expression(_ definition: SwiftSteps.Definition) throws(ExpressionError) -> CucumberExpression {
    while true {
      do { return try CucumberExpression(definition.source, registry) } catch {
        guard let name = error.undefinedParameterType, registry[name] == nil else { throw error }
        let type = name.prefix(1).uppercased() + name.dropFirst()
        if let cases = enums[type], !cases.isEmpty {
          typeNames[name] = type
          define(name, [Self.pattern(of: cases)], at: nil)
        } else {
          notes.append(
            .init(
              place: definition.place, message: "the parameter type {\(name)} was not found; it matches anything"))
          define(name, [".+"], at: nil)
        }
        guard registry[name] != nil else { throw error }
      }
    }
  }

  /// The indices of the definitions that match a step.
  ///
  /// An exact text wins over the regular expressions of a `StepDefiner`.
  func matches(_ text: String) -> [Int] {
    var found = definitions.indices.filter { definitions[$0].matches(text) }
    // The steps about pages are known only roughly.
    let own = found.filter { definitions[$0].declaration.place.path != BuiltInSteps.place }
    if !own.isEmpty { found = own }
    let exact = found.filter { definitions[$0].declaration.kind == .exact }
    guard !exact.isEmpty, found.allSatisfy({ exact.contains($0) || definitions[$0].declaration.kind == .pattern })
    else { return found }
    return exact
  }

  /// The indices of the definitions that a step in Swift code may match.
  ///
  /// Placeholders and interpolations stand for samples of values.
  func possibleMatches(_ text: String) -> [Int] {
    guard Self.isTemplate(text) else { return matches(text) }
    let samples = ["1", "word", "\"text\"", "1.5", "true", #"{"name":"text"}"#] + enums.values.flatMap(\.self)
    return Set(
      samples.flatMap { sample in
        matches(
          text.replacing(String(SwiftTokens.interpolation), with: sample).replacing(/<[^<>]+>/, with: sample))
      }
    ).sorted()
  }

  /// Whether the text of a step is known only when it runs.
  static func isTemplate(_ text: String) -> Bool {
    text.contains(SwiftTokens.interpolation) || text.contains(/<[^<>]+>/)
  }

  /// The definitions most similar to a step, at most three, and none that has little in common.
  func nearest(to text: String) -> [Definition] {
    guard text.utf8.count <= 500 else { return [] }
    // Values in the text are compared as parameters, too.
    let expression = (try? CucumberExpressionGenerator(registry).expressions(for: text).first?.source) ?? text
    func distance(_ source: String) -> Int {
      min(EditDistance.between(text, source), EditDistance.between(expression, source))
    }
    return definitions.map { (distance($0.declaration.source), $0) }
      .filter { $0.0 <= max(2, text.count / 2) }.sorted { $0.0 < $1.0 }.prefix(3).map(\.1)
  }

  /// Code for a definition of a step.
  ///
  /// - Parameters:
  ///   - keyword: `Given`, `When`, `Then` or `Step`.
  ///   - text: the step's text.
  ///   - hasTable: whether a table follows.
  ///   - hasDocString: whether a doc string follows.
  /// - Returns: the code, in three lines.
  func snippet(_ keyword: String, _ text: String, hasTable: Bool, hasDocString: Bool) -> String {
    let suggestion = try? CucumberExpressionGenerator(registry).expressions(for: text).first
    var parameters: [String] = []
    for (name, type) in zip(suggestion?.parameterNames ?? [], suggestion?.parameterTypes ?? []) {
      let isBuiltIn = ParameterTypeRegistry()[type.name] != nil
      let custom = typeNames[type.name] ?? type.name.prefix(1).uppercased() + type.name.dropFirst()
      parameters.append("\(name): \(isBuiltIn ? "\(type.valueType)" : custom)")
    }
    if hasTable { parameters.append("rows: [[String: String]]") }
    if hasDocString { parameters.append("text: String") }
    let closure = parameters.isEmpty ? "" : " (\(parameters.joined(separator: ", "))) in"
    return """
      \(keyword)(\(Self.literal(suggestion?.source ?? text))) {\(closure)
        throw PendingStep()
      }
      """
  }

  private static func literal(_ text: String) -> String {
    guard text.contains("\\") || text.contains("\"") else { return "\"\(text)\"" }
    var fence = "#"
    while text.contains("\"\(fence)") || text.contains("\\\(fence)") { fence += "#" }
    return "\(fence)\"\(text)\"\(fence)"
  }
}
