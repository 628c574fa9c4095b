import LaunchContract

extension BodyContent {
  /// What is left of it by the rules.
  func reduced(by criteria: Criteria, _ budget: PatternBudget) throws(Pattern.TooSlow) -> BodyContent {
    let patterns = criteria.patterns
    switch self {
    case .bytes(let bytes): return try patterns.removed(from: bytes, budget).map(Self.kept) ?? self
    case .kept: return self
    case .json(let value):
      let kept = criteria.ignoredJSON.removed(from: value)
      return .json(patterns.isEmpty ? kept : try kept.removing(patterns, budget))
    case .form(let items): return .form(try items.without(criteria.ignoredForm, patterns, budget))
    case .multipart(var multipart):
      multipart.parts.removeAll { part in
        criteria.ignoredForm.contains { $0.matches(Array((part.name ?? "").utf8)) }
      }
      for index in multipart.parts.indices {
        multipart.parts[index].content = try multipart.parts[index].content.reduced(by: criteria, budget)
      }
      return .multipart(multipart)
    case .xml(let content):
      guard !patterns.isEmpty else { return self }
      return .xml(try content.mapTexts { text throws(Pattern.TooSlow) in try patterns.removed(from: text, budget) })
    }
  }
}

extension JSON {
  /// The value with its strings and numbers without what some patterns match; of a number that a pattern matches the rest
  /// counts as text.
  fileprivate func removing(_ patterns: [Pattern], _ budget: PatternBudget) throws(Pattern.TooSlow) -> JSON {
    switch self {
    case .string(let text): return .string(try patterns.removed(from: text, budget))
    case .number(let text):
      let kept = try patterns.removed(from: text, budget)
      return kept.utf8.count == text.utf8.count ? self : .string(kept)
    case .array(let elements):
      var kept: [JSON] = []
      for element in elements { kept.append(try element.removing(patterns, budget)) }
      return .array(kept)
    case .object(let members):
      var kept: [JSON.Member] = []
      for member in members { kept.append(Member(member.key, try member.value.removing(patterns, budget))) }
      return .object(kept)
    case .null, .bool: return self
    }
  }
}
