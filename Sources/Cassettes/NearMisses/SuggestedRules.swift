import Basics
package import EnvironmentConfiguration

/// Combines the rules of several misses into few.
///
/// Rules with the same effect for requests of the same shape become one: `*` takes the place of the ids in their paths.
/// Rules for the same requests become one, too.
package enum SuggestedRules {
  /// - Parameter rules: a rule for each miss.
  /// - Returns: rules that ignore at least the same for the same requests, in the order of the first ones.
  package static func combined(_ rules: [MatchingRules.Rule]) -> [MatchingRules.Rule] {
    // The effect counts, and the path with its ids left out.
    let alike = merged(rules) { rule in
      var key = rule
      key.path = rule.path.map { ChangingName.template(ofPath: $0) }
      key.ignore.json = rule.ignore.json.map(general)
      return key
    }
    return merged(alike) { rule in
      MatchingRules.Rule(upstream: rule.upstream, method: rule.method, path: rule.path)
    }
  }

  private static func merged(
    _ rules: [MatchingRules.Rule], by key: (MatchingRules.Rule) -> MatchingRules.Rule
  ) -> [MatchingRules.Rule] {
    var merged: [MatchingRules.Rule] = []
    var places: [[UInt8]: Int] = [:]
    for rule in rules {
      let identity = key(rule).document.encoded()
      if let place = places[identity] {
        merged[place] = both(merged[place], rule)
      } else {
        places[identity] = merged.count
        merged.append(rule)
      }
    }
    return merged
  }

  /// One rule for the requests of both, which ignores what either does.
  private static func both(_ one: MatchingRules.Rule, _ other: MatchingRules.Rule) -> MatchingRules.Rule {
    var rule = one
    if let path = one.path, let second = other.path, path != second {
      let segments = zip(
        path.split(separator: "/", omittingEmptySubsequences: false),
        second.split(separator: "/", omittingEmptySubsequences: false))
      rule.path = segments.map { $0 == $1 ? String($0) : "*" }.joined(separator: "/")
    }
    rule.ignore.headers.appendNew(other.ignore.headers)
    rule.ignore.query.appendNew(other.ignore.query)
    rule.ignore.form.appendNew(other.ignore.form)
    rule.ignore.pattern.appendNew(other.ignore.pattern)
    for path in other.ignore.json where !rule.ignore.json.contains(path) {
      if let index = rule.ignore.json.firstIndex(where: { general($0) == general(path) }) {
        rule.ignore.json[index] = general(path)
      } else {
        rule.ignore.json.append(path)
      }
    }
    rule.compare.body = other.compare.body ?? one.compare.body
    rule.compare.partOrder = other.compare.partOrder ?? one.compare.partOrder
    return rule
  }

  /// A JSON path with any index in place of its indexes.
  static func general(_ path: String) -> String { path.replacing(#/\[(?:[0-9]+|\*)\]/#, with: "[*]") }
}
