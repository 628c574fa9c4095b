/// What a JSON value has to look like: as much of JSON Schema (2020-12) as the control API needs.
///
/// One value checks what clients send (``problem(with:at:)``) and stands in `/openapi.json` (``document``), so that
/// neither can say what the other does not do.
package indirect enum Schema: Sendable {
  /// Any value at all, `null` too.
  case anything
  /// `true` or `false`.
  case boolean
  /// A whole number.
  case integer(ClosedRange<Int>)
  /// Any number.
  case number(ClosedRange<Double>)
  /// A text.
  case text(TextRule)
  /// Elements that all look the same.
  case array(of: Schema, count: ClosedRange<Int>)
  /// Members whose names the client chooses.
  case map(MapRule)
  /// Members whose names are fixed; others are refused.
  case object(ObjectRule)
  /// A schema that has a name of its own in the OpenAPI document.
  case named(String, @Sendable () -> Schema)
  /// A string, or an object that says more.
  case shorthand(TextRule, ObjectRule)
  /// `null`, or what the other says.
  case nullable(Schema)
}

/// An object whose names the client chooses.
package struct MapRule: Sendable {
  package let names: TextRule
  package let values: Schema
  package let most: Int
}

/// An object whose members are known.
package struct ObjectRule: Sendable {
  /// One member.
  package struct Member: Sendable {
    package let name: String
    package var schema: Schema
    package let isRequired: Bool
    /// What it is for, in one sentence.
    package let note: String
    /// By which option a command line says it; nil where there is none.
    package var option: CommandOption?
    /// Where it can be given.
    package var scope = Scope.everywhere

    package static func required(_ name: String, _ schema: Schema, _ note: String = "") -> Member {
      Member(name: name, schema: schema, isRequired: true, note: note)
    }

    package static func optional(
      _ name: String, _ schema: Schema, _ note: String = "", _ option: CommandOption? = nil,
      scope: Scope = .everywhere
    ) -> Member {
      Member(name: name, schema: schema, isRequired: false, note: note, option: option, scope: scope)
    }
  }

  /// Where a member can be given.
  package enum Scope: Sendable {
    case everywhere
    /// Where the caller's own files and variables are at hand: in a project file and on a command line.
    case caller
    /// Over the control API alone.
    case api
  }

  package var members: [Member]
  /// Of these members exactly one is there; none for no such rule.
  package var exactlyOne: [String] = []
  /// What the object is, in one sentence.
  package var note = ""
}

extension Schema {
  package static func record(_ members: [ObjectRule.Member]) -> Schema { .object(ObjectRule(members: members)) }

  package static func record(
    _ note: String, exactlyOne: [String] = [], _ members: [ObjectRule.Member]
  ) -> Schema {
    .object(ObjectRule(members: members, exactlyOne: exactlyOne, note: note))
  }

  package static func array(of schema: Schema, atMost most: Int) -> Schema { .array(of: schema, count: 0...most) }

  /// As many as there are, in an answer.
  package static func list(of schema: Schema) -> Schema { .array(of: schema, count: 0...Int.max) }

  package static func map(_ names: TextRule, to values: Schema, atMost most: Int = Int.max) -> Schema {
    .map(MapRule(names: names, values: values, most: most))
  }

  /// A whole number from 0 on, which every language holds exactly.
  package static let count = Schema.integer(0...9_007_199_254_740_991)
  /// A text in an answer.
  package static let words = Schema.text(TextRule(.any, count: 0...Int.max))
  /// RFC 3339.
  package static let instant = Schema.text(TextRule(.instant, count: 1...64))

  /// One of a few words.
  package static func word(_ words: String...) -> Schema { .text(TextRule(.word(words), count: 0...64)) }
  /// A text without line ends and other control characters.
  package static func line(_ count: ClosedRange<Int>) -> Schema { .text(TextRule(.line, count: count)) }
  package static func text(_ form: TextRule.Form, _ count: ClosedRange<Int>) -> Schema {
    .text(TextRule(form, count: count))
  }

  /// The schema as the control API has it, or as a project file does: without members of the other.
  package func accepting(_ scope: ObjectRule.Scope) -> Schema {
    func accepting(_ rule: ObjectRule) -> ObjectRule {
      var rule = rule
      rule.members = rule.members.filter { $0.scope == .everywhere || $0.scope == scope }
      for index in rule.members.indices { rule.members[index].schema = rule.members[index].schema.accepting(scope) }
      rule.exactlyOne = rule.exactlyOne.filter { name in rule.members.contains { $0.name == name } }
      return rule
    }
    switch self {
    case .object(let rule): return .object(accepting(rule))
    case .shorthand(let text, let rule): return .shorthand(text, accepting(rule))
    case .array(let element, let count): return .array(of: element.accepting(scope), count: count)
    case .map(let rule): return .map(MapRule(names: rule.names, values: rule.values.accepting(scope), most: rule.most))
    // The daemon does not know its caller's folder.
    case .text(let rule) where rule.form == .path && scope == .api: return .text(.absolutePath, rule.count)
    default: return self
    }
  }
}
