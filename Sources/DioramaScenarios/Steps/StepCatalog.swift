import Basics
import CucumberExpressions
import Gherkin
import Testing

/// The steps of a scenario's definitions, ready to match.
struct StepCatalog {
  /// An error in a definition.
  struct Problem {
    let place: SourceLocation
    let message: String
  }

  /// What a step matches.
  enum Match {
    case one(StepMatch)
    case none
    case several([StepMatch])
  }

  private enum Matcher {
    /// With the text that all matches begin with, to save most of the work.
    case expression(any StepExpression, prefix: String)
    case regex(RegexMatcher)

    /// The whole words before everything special in a Cucumber Expression.
    static func prefix(of source: String) -> String {
      let plain = source.prefix { !"{(/\\".contains($0) }
      return plain.lastIndex(of: " ").map { String(plain[...$0]) } ?? ""
    }
  }

  let definitions: [Definition]
  let hooks: [Hook]
  private(set) var parameterTypes = ParameterTypeRegistry()
  /// The places of the declared parameter types, in their order.
  private(set) var parameterTypePlaces: [String: SourceLocation] = [:]
  private(set) var problems: [Problem] = []
  /// Parameter types that expressions use, but that are not declared.
  private(set) var undefinedParameterTypes: [(expression: String, name: String)] = []
  private var matchers: [(definition: Definition, matcher: Matcher)] = []
  private var tagExpressions: [String: TagExpression] = [:]

  init(_ steps: [Step]) {
    definitions = steps.compactMap { if case .definition(let definition) = $0.kind { definition } else { nil } }
    hooks = steps.compactMap { if case .hook(let hook) = $0.kind { hook } else { nil } }
    for case .parameterType(let type) in steps.map(\.kind) {
      do {
        try type.define(&parameterTypes)
        parameterTypePlaces[type.name] = type.place
      } catch { problems.append(Problem(place: type.place, message: "\(error)")) }
    }
    for definition in definitions {
      switch definition.pattern {
      case .matcher(let expression): matchers.append((definition, .expression(expression, prefix: "")))
      case .regex(let matcher): matchers.append((definition, .regex(matcher)))
      case .expression(let source):
        do {
          let implied = Self.impliedTypes(of: definition, among: parameterTypes)
          let expression = try compiled(source, implied: implied)
          matchers.append((definition, .expression(expression, prefix: Matcher.prefix(of: source))))
        } catch {
          problems.append(Problem(place: definition.place, message: "\(error)"))
          if let name = (error as? ExpressionError)?.undefinedParameterType {
            undefinedParameterTypes.append((source, name))
          }
        }
      }
    }
    for hook in hooks {
      guard let tags = hook.tags, tagExpressions[tags] == nil else { continue }
      do { tagExpressions[tags] = try TagExpression(tags) } catch {
        problems.append(Problem(place: hook.place, message: "the hook's tags: \(error)"))
      }
    }
  }

  /// The definitions without those that have errors.
  var validDefinitions: [Definition] { matchers.map(\.definition) }

  /// The hooks of a moment for a scenario with these tags, in the order to run them.
  func hooks(_ moment: Hook.Moment, for tags: [String]) -> [Hook] {
    let all = hooks.filter { hook in
      hook.moment == moment && (hook.tags.map { tagExpressions[$0]?.evaluate(tags: tags) ?? false } ?? true)
    }
    return [.afterScenario, .afterStep, .afterRun].contains(moment) ? all.reversed() : all
  }

  /// The definitions that match a step.
  ///
  /// - Throws: an error of an expression, such as one that takes too long.
  func match(_ text: String) throws -> Match {
    var matches: [StepMatch] = []
    for (definition, matcher) in matchers {
      switch matcher {
      case .expression(let expression, let prefix):
        guard text.hasPrefix(prefix) else { continue }
        do {
          guard let arguments = try expression.match(text) else { continue }
          matches.append(StepMatch(definition: definition, arguments: arguments))
        } catch { throw ScenarioError("\(definition.file): \(error)") }
      case .regex(let regex):
        guard let ranges = try regex.match(text) else { continue }
        matches.append(StepMatch(definition: definition, arguments: [], groups: ranges))
      }
    }
    // A regular expression of a StepDefiner matches parts of texts, so an exact text comes before it.
    if matches.count > 1 {
      let others = matches.filter { !$0.definition.isSearched }
      if others.count == 1, case .matcher(is ExactText) = others[0].definition.pattern { return .one(others[0]) }
    }
    return switch matches.count {
    case 0: .none
    case 1: .one(matches[0])
    default: .several(matches)
    }
  }

  // MARK: Expressions

  private struct CacheKey: Hashable {
    let source: String
    let implied: [String: String]
  }

