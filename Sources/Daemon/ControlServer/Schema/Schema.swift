/// What a JSON value has to look like: as much of JSON Schema (2020-12) as the control API needs.
///
/// One value checks what clients send (``problem(with:at:)``) and stands in `/openapi.json` (``document``), so that
/// neither can say what the other does not do.
indirect enum Schema: Sendable {
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
  /// A schema of ``Schemas``, by its name.
  case reference(String)
  /// `null`, or what the other says.
  case nullable(Schema)
}

/// An object whose names the client chooses.
struct MapRule: Sendable {
  let names: TextRule
  let values: Schema
  let most: Int
}

/// An object whose members are known.
struct ObjectRule: Sendable {
  /// One member.
  struct Member: Sendable {
    let name: String
    let schema: Schema
    let isRequired: Bool
    /// What it is for, in one sentence.
    let note: String

    static func required(_ name: String, _ schema: Schema, _ note: String = "") -> Member {
      Member(name: name, schema: schema, isRequired: true, note: note)
    }

    static func optional(_ name: String, _ schema: Schema, _ note: String = "") -> Member {
      Member(name: name, schema: schema, isRequired: false, note: note)
    }
  }

  let members: [Member]
  /// Of these members exactly one is there; none for no such rule.
  var exactlyOne: [String] = []
  /// What the object is, in one sentence.
  var note = ""
}

extension Schema {
  static func record(_ members: [ObjectRule.Member]) -> Schema { .object(ObjectRule(members: members)) }

  static func record(
    _ note: String, exactlyOne: [String] = [], _ members: [ObjectRule.Member]
  ) -> Schema {
    .object(ObjectRule(members: members, exactlyOne: exactlyOne, note: note))
  }

  static func array(of schema: Schema, atMost most: Int) -> Schema { .array(of: schema, count: 0...most) }

  /// As many as there are, in an answer.
  static func list(of schema: Schema) -> Schema { .array(of: schema, count: 0...Int.max) }

  static func map(_ names: TextRule, to values: Schema, atMost most: Int = Int.max) -> Schema {
    .map(MapRule(names: names, values: values, most: most))
  }

  /// A whole number from 0 on, which every language holds exactly.
  static let count = Schema.integer(0...9_007_199_254_740_991)
  /// A text in an answer.
  static let words = Schema.text(TextRule(.any, count: 0...Int.max))
  /// RFC 3339.
  static let instant = Schema.text(TextRule(.instant, count: 1...64))

  /// One of a few words.
  static func word(_ words: String...) -> Schema { .text(TextRule(.word(words), count: 0...64)) }
  /// A text without line ends and other control characters.
  static func line(_ count: ClosedRange<Int>) -> Schema { .text(TextRule(.line, count: count)) }
  static func text(_ form: TextRule.Form, _ count: ClosedRange<Int>) -> Schema { .text(TextRule(form, count: count)) }
}
