import EnvironmentConfiguration
package import HTTPMessages

/// A recorded request similar to a request without a match, and how they differ.
package struct NearMiss: Sendable {
  /// The interaction's index.
  package let index: Int
  /// At least one.
  package let differences: [Difference]
  /// Descriptions of the rules that apply to the request.
  package let rules: [String]
  /// Why it misses, and what makes it match; nil unless times are given, and where an earlier near miss has a rule.
  package var remedy: Remedy?
}

/// Finds the recorded requests most similar to one without a match, to explain the miss.
///
/// Recordings with the same method and path come first, by number of differences, then those with the same path, then
/// those with a similar path. If several recordings differ in the same way, only the first is returned. Every
/// interaction is inspected once, cheaply; only the most similar are compared in detail.
///
/// - Parameters:
///   - method: the request's method.
///   - target: the request's target in origin form, with the query.
///   - upstreamName: the name of its upstream.
///   - headers: the request's headers.
///   - body: the request's body, without content coding.
///   - interactions: the cassette's interactions.
///   - names: returns the upstream name of an interaction.
///   - book: the matching rules.
///   - expected: the interaction that has to come next, which is reported first; nil if any may come.
///   - awaited: returns the interaction that has to be played before another one.
///   - large: the length of a body that was not kept, and how to compare it; `body` is then its beginning.
///   - limit: the maximum number of results.
///   - times: when the request was sent, to explain the miss; nil for no explanation.
///   - readBody: reads a recorded body; an error is reported as the difference.
/// - Returns: the near misses; empty if no recording is similar. A recorded request has the difference `exhausted` or
///   `order`.
package func nearMisses(
  method: String, target: String, upstreamName: String?, headers: Headers, body: [UInt8],
  in interactions: [Interaction], names: (Interaction) -> String?, book: RuleBook? = nil, expected: Int? = nil,
  awaited: (Int) -> Int? = { _ in nil }, large: LargeBody? = nil, limit: Int = 3,
  at times: MissTimes? = nil, body readBody: (RecordedBody) throws -> [UInt8]
) -> [NearMiss] {
  let missed = SoughtRequest(
    method: method, target: target, upstreamName: upstreamName, headers: headers, body: body, large: large,
    book: book ?? .empty)
  let rules = missed.criteria.applied.map(missed.book.title)
  let title = { (index: Int) in
    "interaction \(index), \(interactions[index].request.method) \(interactions[index].request.url)"
  }
  var nearest = Nearest(capacity: max(limit, 40))
  for (index, interaction) in interactions.enumerated() {
    guard let nearness = Nearness(missed, interaction, index: index, name: names(interaction)) else { continue }
    nearest.insert(nearness)
  }

  var budget = 8 << 20
  var found: [(nearness: Nearness, miss: NearMiss)] = []
  for (place, nearness) in nearest.sorted.enumerated() where place < limit || budget > 0 {
    let interaction = interactions[nearness.index]
    budget -= interaction.request.body.length + body.count
    var differences = missed.differences(
      from: interaction, index: nearness.index, name: names(interaction), readBody: readBody)
    if differences.isEmpty {
      let other = awaited(nearness.index)
      differences = [
        other.map { Difference.order("recorded only after \(title($0)), which has not been replayed") } ?? .exhausted
      ]
    }
    found.append((nearness, NearMiss(index: nearness.index, differences: differences, rules: rules)))
  }
  found.sort { left, right in
    left.nearness.tier == right.nearness.tier
      ? rank(left.nearness, left.miss) < rank(right.nearness, right.miss)
      : left.nearness.tier.rawValue < right.nearness.tier.rawValue
  }
  var misses: [NearMiss] = []
  if let expected, interactions.indices.contains(expected) {
    let differences = missed.differences(
      from: interactions[expected], index: expected, name: names(interactions[expected]), readBody: readBody)
    // The differences from an unrelated request are not useful.
    let isOther = differences.contains { [.method, .upstream, .path].contains($0.kind) }
    misses.append(
      NearMiss(
        index: expected,
        differences: [.order("expected next, in strict order")] + (isOther ? [] : differences), rules: rules))
    found.removeAll { $0.miss.index == expected }
  }
  for (_, miss) in found where misses.count < limit {
    if !misses.contains(where: { $0.differences == miss.differences }) { misses.append(miss) }
  }
  guard let times else { return misses }
  var known: [String: Bool] = [:]
  for (number, miss) in misses.enumerated() {
    misses[number].remedy = missed.remedy(
      for: miss, of: interactions[miss.index], name: names(interactions[miss.index]), at: times,
      isRecorded: { text in
        if known[text] == nil { known[text] = occurs(text, in: interactions) }
        return known[text] ?? false
      }, readBody: readBody)
    if misses[number].remedy?.rule != nil { break }
  }
  return misses
}

