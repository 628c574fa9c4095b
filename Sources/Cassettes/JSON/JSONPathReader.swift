import LaunchContract

/// Reads a JSON path.
struct JSONPathReader {
  /// As many steps as there are bits for in a ``JSONPath/Progress``, but for the start.
  private static let limit = 63
  /// What no name without quotes has in it: it stands for a part of RFC 9535 that is not known here, or for a mistake.
  private static let special: Set<Unicode.Scalar> = [
    "*", "]", "'", "\"", ",", "(", ")", "?", " ", "\t", "\n", "\r",
  ]

  private let text: String
  private var rest: Substring.UnicodeScalarView

  init(_ text: String) {
    self.text = text
    rest = text.unicodeScalars[...]
  }

  mutating func steps() throws(ContractError) -> [JSONPath.Step] {
    guard rest.popFirst() == "$" else { throw failure("it begins with $") }
    var steps: [JSONPath.Step] = []
    while let first = rest.popFirst() {
      let isDeep = first == "." && rest.first == "."
      if isDeep { rest.removeFirst() }
      if first == "[" || isDeep && rest.first == "[" {
        if isDeep { rest.removeFirst() }
        steps.append(.init(selector: try bracket(), isDeep: isDeep))
      } else if first == "." {
        steps.append(.init(selector: try name(), isDeep: isDeep))
      } else {
        throw failure("'\(first)' stands where a dot or a bracket belongs")
      }
      guard steps.count <= Self.limit else { throw failure("it has more than \(Self.limit) steps") }
    }
    return steps
  }

  /// What follows a dot.
  private mutating func name() throws(ContractError) -> JSONPath.Selector {
    let name = rest.prefix { $0 != "." && $0 != "[" }
    rest = rest[name.endIndex...]
    guard !name.isEmpty else { throw failure("a name is missing after a dot") }
    if name.elementsEqual(["*"]) { return .any }
    if let special = name.first(where: { Self.special.contains($0) }) {
      throw failure(
        "a name with \(special.properties.isWhitespace ? "white space" : "'\(special)'") in it stands in brackets and quotes"
      )
    }
    return .name(String(name))
  }

  /// What follows a bracket, up to the closing one.
  private mutating func bracket() throws(ContractError) -> JSONPath.Selector {
    let selector: JSONPath.Selector
    if let quote = rest.first, quote == "'" || quote == "\"" {
      rest.removeFirst()
      selector = .name(try quoted(quote))
    } else {
      let inside = rest.prefix { $0 != "]" }
      rest = rest[inside.endIndex...]
      if inside.elementsEqual(["*"]) {
        selector = .any
      } else if let index = Int32(String(inside)) {
        selector = .index(Int(index))
      } else {
        throw failure(
          "in brackets stands a quoted name, a number or *, not '\(String(inside).prefix(40))'")
      }
    }
    guard rest.popFirst() == "]" else {
      throw failure("a bracket is not closed after one name or number")
    }
    return selector
  }

  private mutating func quoted(_ quote: Unicode.Scalar) throws(ContractError) -> String {
    var name = ""
    while let scalar = rest.popFirst() {
      if scalar == quote { return name }
      guard scalar == "\\" else {
        name.unicodeScalars.append(scalar)
        continue
      }
      guard let escaped = rest.popFirst(), escaped == quote || escaped == "\\" else {
        throw failure("in a name only the quote and the backslash are escaped")
      }
      name.unicodeScalars.append(escaped)
    }
    throw failure("a name's closing quote is missing")
  }

  private func failure(_ problem: String) -> ContractError {
    ContractError("'\(text.prefix(80))' is no JSON path: \(problem), as in $.orders[*].sentAt")
  }
}