  /// Expressions by their sources and implied parameter types: each scenario has the same ones.
  private static let cache = Guarded<[CacheKey: CucumberExpression]>([:])

  private func compiled(_ source: String, implied: [String: String]) throws -> CucumberExpression {
    // A declared type has a transformer, which may be another one in the next scenario.
    let isShared = parameterTypePlaces.keys.allSatisfy { !source.contains("{\($0)}") }
    let key = CacheKey(source: source, implied: implied)
    if isShared, let expression = Self.cache.withLock({ $0[key] }) { return expression }
    var registry = parameterTypes
    for (name, pattern) in implied { try registry.define(CucumberExpressions.ParameterType(name, pattern) { $0 }) }
    let expression = try CucumberExpression(source, registry)
    if isShared { Self.cache.withLock { $0[key] = expression } }
    return expression
  }

  /// Parameter types that a definition's closure implies: `{vehicle}` for a `Vehicle`.
  ///
  /// - Returns: their regular expressions by name.
  private static func impliedTypes(
    of definition: Definition, among registry: ParameterTypeRegistry
  ) -> [String: String] {
    var implied: [String: String] = [:]
    for type in definition.types {
      let name = parameterName(of: type)
      guard registry[name] == nil, definition.pattern.source.contains("{\(name)}") else { continue }
      if let cases = type as? any CaseIterable.Type {
        // The longest first, so that 'dark red' is not 'dark'.
        implied[name] = cases.texts.sorted { $0.count > $1.count }.map(\.escapedForRegularExpression)
          .joined(separator: "|")
      } else if type is any Decodable.Type {
        implied[name] = ".+"
      }
    }
    return implied
  }

  /// `Vehicle`, and `Vehicle?`, are `vehicle` in expressions.
  private static func parameterName(of type: Any.Type) -> String {
    var name = "\(type)"
    if name.hasPrefix("Optional<") { name = String(name.dropFirst(9).dropLast()) }
    return name.prefix(1).lowercased() + name.dropFirst()
  }

  // MARK: Advice

  /// The definitions whose expressions are most similar to a text, the nearest first.
  func nearest(to text: String, count: Int = 3) -> [Definition] {
    // Texts that have little in common are no help.
    let limit = max(3, text.count / 2)
    // It is slow, and the same steps are undefined in many scenarios.
    let key = NearestKey(text: text, sources: definitions.map(\.pattern.source), count: count)
    let indices =
      Self.nearest.withLock { $0[key] }
      ?? {
        let indices = nearestIndices(to: text, limit: limit).prefix(count)
        Self.nearest.withLock { $0[key] = Array(indices) }
        return Array(indices)
      }()
    return indices.map { definitions[$0] }
  }

  private struct NearestKey: Hashable {
    let text: String
    let sources: [String]
    let count: Int
  }

  private static let nearest = Guarded<[NearestKey: [Int]]>([:])

  private func nearestIndices(to text: String, limit: Int) -> [Int] {
    let length = text.count
    return definitions.indices.compactMap { index -> (index: Int, distance: Int)? in
      let source = definitions[index].pattern.source
      guard abs(source.count - length) <= limit else { return nil }
      let distance = EditDistance.between(source, text)
      return distance <= limit ? (index, distance) : nil
    }.sorted { ($0.distance, $0.index) < ($1.distance, $1.index) }.map(\.index)
  }

  /// A step definition to paste.
  func snippet(for step: PackedScenario.Step) -> Snippet {
    let suggestion = try? CucumberExpressionGenerator(parameterTypes).expressions(for: step.text).first
    let expression = suggestion?.source ?? step.text
    var parameters: [String] = []
    for (name, type) in zip(suggestion?.parameterNames ?? [], suggestion?.parameterTypes ?? []) {
      parameters.append("\(name): \(type.valueType)")
    }
    if step.table != nil { parameters.append("table: DataTable") }
    if step.docString != nil { parameters.append("text: String") }
    let keyword =
      switch step.type {
      case .context: "Given"
      case .action: "When"
      case .outcome: "Then"
      case .unknown: "Step"
      }
    let opening = parameters.isEmpty ? "" : " (\(parameters.joined(separator: ", "))) in"
    let literal = Self.literal(expression)
    return Snippet(
      code: "\(keyword)(\(literal)) {\(opening)\n  throw PendingStep()\n}", expression: expression)
  }
}

extension StepCatalog {
  /// A text as a literal of Swift.
  private static func literal(_ text: String) -> String {
    guard text.contains("\"") || text.contains("\\") else { return "\"\(text)\"" }
    var marks = "#"
    while text.contains("\"\(marks)") || text.contains("\\\(marks)") { marks += "#" }
    return "\(marks)\"\(text)\"\(marks)"
  }
}

/// A step definition to paste.
struct Snippet: Hashable {
  let code: String
  let expression: String
}
