import Basics
import Cassettes

/// Where names are looked up: a value, with the scope around it. Follows the `Context` of handlebars.java.
final class TemplateScope {
  enum Kind {
    case plain
    /// Holds the names of `as |a b|`.
    case blockParams
    /// Lies in such a scope; names are looked up there first.
    case inner
  }

  /// What a loop adds: `@index` and so on.
  enum Pass {
    case none
    case element(index: Int, base: Int, isLast: Bool)
    case member(key: String, index: Int, isLast: Bool)
  }

  let kind: Kind
  let parent: TemplateScope?
  let value: TemplateValue
  let pass: Pass

  init(_ value: TemplateValue, in parent: TemplateScope? = nil, pass: Pass = .none) {
    kind = parent == nil || parent?.kind == .plain ? .plain : .inner
    self.parent = parent
    self.value = value
    self.pass = pass
  }

  init(names: [(String, TemplateValue)], in parent: TemplateScope) {
    kind = .blockParams
    self.parent = parent
    value = .map(TemplateMap(names))
    pass = .none
  }

  /// The value that the loop adds under a name such as `index`.
  func added(_ name: String) -> TemplateValue? {
    switch pass {
    case .none: nil
    case .element(let index, let base, let isLast):
      switch name {
      case "index", "key": .int(index)
      case "first": .string(index == base ? "first" : "")
      case "last": .string(isLast ? "last" : "")
      case "odd": .string(index % 2 == 0 ? "" : "odd")
      case "even": .string(index % 2 == 0 ? "even" : "")
      case "index_1": .int(index &+ 1)
      default: nil
      }
    case .member(let key, let index, let isLast):
      switch name {
      case "key": .string(key)
      case "index": .int(index)
      case "first": .string(index == 0 ? "first" : "")
      case "last": .string(isLast ? "last" : "")
      default: nil
      }
    }
  }
}

/// Renders one template once.
final class TemplateRenderer {
  let context: TemplateContext
  private let name: String
  private let text: String
  private(set) var output = ""
  /// What `assign`, `parseJson` and others store.
  private var variables: [String: TemplateValue] = [:]
  private var steps = 0
  private var work = 0
  /// The last text that was read as JSON.
  private var parsed: (text: String, json: JSON)?
  /// Limits all regular expressions of the rendering together.
  private(set) lazy var patternBudget = PatternBudget()

  init(_ context: TemplateContext, name: String, text: String) {
    self.context = context
    self.name = name
    self.text = text
    variables["root"] = .map(context.model)
  }

  func render(_ nodes: [TemplateNode], in scope: TemplateScope) throws(CodedError) {
    try step(nodes.count)
    for node in nodes {
      switch node {
      case .text(let text): try write(text)
      case .value(let expression, let isEscaped):
        guard let value = try value(of: expression, in: scope) else { continue }
        let text = try self.text(of: value, at: expression.offset)
        try write(isEscaped ? text.escapedForHTML : text)
      case .block(let block): try render(block, in: scope)
      }
    }
  }

  private func render(_ block: TemplateBlock, in scope: TemplateScope) throws(CodedError) {
    let expression = block.expression
    var call = TemplateCall(expression, block: block, scope: scope, renderer: self)
    var helper = expression.helper
    if helper == nil {
      call.context = lookUp(expression.path, in: scope)
      switch call.context {
      case _ where block.isInverse: helper = .unless
      case .list: helper = .each
      case .bool: helper = .if
      default: helper = .with
      }
    } else {
      try evaluate(&call)
    }
    if let helper, let result = try call.value(of: helper) { try write(text(of: result, at: expression.offset)) }
  }

  func value(of expression: TemplateExpression, in scope: TemplateScope) throws(CodedError) -> TemplateValue? {
    // In a block with names, a bare name is never a helper.
    let isBare = expression.params.isEmpty && expression.hash.isEmpty
    guard let helper = expression.helper, !(isBare && scope.kind == .blockParams) else {
      return lookUp(expression.path, in: scope)
    }
    var call = TemplateCall(expression, block: nil, scope: scope, renderer: self)
    try evaluate(&call)
    return try call.value(of: helper)
  }

  private func evaluate(_ call: inout TemplateCall) throws(CodedError) {
    let expression = call.expression
    call.context = call.scope.value
    for (index, param) in expression.params.enumerated() {
      let value = try value(of: param, in: call.scope)
      if index == 0 { call.context = value } else { call.params.append(value) }
      // Few helpers build a text of this size, but all read it.
      try spend((value?.size ?? 0) / 4)
    }
    for (name, argument) in expression.hash {
      if let value = try value(of: argument, in: call.scope) { call.hash.append((name, value)) }
    }
  }

  private func value(
    of argument: TemplateExpression.Argument, in scope: TemplateScope
  ) throws(CodedError) -> TemplateValue? {
    switch argument {
    case .literal(let value): value
    case .path(let path): lookUp(path, in: scope)
    case .call(let expression): try value(of: expression, in: scope)
    }
  }

  /// The value of a JSON text; nil if it is not JSON. Consecutive calls usually have the same text.
  func json(_ text: String) -> JSON? {
    if let parsed, parsed.text.hasSameBytes(as: text) { return parsed.json }
    guard let json = try? JSON.parse(Array(text.utf8)) else { return nil }
    parsed = (text, json)
    return json
  }

