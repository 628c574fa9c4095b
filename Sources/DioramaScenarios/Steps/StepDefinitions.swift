public import DioramaTesting

/// The steps that scenarios can use, with the state that they share.
///
/// ```swift
/// final class Booking: StepDefinitions {
///   var patient = ""
///   @StepsBuilder var steps: [Step] {
///     Given("a patient named {string}") { self.patient = $0 }
///     When("she books {int} slot(s)") { (count: Int) in … }
///     Then(/slot (?<number>\d+) is taken/) { match in #expect(match.number == "7") }
///   }
/// }
///
/// // The one name that generated tests use.
/// struct Features: StepDefinitions {
///   var steps: [Step] {
///     Booking()
///     Clinic()
///   }
/// }
/// ```
///
/// Each scenario gets a fresh object, so its state never reaches another scenario.
public protocol StepDefinitions {
  /// Step definitions, hooks, parameter types, and other objects with steps.
  @StepsBuilder var steps: [Step] { get }

  /// The environment of each scenario. Tags of the feature file override it.
  ///
  /// Only that of the outermost object, usually `Features`, is used. With nil, the default, only scenarios with tags that
  /// provision something have an environment.
  var configuration: TestEnvironment.Configuration? { get }
}

extension StepDefinitions {
  /// nil: an environment only for scenarios whose tags ask for one.
  public var configuration: TestEnvironment.Configuration? { nil }
}

/// Builds the list of a ``StepDefinitions`` object.
@resultBuilder public enum StepsBuilder {
  /// A step definition that was made before.
  public static func buildExpression(_ step: Step) -> [Step] { [step] }
  /// Step definitions that were made before.
  public static func buildExpression(_ steps: [Step]) -> [Step] { steps }
  /// A step definition, a hook, a parameter type, or all that another object defines.
  public static func buildExpression(_ definitions: some StepDefinitions) -> [Step] { definitions.steps }
  /// The statements of a block.
  public static func buildBlock(_ steps: [Step]...) -> [Step] { steps.flatMap { $0 } }
  /// An `if` without `else`.
  public static func buildOptional(_ steps: [Step]?) -> [Step] { steps ?? [] }
  /// The first branch of an `if`.
  public static func buildEither(first steps: [Step]) -> [Step] { steps }
  /// The second branch of an `if`.
  public static func buildEither(second steps: [Step]) -> [Step] { steps }
  /// A loop.
  public static func buildArray(_ steps: [[Step]]) -> [Step] { steps.flatMap { $0 } }
}

/// A step definition, a hook, or a parameter type; what ``StepDefinitions/steps`` lists.
///
/// As a name for a step definition, `Step` means the same as ``Given``, ``When`` and ``Then``, for steps that are used
/// with different keywords: `Step("the app is running") { … }`.
public struct Step: StepDefinition {
  enum Kind {
    case definition(Definition)
    case hook(Hook)
    case parameterType(ParameterTypeDefinition)
  }

  let kind: Kind

  init(kind: Kind) { self.kind = kind }

  /// The step itself.
  public init(_ step: Step) { self = step }

  /// The step alone.
  public var steps: [Step] { [self] }
}

/// A step definition with a keyword: ``Given``, ``When``, ``Then``, ``And``, ``But``, or ``Step`` for any.
///
/// The keyword is for the reader only: a step in a feature file matches definitions with all keywords.
///
/// The first parameter is a Cucumber Expression, such as `"she books {int} slot(s)"`. Instead, `exactly:` takes a text without
/// any special characters, and a Swift regular expression must match the whole text.
///
/// The closure takes the values of the parameters, then the table or doc string of the step. Values are converted to the
/// closure's types: numbers, `Bool`, `Decimal`, strings, enums, any `Decodable` written as JSON. A table becomes an array of
/// `Decodable` values, by the names in its first row; a doc string becomes a `String`, a ``DocString``, or a `Decodable` value
/// written as JSON.
public protocol StepDefinition: StepDefinitions {
  /// Creates it from the same definition with another keyword.
  init(_ step: Step)
}

/// Defines a step that describes a situation; see ``StepDefinition``.
public struct Given: StepDefinition {
  /// The step alone.
  public let steps: [Step]
  /// Creates it from the same definition with another keyword.
  public init(_ step: Step) { steps = [step] }
}

/// Defines a step that does something; see ``StepDefinition``.
public struct When: StepDefinition {
  /// The step alone.
  public let steps: [Step]
  /// Creates it from the same definition with another keyword.
  public init(_ step: Step) { steps = [step] }
}

/// Defines a step that checks something; see ``StepDefinition``.
public struct Then: StepDefinition {
  /// The step alone.
  public let steps: [Step]
  /// Creates it from the same definition with another keyword.
  public init(_ step: Step) { steps = [step] }
}

/// Defines a step; see ``StepDefinition``.
public struct And: StepDefinition {
  /// The step alone.
  public let steps: [Step]
  /// Creates it from the same definition with another keyword.
  public init(_ step: Step) { steps = [step] }
}

/// Defines a step; see ``StepDefinition``.
public struct But: StepDefinition {
  /// The step alone.
  public let steps: [Step]
  /// Creates it from the same definition with another keyword.
  public init(_ step: Step) { steps = [step] }
}