/// The order within a tier: recorded requests first, then the fewest differences; for similar paths, the most similar
/// first.
private func rank(_ nearness: Nearness, _ miss: NearMiss) -> (Double, Double, Int) {
  let isExhausted = [.exhausted, .order].contains(miss.differences.first?.kind)
  let count = isExhausted ? 0 : Double(miss.differences.count)
  return nearness.tier == .similarPath ? (nearness.cost, count, miss.index) : (count, nearness.cost, miss.index)
}

/// The best candidates so far, at most `capacity`.
private struct Nearest {
  let capacity: Int
  private(set) var sorted: [Nearness] = []

  init(capacity: Int) {
    self.capacity = capacity
  }

  mutating func insert(_ nearness: Nearness) {
    if sorted.count == capacity {
      guard let last = sorted.last, nearness < last else { return }
      sorted.removeLast()
    }
    var place = sorted.count
    while place > 0, nearness < sorted[place - 1] { place -= 1 }
    sorted.insert(nearness, at: place)
  }
}

/// A body that was streamed and not kept.
package struct LargeBody {
  /// The length in bytes, as compared.
  package let length: Int
  /// Whether the body of this interaction, which has the same length, is equal.
  package let isSame: (Int) throws -> Bool

  package init(length: Int, isSame: @escaping (Int) throws -> Bool) {
    self.length = length
    self.isSame = isSame
  }
}

/// A cheap estimate of how similar a recorded request is, ordered by what both have in common, then by the approximate
/// number of differences.
struct Nearness: Comparable {
  /// What both requests have in common, the best first.
  enum Tier: Int {
    case sameRequestLine, sameMethodElsewhere, otherMethod, similarPath
  }

  let tier: Tier
  let cost: Double
  let index: Int

  static func < (left: Nearness, right: Nearness) -> Bool {
    (left.tier.rawValue, left.cost, left.index) < (right.tier.rawValue, right.cost, right.index)
  }

  /// Estimates a recorded request; nil if it is not similar.
  init?(_ missed: SoughtRequest, _ interaction: Interaction, index: Int, name: String?) {
    let request = interaction.request
    let isSameMethod = !missed.criteria.countsMethod || request.method == missed.method
    let isSameUpstream = name == missed.upstreamName
    var url = request.url
    let (similarity, queryCost) = url.withUTF8 { url in
      let bytes = UnsafeRawBufferPointer(url)
      let (path, query) = Self.split(bytes)
      let similarity =
        missed.criteria.countsPath
        ? Self.similarity(of: UnsafeRawBufferPointer(rebasing: bytes[path]), to: missed) : 1
      let isNear = similarity >= 0.5
      return (similarity, isNear ? Self.queryCost(UnsafeRawBufferPointer(rebasing: bytes[query]), missed) : 0)
    }
    guard similarity >= 0.5 else { return nil }
    self.index = index
    guard similarity == 1 else {
      tier = .similarPath
      cost = (1 - similarity) * 10 + (isSameMethod ? 0 : 2) + (isSameUpstream ? 0 : 3) + queryCost / 4
      return
    }
    // With the same path, a different method or upstream outweighs all other differences.
    tier = isSameMethod ? isSameUpstream ? .sameRequestLine : .sameMethodElsewhere : .otherMethod
    cost = queryCost + Self.bodyCost(request.body, missed) + (isSameUpstream ? 0 : 1000)
  }

