/// Exceptions from the rewriting of upstream URLs in responses.
package struct RewritingRules: ConfigurationPart {
  package static var member: String { "rewriting" }

  /// Places whose upstream URLs the app gets as they are: `$.issuer`, `header:X-Issuer`.
  @Omittable package var keep: [String] = []

  package init() {}

  /// Returns these rules and the others.
  package func adding(_ others: RewritingRules) -> RewritingRules {
    var all = self
    all.keep.appendNew(others.keep)
    return all
  }
}
