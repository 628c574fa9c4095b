/// The types that parameters of expressions can have.
///
/// Built in are:
///
/// | parameter | matches | value |
/// |---|---|---|
/// | `{int}` | `71`, `-19` | `Int` |
/// | `{float}`, `{double}` | `3.6`, `.8`, `-9.2`, `1.5E+3` | `Double` |
/// | `{word}` | a word without white space | `String` |
/// | `{string}` | `"a text"` or `'a text'` | `String`, without the quotation marks |
/// | `{}` | anything | `String` |
/// | `{byte}`, `{short}`, `{long}` | `71`, `-19` | `Int8`, `Int16`, `Int64` |
/// | `{biginteger}`, `{bigdecimal}` | integers and numbers of any length | `String` |
///
/// ```swift
/// var registry = ParameterTypeRegistry()
/// try registry.define(ParameterType("color", "red|blue|yellow") { $0.uppercased() })
/// ```
public struct ParameterTypeRegistry: Sendable {
  /// All types, in the order of their definition.
  public private(set) var parameterTypes: [AnyParameterType]

  /// Makes a registry of the built-in types.
  public init() { parameterTypes = Self.builtIn }

  /// Adds a type.
  ///
  /// - Parameter type: the type.
  /// - Throws: ``ExpressionError`` if its name is defined, or if another preferential type has the same regular
  ///   expression.
  public mutating func define<Value>(_ type: ParameterType<Value>) throws(ExpressionError) {
    let type = type.erased
    guard self[type.name] == nil else {
      throw ExpressionError(
        type.name.isEmpty
          ? "The anonymous parameter type has already been defined"
          : "There is already a parameter type with name \(type.name)")
    }
    for regexp in type.regexps where type.preferForRegexpMatch {
      guard let other = parameterTypes.first(where: { $0.preferForRegexpMatch && $0.regexps.contains(regexp) }) else {
        continue
      }
      throw ExpressionError(
        """
        There can only be one preferential parameter type per regexp.
        The regexp /\(regexp)/ is used for two preferential parameter types, \(other) and \(type)
        """)
    }
    parameterTypes.append(type)
  }

  /// The type with this name, if there is one.
  public subscript(name: String) -> AnyParameterType? { parameterTypes.first { $0.name == name } }

  /// The type for a group of a regular expression.
  ///
  /// - Throws: ``ExpressionError`` if several types match and none is preferential.
  func type(regexp: String, in expression: String, text: String) throws(ExpressionError) -> AnyParameterType? {
    let types = parameterTypes.filter { $0.regexps.contains(regexp) }.sorted(by: AnyParameterType.isBefore)
    guard types.count > 1, types[0].preferForRegexpMatch == false else { return types.first }
    let generated = try CucumberExpressionGenerator(self).expressions(for: text)
    throw ExpressionError(
      """
      Your Regular Expression /\(expression)/
      matches multiple parameter types with regexp /\(regexp)/:
         \(types.map(\.description).joined(separator: "\n   "))

      I couldn't decide which one to use. You have two options:

      1) Use a Cucumber Expression instead of a Regular Expression. Try one of these:
         \(generated.map(\.source).joined(separator: "\n   "))

      2) Make one of the parameter types preferential and continue to use a Regular Expression.
      """)
  }

  private static let builtIn: [AnyParameterType] = {
    let integer = [#"-?\d+"#, #"\d+"#]
    let number = [#"[-+]?(?:\d+(?:\.\d+)?|\.\d+)(?:[E][+-]?\d+)?"#]
    do {
      return [
        try type("int", integer, Int.self, useForSnippets: true, isPreferential: true),
        try type("float", number, Double.self, useForSnippets: true, isPreferential: true),
        try type("word", [#"[^\s]+"#], String.self),
        try ParameterType("string", capturing: #""([^"\\]*(\\.[^"\\]*)*)""#, #"'([^'\\]*(\\.[^'\\]*)*)'"#) { values in
          (values[0] ?? values[1] ?? "").replacing(#"\""#, with: #"""#).replacing(#"\'"#, with: "'")
        }.erased,
        try type("", [".*"], String.self, isPreferential: true),
        try type("double", number, Double.self),
        // Swift has no numbers of any length.
        try type("bigdecimal", number, String.self),
        try type("biginteger", integer, String.self),
        try type("byte", integer, Int8.self),
        try type("short", integer, Int16.self),
        try type("long", integer, Int64.self),
      ]
    } catch { preconditionFailure("a built-in parameter type is not valid: \(error)") }
  }()

  private static func type<Value>(
    _ name: String, _ regexps: [String], _ value: Value.Type, useForSnippets: Bool = false, isPreferential: Bool = false
  ) throws(ExpressionError) -> AnyParameterType {
    try ParameterType(
      name, regexps, useForSnippets: useForSnippets, preferForRegexpMatch: isPreferential
    ) { try $0.converted(to: value) }.erased
  }
}
