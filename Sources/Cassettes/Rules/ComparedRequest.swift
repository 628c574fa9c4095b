import EnvironmentConfiguration
import HTTPMessages

/// A request reduced to the parts that count by the rules; parts that do not count are nil.
///
/// Valid as long as the memory of its body.
struct ComparedRequest {
  let criteria: Criteria
  let method: String?
  /// The upstream's index; nil if only part of its origin counts, or nothing.
  let upstream: Int?
  let scheme: String?
  let host: String?
  let path: [UInt8]?
  let query: QueryItems?
  /// The names that count, with their values in order.
  let headers: [(name: String, values: [String])]
  let body: BodyContent?

  /// - Parameters:
  ///   - method: as sent.
  ///   - upstream: its index among the environment's upstreams.
  ///   - target: in origin form, with the query.
  ///   - headers: as sent.
  ///   - body: without transfer coding and content coding.
  ///   - book: the rules.
  ///   - other: the criteria of another request to compare with; nil to use its own.
  /// - Throws: `Pattern.TooSlow`.
  init(
    method: String, upstream: Int, target: String, headers: Headers, body: UnsafeRawBufferPointer, by book: RuleBook,
    criteria other: Criteria? = nil
  ) throws(Pattern.TooSlow) {
    let bytes = Array(target.utf8)
    let mark = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.count
    let path = bytes[..<mark].withUnsafeBytes { CanonicalPath.bytes(of: $0) }
    let origin = book.upstreams.indices.contains(upstream) ? book.upstreams[upstream] : nil
    let criteria = other ?? book.criteria(method: method, upstream: origin?.name, path: path)
    self.criteria = criteria
    let budget = PatternBudget()
    self.method = criteria.countsMethod ? method : nil
    let isWhole = criteria.countsScheme && criteria.countsHost
    self.upstream = isWhole ? upstream : nil
    scheme = !isWhole && criteria.countsScheme ? origin?.origin.scheme : nil
    host = !isWhole && criteria.countsHost ? origin?.origin.authority : nil
    self.path = criteria.countsPath ? try criteria.patterns.removed(from: path, budget) ?? path : nil
    let items = bytes[mark...].dropFirst().withUnsafeBytes { QueryItems($0) }
    query = criteria.countsQuery ? try items.without(criteria.ignoredQuery, criteria.patterns, budget) : nil
    var counted: [(name: String, values: [String])] = []
    for name in criteria.headers {
      var values: [String] = []
      for value in headers.all(name) { values.append(try criteria.patterns.removed(from: value, budget)) }
      counted.append((name, values))
    }
    self.headers = counted
    let type = headers["Content-Type"] ?? ""
    let markup = criteria.body == .xml ? criteria.patterns.filter(\.isAboutMarkup) : []
    if let kept = try markup.removed(from: body, budget) {
      // Patterns that span tags find nothing in the texts between them.
      self.body = try kept.withUnsafeBufferPointer { (buffer) throws(Pattern.TooSlow) in
        let content = BodyContent(UnsafeRawBufferPointer(buffer), type: type, as: criteria.body)
        if case .bytes? = content { return .kept(try criteria.patterns.removed(from: kept, budget) ?? kept) }
        return try content?.reduced(by: criteria, budget)
      }
    } else {
      self.body = try BodyContent(body, type: type, as: criteria.body)?.reduced(by: criteria, budget)
    }
  }

  /// The key, equal for all requests that count as the same.
  var key: MatchKey {
    var hash = SipHash()
    appendHead(to: &hash)
    body?.append(to: &hash)
    appendEnd(to: &hash)
    return MatchKey(hash.finish())
  }

  /// Adds everything before the body.
  func appendHead(to hash: inout SipHash) {
    // Each part is followed by its length or a flag, which makes the encoding unambiguous when read from the end.
    for text in [method, scheme, host] {
      if let text { hash.append(text: text) }
      hash.append(text == nil ? 0 : 1)
    }
    hash.append(number: upstream ?? -1)
    if let path {
      path.withUnsafeBytes { hash.append($0) }
      hash.append(number: path.count)
    }
    hash.append(path == nil ? 0 : 1)
    query?.append(to: &hash)
    hash.append(query == nil ? 0 : 1)
    for (_, values) in headers {
      for value in values { hash.append(text: value) }
      hash.append(number: values.count)
    }
  }

  /// Adds everything after the body.
  func appendEnd(to hash: inout SipHash) {
    hash.append(body == nil ? 0 : 1)
    // Requests to which different rules apply are different.
    for rule in criteria.applied { hash.append(number: rule) }
    hash.append(number: criteria.applied.count)
  }
}
