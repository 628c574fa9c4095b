import CucumberExpressions

/// Expressions of steps and tags, and suggestions for steps.
enum Expressions {
  /// Suggestions for longer texts take too long: each parameter is searched for in the whole rest of the text.
  private static let limit = 4_096
  private static let registry = ParameterTypeRegistry()

  /// - Parameter bytes: a line with the expression, then the text of a step.
  /// - Throws: an error for an expression that is not valid.
  static func read(_ bytes: [UInt8]) throws {
    let (line, rest) = Messages.line(bytes[...])
    let expression = String(decoding: line, as: UTF8.self)
    let text = String(decoding: rest, as: UTF8.self)
    if rest.count <= limit { suggest(text) }
    tags(expression)
    if let expression = try? RegularExpression(expression, registry) { match(text, expression) }
    match(text, try CucumberExpression(expression, registry))
  }

  private static func match(_ text: String, _ expression: some StepExpression) {
    guard let arguments = try? expression.match(text) else { return }
    for argument in arguments {
      precondition(argument.group.range.map { String(text[$0]) } == argument.group.text, "a group has another text")
      _ = try? argument.value
      _ = try? argument.decoded(as: [Int?].self)
    }
  }

  private static func suggest(_ text: String) {
    for suggestion in (try? CucumberExpressionGenerator(registry).expressions(for: text)) ?? [] {
      do {
        let arguments = try CucumberExpression(suggestion.source, registry).match(text)
        precondition(arguments?.count == suggestion.parameterTypes.count, "a suggestion does not match its step")
      } catch {
        precondition(error.message.contains("takes too long"), "a suggestion is not valid: \(error)")
      }
    }
  }

  private static func tags(_ text: String) {
    guard let expression = try? TagExpression(text) else { return }
    _ = expression.evaluate(tags: ["@a", "@b"])
    do {
      let again = try TagExpression("\(expression)")
      precondition(again == expression, "a tag expression changed when it was written")
    } catch {
      preconditionFailure("a tag expression that we have written cannot be read: \(error)")
    }
  }
}