  // MARK: Path

  /// The ranges of path and query in an absolute URL.
  private static func split(_ url: UnsafeRawBufferPointer) -> (path: Range<Int>, query: Range<Int>) {
    var index = 0
    // Skips the scheme and the authority.
    while index + 2 < url.count, url[index] != UInt8(ascii: ":") { index += 1 }
    if index + 2 < url.count, url[index + 1] == UInt8(ascii: "/"), url[index + 2] == UInt8(ascii: "/") {
      index += 3
      while index < url.count, url[index] != UInt8(ascii: "/"), url[index] != UInt8(ascii: "?"),
        url[index] != UInt8(ascii: "#")
      {
        index += 1
      }
    } else {
      index = 0
    }
    let start = index
    while index < url.count, url[index] != UInt8(ascii: "?"), url[index] != UInt8(ascii: "#") { index += 1 }
    let end = index
    guard index < url.count, url[index] == UInt8(ascii: "?") else { return (start..<end, end..<end) }
    index += 1
    let queryStart = index
    while index < url.count, url[index] != UInt8(ascii: "#") { index += 1 }
    return (start..<end, queryStart..<index)
  }

  /// From 0 for nothing in common to 1 for equal paths: the larger of the similarity by bytes at both ends and by
  /// segments.
  private static func similarity(of path: UnsafeRawBufferPointer, to missed: SoughtRequest) -> Double {
    missed.path.withUnsafeBytes { other in
      if path.elementsEqual(other) || path.isEmpty && other.count == 1 { return 1 }
      if path.contains(UInt8(ascii: "%")) || other.contains(UInt8(ascii: "%")),
        CanonicalPath.bytes(of: path) == missed.canonicalPath
      {
        return 1
      }
      // The leading slash carries no information.
      let shorter = min(path.count, other.count)
      var start = min(1, shorter)
      while start < shorter, path[start] == other[start] { start += 1 }
      var end = 0
      while end < shorter - start, path[path.count - 1 - end] == other[other.count - 1 - end] { end += 1 }
      let longer = max(path.count, other.count) - 1
      let byBytes = longer > 0 ? Double(max(0, start - 1) + end) / Double(longer) : 0
      // 1 is reserved for equal paths.
      return min(0.99, max(byBytes, bySegments(path, other)))
    }
  }

  private static func bySegments(_ path: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Double {
    let slash = UInt8(ascii: "/")
    var same = 0
    var count = 0
    var left = 1
    var right = 1
    while left <= path.count || right <= other.count {
      let leftStart = min(left, path.count)
      let rightStart = min(right, other.count)
      while left < path.count, path[left] != slash { left += 1 }
      while right < other.count, other[right] != slash { right += 1 }
      let one = path[leftStart..<min(left, path.count)]
      let two = other[rightStart..<min(right, other.count)]
      if !one.isEmpty, one.elementsEqual(two) { same += 1 }
      count += 1
      left += 1
      right += 1
    }
    return Double(same) / Double(max(1, count))
  }

  // MARK: Query and body

  /// The approximate number of different items; a changed item counts once.
  private static func queryCost(_ query: UnsafeRawBufferPointer, _ missed: SoughtRequest) -> Double {
    if missed.query.isEmpty && query.isEmpty { return 0 }
    var matched = 0
    var other = 0
    Words.forEach(in: query, isDelimiter: { $0 == UInt8(ascii: "&") }) { hash in
      if missed.queryHashes.contains(hash) { matched += 1 } else { other += 1 }
    }
    return Double(max(other, missed.queryHashes.count - matched))
  }

  private static func bodyCost(_ body: RecordedBody, _ missed: SoughtRequest) -> Double {
    switch body {
    case .file(_, let length): return length == (missed.large?.length ?? missed.body.count) ? 0.5 : 1
    case .bytes(let bytes):
      if bytes == missed.body { return 0 }
      if bytes.isEmpty || missed.body.isEmpty { return 2 }
      return 0.5 + Double(bytes.withUnsafeBytes { missed.bodyWords.distance(to: $0) }) / 2
    }
  }
}
