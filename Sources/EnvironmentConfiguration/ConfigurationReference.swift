package import Basics
import LaunchContract

/// The documents made from the table of settings: the JSON Schema for editors, and the reference page.
package enum ConfigurationReference {
  /// The JSON Schema (2020-12) of the project file.
  package static var jsonSchema: JSON {
    guard
      case .object(var members) = ProjectFile.schema.expanded.document
    else { return .null }
    members["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    members["title"] = "Project file of Diorama (diorama.json)"
    return .object(members)
  }

  /// The reference page, as Markdown.
  package static var page: String {
    """
    # Configuration reference

    All settings of an environment, with their limits and defaults.

    A setting has one name in the control API (`POST /v1/environments`) and in the project file, `diorama.json`. The command has an option for it, and
    `TestEnvironment.Configuration` a parameter. A value that cannot be used is refused with the same message everywhere.

    ## The project file

    `diorama run`, `diorama env create` and tests read `diorama.json` in the current folder (a test: in the folder of its
    file) or the nearest one above it, up to the root of the repository; `--config FILE` names another, `--no-config` none.
    Options, and what a test says itself, take precedence. Relative paths start at the file's folder. Besides the settings
    below it has:

    - `cassettes`: the folder of cassettes. `diorama run` records `<folder>/<command>` there if no `--cassette` is given, and
      a test `<folder>/<suite>/<test>`.
    - `overrides`: settings for some cassettes, such as `{"cassettes": "booking/*", "matching": {"order": "strict"}}`; `*`
      matches within a segment of the path, `**` anything. Named things are combined by name, lists and rules are
      added, any other setting replaces the general one. A suite's and a test's settings combine the same way.

    Secrets stay out of the file: a header's value, a credential's `from` and a token's `key` are `env:VAR` or `file:PATH`.

    ## Settings

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
    return path == "openapi" ? "openAPI" : path
  }
}

extension Schema {
  /// The schema without references to named schemas.
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
