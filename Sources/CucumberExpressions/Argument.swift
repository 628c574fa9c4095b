import Foundation

/// What a step's text has for one parameter.
///
/// ```swift
/// let expression = try CucumberExpression("{word} pays {float} euros", ParameterTypeRegistry())
/// for argument in try expression.match("Anna pays 12.50 euros") ?? [] {
///   print(argument.parameterType.name, argument.group.text ?? "")  // word Anna, float 12.50
/// }
/// ```
public struct Argument: Sendable {
  /// The text of a capture group.
  public struct Group: Sendable, Equatable {
    /// The text, or nil if the group took no part in the match.
    public let text: String?
    /// The place in the step's text, or nil if the group took no part in the match.
    public let range: Range<String.Index>?
    /// The capture groups in this one; non-capturing groups are left out, and what is in them belongs to this group.
    public let children: [Group]

    init(_ whole: String, _ range: NSRange, children: [Group]) {
      self.children = children
      guard range.location != NSNotFound else {
        (text, self.range) = (nil, nil)
        return
      }
      let start = whole.utf16.index(whole.startIndex, offsetBy: range.location)
      let end = whole.utf16.index(start, offsetBy: range.length)
      (text, self.range) = (String(whole[start..<end]), start..<end)
    }

    /// What a transformer gets: the texts of the groups in this one, or its own if there are none.
    var values: [String?] { children.isEmpty ? [text] : children.map(\.text) }
  }

  /// The group that the parameter matches.
  public let group: Group
  /// The type of the parameter.
  public let parameterType: AnyParameterType

  init(_ group: Group, _ parameterType: AnyParameterType) {
    self.group = group
    self.parameterType = parameterType
  }

  /// The value that the parameter type makes of the text; nil if an optional group took no part in the match.
  ///
  /// The value is made each time.
  ///
  /// - Throws: ``ExpressionError`` if the type cannot transform the text.
  public var value: Any? {
    get throws(ExpressionError) { try parameterType.value(of: group) }
  }

  /// The value as a certain type.
  ///
  /// If the parameter type makes values of another type, the text is converted: to numbers, `Bool`, `Decimal`, strings, a
  /// case of an enum by its raw value or name, or any `Decodable` value written as JSON. An optional type accepts a group
  /// that took no part in the match.
  ///
  /// ```swift
  /// enum Color: CaseIterable { case red, green }
  /// let expression = try CucumberExpression("the {word} light is on for {int} s", ParameterTypeRegistry())
  /// if let arguments = try expression.match("the red light is on for 20 s") {
  ///   let color = try arguments[0].decoded(as: Color.self)
  ///   let seconds = try arguments[1].decoded(as: Double.self)
  /// }
  /// ```
  ///
  /// - Parameter type: the type of the result.
  /// - Returns: the value.
  /// - Throws: ``ExpressionError`` if the text cannot be converted, with what was expected.
  public func decoded<Value>(as type: Value.Type = Value.self) throws(ExpressionError) -> Value {
    let value = try value
    if let value = value as? Value { return value }
    guard value != nil, let text = value as? String ?? group.text else {
      throw ExpressionError(
        "the optional group of '\(parameterType)' has no value; decode it as \(Value.self)? instead")
    }
    return try text.converted(to: type)
  }
}
