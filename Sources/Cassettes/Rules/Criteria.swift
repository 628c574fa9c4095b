/// What counts of a request, by the rules that fit it.
struct Criteria: Sendable {
  /// The rules, by number.
  var applied: [Int] = []
  var countsMethod = true
  var countsScheme = true
  var countsHost = true
  var countsPath = true
  var countsQuery = true
  /// Lower-case names, sorted.
  var headers: [String] = []
  var body = MatchingRules.BodyKind.auto
  /// Names of header fields that do not count, not even where an answer hung on them.
  var ignoredHeaders: [Glob] = []
  var ignoredQuery: [Glob] = []
  var ignoredForm: [Glob] = []
  var ignoredJSON: [JSONPath] = []
  var patterns: [Pattern] = []
  /// Nil: as its method says.
  var changesState: Bool?

  /// INTERFACE.md, "What counts as the same request".
  static let plain = Criteria()
}
