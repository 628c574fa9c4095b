/// A type that parameters of expressions can have.
///
/// ```swift
/// struct Color { let name: String }
///
/// var registry = ParameterTypeRegistry()
/// try registry.define(ParameterType("color", "red|blue|yellow") { Color(name: $0) })
/// let expression = try CucumberExpression("I have a {color} ball", registry)
/// let color = try expression.match("I have a red ball")?[0].decoded(as: Color.self)
/// ```
///
/// A regular expression can have capture groups, such as the parts of a point:
///
/// ```swift
/// let point = try ParameterType("point", capturing: #"(\d+),\s*(\d+)"#) { $0.map { Int($0 ?? "") } }
/// ```
public struct ParameterType<Value>: Sendable {
  let erased: AnyParameterType

  /// Defines a type by the text that it matches, or by that of its only capture group.
  ///
  /// - Parameters:
  ///   - name: the name in expressions, without braces.
  ///   - regexps: the regular expressions; a parameter matches any of them.
  ///   - useForSnippets: whether ``CucumberExpressionGenerator`` suggests it.
  ///   - preferForRegexpMatch: whether a group of a ``RegularExpression`` has this type if others have the same source.
  ///   - transform: makes the value; called when ``Argument/value`` is read.
  /// - Throws: ``ExpressionError`` for a name or a regular expression that is not valid.
  public init(
    _ name: String, _ regexps: String..., useForSnippets: Bool = true, preferForRegexpMatch: Bool = false,
    transform: @escaping @Sendable (String) throws -> Value
  ) throws(ExpressionError) {
    try self.init(
      name, regexps, useForSnippets: useForSnippets, preferForRegexpMatch: preferForRegexpMatch, transform: transform)
  }

  package init(
    _ name: String, _ regexps: [String], useForSnippets: Bool = true, preferForRegexpMatch: Bool = false,
    transform: @escaping @Sendable (String) throws -> Value
  ) throws(ExpressionError) {
    erased = try AnyParameterType(name, regexps, Value.self, useForSnippets, preferForRegexpMatch) { values in
      try values[0].map(transform)
    }
    guard erased.patterns.reduce(0, { $0 + $1.groups.count }) <= 1 else {
      throw ExpressionError(
        "ParameterType \(erased) has multiple capture groups [\(regexps.joined(separator: ", "))].\n"
          + "Write 'capturing:' before the regular expression to get all of them, or make them non-capturing: (?:…)")
    }
  }

  /// Defines a type by the texts of its outermost capture groups.
  ///
  /// - Parameters:
  ///   - name: the name in expressions, without braces.
  ///   - regexps: the regular expressions; a parameter matches any of them.
  ///   - useForSnippets: whether ``CucumberExpressionGenerator`` suggests it.
  ///   - preferForRegexpMatch: whether a group of a ``RegularExpression`` has this type if others have the same source.
  ///   - transform: makes the value of the texts, one for each group of all regular expressions; nil for groups that took
  ///     no part in the match. Called when ``Argument/value`` is read.
  /// - Throws: ``ExpressionError`` for a name or a regular expression that is not valid.
  public init(
    _ name: String, capturing regexps: String..., useForSnippets: Bool = true, preferForRegexpMatch: Bool = false,
    transform: @escaping @Sendable ([String?]) throws -> Value
  ) throws(ExpressionError) {
    try self.init(
      name, capturing: regexps, useForSnippets: useForSnippets, preferForRegexpMatch: preferForRegexpMatch,
      transform: transform)
  }

  package init(
    _ name: String, capturing regexps: [String], useForSnippets: Bool = true, preferForRegexpMatch: Bool = false,
    transform: @escaping @Sendable ([String?]) throws -> Value
  ) throws(ExpressionError) {
    erased = try AnyParameterType(name, regexps, Value.self, useForSnippets, preferForRegexpMatch, transform)
  }

