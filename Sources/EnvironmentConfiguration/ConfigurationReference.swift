package import LaunchContract

/// What is made from the table of settings for people and their editors: the JSON Schema and the reference page.
package enum ConfigurationReference {
  /// The JSON Schema (2020-12) of the settings as a file has them.
  package static var jsonSchema: ContractValue {
    guard
      case .object(var members) = Schema.record(EnvironmentConfiguration.members).accepting(.caller).expanded.document
    else { return .null }
    members["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    members["title"] = "Settings of a Diorama environment"
    return .object(members)
  }

  /// The reference page, as Markdown.
  package static var page: String {
    """
    # Configuration reference

    All settings of an environment, with their limits and defaults.

    A setting has one name in the control API (`POST /v1/environments`) and in files. The command has an option for it, and
    `TestEnvironment.Configuration` a parameter. A value that cannot be used is refused with the same message everywhere.

    | setting | value | option | Swift | |
    |---|---|---|---|---|
    \(rows)

    """
  }

  private static var rows: String {
    EnvironmentConfiguration.fields.filter { $0.member.scope != .api && !$0.path.contains("[]") }.map { field in
      let option = field.member.option.map { "`\($0.name)\($0.metavariable.map { " \($0)" } ?? "")`" } ?? ""
      let swift = field.swiftName.map { "`\($0)`" } ?? ""
      let note = field.member.note.replacing("|", with: "\\|").replacing("*", with: "\\*")
      return
        "| `\(field.path)` | \(field.member.schema.summary) | \(option.replacing("|", with: "\\|")) | \(swift) | \(note) |"
    }.joined(separator: "\n")
  }
}

extension ConfigurationField {
  /// The parameter of the Swift API; nil for a member of an object that has a type of its own there.
  package var swiftName: String? {
    let ofMatching = "matching."
    if path.hasPrefix(ofMatching) {
      let name = String(path.dropFirst(ofMatching.count))
      return name.contains(".") || name.contains("[") ? nil : name
    }
    // The test gives its own name.
    if path.contains(".") || ["name", "matching"].contains(path) { return nil }
    return path
  }
}

extension Schema {
  /// The same without references to named schemas.
  fileprivate var expanded: Schema {
    func expanded(_ rule: ObjectRule) -> ObjectRule {
      var rule = rule
      for index in rule.members.indices { rule.members[index].schema = rule.members[index].schema.expanded }
      return rule
    }
    return switch self {
    case .object(let rule): .object(expanded(rule))
    case .shorthand(let text, let rule): .shorthand(text, expanded(rule))
    case .array(let element, let count): .array(of: element.expanded, count: count)
    case .map(let rule): .map(MapRule(names: rule.names, values: rule.values.expanded, most: rule.most))
    case .named(_, let schema): schema().expanded
    default: self
    }
  }

  /// Type and limits, in a few words.
  fileprivate var summary: String {
    switch self {
    case .anything: "any JSON"
    case .boolean: "`true` or `false`"
    case .integer(let range): "whole number, \(range.lowerBound) to \(range.upperBound)"
    case .number(let range): "number, \(range.lowerBound) to \(range.upperBound)"
    case .text(let rule): rule.summary
    case .array(_, let count): "list, at most \(count.upperBound)"
    case .map(let rule): "object by name, at most \(rule.most)"
    case .object: "object"
    case .shorthand: "string or object"
    case .named(_, let schema): schema().summary
    case .nullable(let schema): "\(schema.summary) or `null`"
    }
  }
}

extension TextRule {
  fileprivate var summary: String {
    switch form {
    case .word(let words): words.map { "`\($0)`" }.joined(separator: ", ")
    case .instant: "RFC 3339 instant"
    case .base64: "Base64"
    case .path, .absolutePath: "path"
    case .origin: "URL of an origin"
    case .any, .line, .identifier: "string, at most \(count.upperBound) characters"
    }
  }
}