  // MARK: Names

  func store(_ value: TemplateValue?, as name: String) { variables[name] = value }

  /// Looks up a path as handlebars.java does: local paths in this scope; others in each scope outwards, until the first step
  /// is found.
  func lookUp(_ path: TemplatePath, in scope: TemplateScope) -> TemplateValue? {
    lookUp(path.steps[...], text: path.text, in: scope)
  }

  private func lookUp(_ steps: ArraySlice<TemplatePath.Step>, text: String, in scope: TemplateScope) -> TemplateValue? {
    if let parent = scope.parent {
      switch scope.kind {
      case .plain: break
      case .blockParams:
        if text == "this" { return parent.value.present }
        if text.hasPrefix("./"), steps.count > 1 {
          return lookUp(steps.dropFirst(), text: String(text.dropFirst(2)), in: parent)
        }
      case .inner:
        if let value = lookUp(steps, text: text, in: parent) { return value }
      }
    }
    switch steps.first {
    case nil: return nil
    case .this: return follow(steps.dropFirst(), from: scope.value.present, in: scope)
    case .parent: return follow(steps, from: scope.value.present, in: scope)
    case .some(let first):
      var current: TemplateScope? = scope
      while let scope = current {
        for source in 0..<3 {
          let found: TemplateValue? =
            switch source {
            case 0: member(first, of: scope.value)
            case 1: if case .data(let name) = first { scope.added(name) } else { nil }
            default: variable(first)
            }
          // A path is not continued elsewhere once its first step is found.
          if let found { return follow(steps.dropFirst(), from: found, in: scope) }
        }
        current = scope.parent
      }
      return nil
    }
  }

  private func follow(
    _ steps: ArraySlice<TemplatePath.Step>, from value: TemplateValue?, in scope: TemplateScope
  ) -> TemplateValue? {
    var value = value
    for index in steps.indices {
      guard let current = value else { return nil }
      if case .parent = steps[index] {
        guard let parent = scope.parent else { return nil }
        let rest = steps[(index + 1)...]
        guard let next = rest.first else { return parent.value.present }
        if case .this = next, rest.count == 1 { return lookUp(rest, text: "this", in: parent) }
        return lookUp(rest, text: "", in: parent)
      }
      value = member(steps[index], of: current)
    }
    return value
  }

  private func member(_ step: TemplatePath.Step, of value: TemplateValue) -> TemplateValue? {
    switch step {
    case .this: value
    case .parent: nil
    case .name(let name): value.member(name)
    case .data(let name): value.member("@" + name) ?? value.member(name)
    case .index(let index, let name): value.element(index, name)
    }
  }

  private func variable(_ step: TemplatePath.Step) -> TemplateValue? {
    switch step {
    case .name(let name), .data(let name), .index(_, let name): variables[name]?.present
    case .this, .parent: nil
    }
  }

  // MARK: Output

  /// Renders into a text of its own.
  func capture(_ body: () throws(CodedError) -> Void) throws(CodedError) -> String {
    let outer = output
    output = ""
    defer { output = outer }
    try body()
    return output
  }

  func write(_ text: String) throws(CodedError) {
    try spend(text.utf8.count)
    guard output.utf8.count + text.utf8.count <= Template.Limit.output else {
      throw CodedError(
        .broken, "the output exceeds \(Template.Limit.output >> 20) MB; shorten loops and texts", at: name)
    }
    output += text
  }

  /// Counts bytes of text that a helper is about to build.
  func spend(_ bytes: Int) throws(CodedError) {
    let (total, isTooMuch) = work.addingReportingOverflow(max(bytes, 0))
    work = total
    guard !isTooMuch, bytes <= Template.Limit.output, work <= Template.Limit.work else {
      throw CodedError(
        .broken, "the template builds more than \(Template.Limit.work >> 20) MB of text; shorten loops and texts",
        at: name)
    }
  }

  /// Counts tags, passes through a loop, or elements.
  func step(_ count: Int = 1) throws(CodedError) {
    guard count <= Template.Limit.steps - steps else {
      throw CodedError(
        .broken, "more than \(Template.Limit.steps) tags and list elements; shorten loops and lists", at: name)
    }
    steps += count
  }

  /// The text of a value, within the limits.
  func text(of value: TemplateValue, at offset: Int) throws(CodedError) -> String {
    if case .string(let text) = value { return text }
    var text = ""
    guard value.write(into: &text, limit: Template.Limit.output) else {
      throw failure("the value is longer than \(Template.Limit.output >> 20) MB; write less", at: offset)
    }
    try spend(text.utf8.count)
    return text
  }

  func failure(_ problem: String, at offset: Int) -> CodedError {
    Array(text.utf8).withUnsafeBytes { CodedError(problem, at: offset, of: $0, name: name) }
  }
}

extension String {
  /// Replaces `&`, `<`, `>`, quotes, the grave accent and `=` by entities.
  fileprivate var escapedForHTML: String {
    let escapes = "&<>\"'`=".utf8
    guard utf8.contains(where: escapes.contains) else { return self }
    var result = ""
    result.reserveCapacity(utf8.count + 16)
    for scalar in unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#x27;"
      case "`": result += "&#x60;"
      case "=": result += "&#x3D;"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