  /// Defines a type of an enum's cases, written as their raw values if these are strings, and by their names otherwise.
  ///
  /// ```swift
  /// enum Color: CaseIterable { case red, green }
  /// var registry = ParameterTypeRegistry()
  /// try registry.define(ParameterType("color", Color.self))
  /// ```
  ///
  /// - Parameters:
  ///   - name: the name in expressions, without braces.
  ///   - cases: the enum.
  /// - Throws: ``ExpressionError`` for a name that is not valid.
  public init(_ name: String, _ cases: Value.Type) throws(ExpressionError)
  where Value: CaseIterable & SendableMetatype {
    // The longest first, so that a snippet has the type for the whole of 'dark red'.
    let texts = cases.texts.sorted { $0.count > $1.count }
    try self.init(
      name, [texts.map(\.escapedForRegularExpression).joined(separator: "|")], useForSnippets: true,
      preferForRegexpMatch: false
    ) { try $0.converted(to: Value.self) }
  }
}

/// A ``ParameterType`` of any value.
public struct AnyParameterType: Sendable, CustomStringConvertible {
  /// The name in expressions; empty for `{}`.
  public let name: String
  /// The regular expressions; a parameter matches any of them.
  public let regexps: [String]
  /// The type of the values.
  public let valueType: Any.Type
  /// Whether ``CucumberExpressionGenerator`` suggests it.
  public let useForSnippets: Bool
  /// Whether a group of a ``RegularExpression`` has this type if others have the same source.
  public let preferForRegexpMatch: Bool
  let patterns: [GroupPattern]
  private let transform: @Sendable ([String?]) throws -> Any?

  /// The name in braces.
  public var description: String { "{\(name)}" }

  init(
    _ name: String, _ regexps: [String], _ valueType: Any.Type, _ useForSnippets: Bool, _ preferForRegexpMatch: Bool,
    _ transform: @escaping @Sendable ([String?]) throws -> Any?
  ) throws(ExpressionError) {
    guard !name.contains(where: #"{}()\/"#.contains) else {
      throw ExpressionError(
        "Illegal character in parameter name {\(name)}. "
          + #"Parameter names may not contain '{', '}', '(', ')', '\' or '/'"#)
    }
    var patterns: [GroupPattern] = []
    for regexp in regexps { patterns.append(try GroupPattern(regexp)) }
    self.init(name, regexps, patterns, valueType, useForSnippets, preferForRegexpMatch, transform)
  }

  private init(
    _ name: String, _ regexps: [String], _ patterns: [GroupPattern], _ valueType: Any.Type, _ useForSnippets: Bool,
    _ preferForRegexpMatch: Bool, _ transform: @escaping @Sendable ([String?]) throws -> Any?
  ) {
    self.name = name
    self.regexps = regexps
    self.patterns = patterns
    self.valueType = valueType
    self.useForSnippets = useForSnippets
    self.preferForRegexpMatch = preferForRegexpMatch
    self.transform = transform
  }

  /// The type of a group of a ``RegularExpression`` that has no other.
  static func anonymous(_ regexp: String) -> Self { Self("", [regexp], [], String.self, false, true) { $0[0] } }

  func value(of group: Argument.Group) throws(ExpressionError) -> Any? {
    guard group.text != nil else { return nil }
    let values = group.values
    guard !name.isEmpty || values.count == 1 else {
      throw ExpressionError(
        """
        Anonymous ParameterType has multiple capture groups [\(regexps.joined(separator: ", "))].
        You can only use a single capture group in an anonymous ParameterType.
        """)
    }
    do { return try transform(values) } catch {
      let list = values.map { $0 ?? "nil" }.joined(separator: ", ")
      throw ExpressionError("ParameterType \(self) failed to transform [\(list)] to \(valueType): \(error)")
    }
  }

  /// Preferential types come first, then names in order.
  static func isBefore(_ left: Self, _ right: Self) -> Bool {
    left.preferForRegexpMatch == right.preferForRegexpMatch ? left.name < right.name : left.preferForRegexpMatch
  }
}
