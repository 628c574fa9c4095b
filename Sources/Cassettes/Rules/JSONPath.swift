import LaunchContract

/// Where in a JSON value something lies: the part of RFC 9535 that names places.
///
/// `$` and then any of `.name`, `['name']` (or with double quotes), `[n]` (from 0, or from -1 backwards), `.*` and `[*]`,
/// each also after `..` for any depth: `..name`, `..['name']`, `..[n]`, `..*`. Slices, filters and lists are refused.
struct JSONPath: Sendable, Equatable {
  enum Selector: Sendable, Equatable {
    case name(String)
    case index(Int)
    case any
  }

  struct Step: Sendable, Equatable {
    let selector: Selector
    /// Whether it may lie at any depth from here.
    let isDeep: Bool
  }

  let steps: [Step]

  /// - Parameter text: as in `$.orders[*].sentAt`.
  /// - Throws: `ContractError` with what is wrong.
  init(_ text: String) throws(ContractError) {
    var rest = text.unicodeScalars[...]
    guard rest.popFirst() == "$" else { throw Self.wrong(text, "it begins with $") }
    var steps: [Step] = []
    while let first = rest.popFirst() {
      let isDeep = first == "." && rest.first == "."
      if isDeep { rest.removeFirst() }
      if first == "[" || isDeep && rest.first == "[" {
        if isDeep { rest.removeFirst() }
        steps.append(Step(selector: try Self.bracket(&rest, of: text), isDeep: isDeep))
      } else if first == "." {
        let name = rest.prefix { $0 != "." && $0 != "[" }
        guard !name.isEmpty else { throw Self.wrong(text, "a name is missing after a dot") }
        rest = rest[name.endIndex...]
        steps.append(Step(selector: name.elementsEqual(["*"]) ? .any : .name(String(name)), isDeep: isDeep))
      } else {
        throw Self.wrong(text, "'\(first)' stands where a dot or a bracket belongs")
      }
    }
    guard !steps.isEmpty else {
      throw Self.wrong(text, "it is the whole body; write \"compare\": {\"body\": \"none\"} for that")
    }
    self.steps = steps
  }

  private static func bracket(
    _ rest: inout Substring.UnicodeScalarView, of text: String
  ) throws(ContractError) -> Selector {
    let selector: Selector
    if let quote = rest.first, quote == "'" || quote == "\"" {
      rest.removeFirst()
      var name = ""
      while let scalar = rest.popFirst(), scalar != quote {
        if scalar == "\\", let escaped = rest.popFirst() {
          guard escaped == "\\" || escaped == quote else {
            throw wrong(text, "in a name only the quote and the backslash are escaped")
          }
          name.unicodeScalars.append(escaped)
        } else {
          name.unicodeScalars.append(scalar)
        }
      }
      selector = .name(name)
    } else {
      let inside = rest.prefix { $0 != "]" }
      rest = rest[inside.endIndex...]
      if inside.elementsEqual(["*"]) {
        selector = .any
      } else if let index = Int(String(inside)), abs(index) < 1 << 31 {
        selector = .index(index)
      } else {
        throw wrong(text, "in brackets stands a quoted name, a number or *, not '\(String(inside).prefix(40))'")
      }
    }
    guard rest.popFirst() == "]" else { throw wrong(text, "a bracket is not closed") }
    return selector
  }

  private static func wrong(_ text: String, _ problem: String) -> ContractError {
    ContractError("'\(text.prefix(80))' is no JSON path: \(problem), as in $.orders[*].sentAt")
  }
}

extension [JSONPath] {
  /// A place in one of the paths: the next step to take.
  private struct Place: Equatable {
    let path: Int
    let step: Int
  }

  /// The value without all that the paths name.
  func removed(from value: JSON) -> JSON {
    isEmpty ? value : removed(from: value, indices.map { Place(path: $0, step: 0) })
  }

  private func removed(from value: JSON, _ places: [Place]) -> JSON {
    switch value {
    case .object(let members):
      var kept: [JSON.Member] = []
      for member in members {
        guard let next = next(places, where: { $0 == .any || $0.isName(member.key) }) else { continue }
        kept.append(next.isEmpty ? member : .init(member.key, removed(from: member.value, next)))
      }
      return .object(kept)
    case .array(let elements):
      var kept: [JSON] = []
      for (index, element) in elements.enumerated() {
        let isMeant = { (selector: JSONPath.Selector) in
          selector == .any || selector == .index(index) || selector == .index(index - elements.count)
        }
        guard let next = next(places, where: isMeant) else { continue }
        kept.append(next.isEmpty ? element : removed(from: element, next))
      }
      return .array(kept)
    default: return value
    }
  }

  /// The places in a child; nil where it is to go.
  private func next(_ places: [Place], where isMeant: (JSONPath.Selector) -> Bool) -> [Place]? {
    var next: [Place] = []
    for place in places {
      let step = self[place.path].steps[place.step]
      if step.isDeep, !next.contains(place) { next.append(place) }
      guard isMeant(step.selector) else { continue }
      guard place.step + 1 < self[place.path].steps.count else { return nil }
      let after = Place(path: place.path, step: place.step + 1)
      if !next.contains(after) { next.append(after) }
    }
    return next
  }
}

extension JSONPath.Selector {
  /// By bytes, as JSON's names are compared.
  fileprivate func isName(_ other: String) -> Bool {
    if case .name(let name) = self { name.hasSameBytes(as: other) } else { false }
  }
}
