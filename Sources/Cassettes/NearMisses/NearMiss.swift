package import HTTPMessages

/// A recorded request that is nearly the one asked for, and in what it differs.
package struct NearMiss: Sendable {
  /// The interaction's index.
  package let index: Int
  /// At least one.
  package let differences: [Difference]
  /// The rules by which it was compared, as a person reads them.
  package let rules: [String]
}

/// Finds the recorded requests nearest to one that has no answer, to say why.
///
/// The best come first: those with the same method and path by the number of differences, then those with the same
/// path, then those whose path is similar. Of recordings that differ in the same way only the first is named. It looks
/// at every interaction once, cheaply, and closely at the few that seem best.
///
/// - Parameters:
///   - method: of the request.
///   - target: in origin form, with the query.
///   - upstreamName: the upstream that it is for.
///   - headers: of the request.
///   - body: its body, without content coding.
///   - interactions: the cassette's.
///   - names: the upstream of an interaction.
///   - book: the rules of what counts.
///   - expected: the interaction that has to come next; it is named first. Nil where the order asks for none.
///   - awaited: the interaction that has to be played before another one.
///   - large: of a request whose body is not at hand, how long it is and whether a recorded one is the same; `body` is its
///     beginning then.
///   - limit: the most to return.
///   - readBody: reads a recorded body; where it throws, that is the difference.
/// - Returns: the nearest, none where nothing has much in common with the request. A request that is recorded comes
///   with the difference `exhausted`, since it was asked about all the same.
package func nearMisses(
  method: String, target: String, upstreamName: String?, headers: Headers, body: [UInt8],
  in interactions: [Interaction], names: (Interaction) -> String?, book: RuleBook? = nil, expected: Int? = nil,
  awaited: (Int) -> Int? = { _ in nil }, large: LargeBody? = nil, limit: Int = 3,
  body readBody: (RecordedBody) throws -> [UInt8]
) -> [NearMiss] {
  let sought = SoughtRequest(
    method: method, target: target, upstreamName: upstreamName, headers: headers, body: body, large: large,
    book: book ?? .empty)
  let rules = sought.criteria.applied.map(sought.book.title)
  let title = { (index: Int) in
    "interaction \(index), \(interactions[index].request.method) \(interactions[index].request.url)"
  }
  var nearest = Nearest(capacity: max(limit, 40))
  for (index, interaction) in interactions.enumerated() {
    guard let nearness = Nearness(sought, interaction, index: index, name: names(interaction)) else { continue }
    nearest.insert(nearness)
  }

  var budget = 8 << 20
  var found: [(nearness: Nearness, miss: NearMiss)] = []
  for (place, nearness) in nearest.sorted.enumerated() where place < limit || budget > 0 {
    let interaction = interactions[nearness.index]
    budget -= interaction.request.body.length + body.count
    var differences = sought.differences(
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
    let differences = sought.differences(
      from: interactions[expected], index: expected, name: names(interactions[expected]), readBody: readBody)
    // In what quite another request differs helps no one.
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
  return misses
}

/// Within a tier: a request that is recorded first; then the fewest differences, but of paths that are only similar the
/// most similar.
private func rank(_ nearness: Nearness, _ miss: NearMiss) -> (Double, Double, Int) {
  let isExhausted = [.exhausted, .order].contains(miss.differences.first?.kind)
  let count = isExhausted ? 0 : Double(miss.differences.count)
  return nearness.tier == .similarPath ? (nearness.cost, count, miss.index) : (count, nearness.cost, miss.index)
}

/// The best so far, not more than `capacity`.
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

/// The body of a request that has passed and was not kept: what can still be said of it.
package struct LargeBody {
  /// In bytes, as it was compared.
  package let length: Int
  /// Whether the body of the interaction with this number, which is as long, is the same.
  package let isSame: (Int) throws -> Bool

  package init(length: Int, isSame: @escaping (Int) throws -> Bool) {
    self.length = length
    self.isSame = isSame
  }
}

/// How near a recorded request is to the one sought, found cheaply and compared as a whole: first by what they have in
/// common, then by about how many differences there are.
struct Nearness: Comparable {
  /// What has been found in common, the best first.
  enum Tier: Int {
    case sameRequestLine, sameMethodElsewhere, otherMethod, similarPath
  }

  let tier: Tier
  let cost: Double
  let index: Int

  static func < (left: Nearness, right: Nearness) -> Bool {
    (left.tier.rawValue, left.cost, left.index) < (right.tier.rawValue, right.cost, right.index)
  }

  /// Looks at a recorded request; nil when there is nothing in common.
  init?(_ sought: SoughtRequest, _ interaction: Interaction, index: Int, name: String?) {
    let request = interaction.request
    let isSameMethod = !sought.criteria.countsMethod || request.method == sought.method
    let isSameUpstream = name == sought.upstreamName
    var url = request.url
    let (similarity, queryCost) = url.withUTF8 { url in
      let bytes = UnsafeRawBufferPointer(url)
      let (path, query) = Self.split(bytes)
      let similarity =
        sought.criteria.countsPath
        ? Self.similarity(of: UnsafeRawBufferPointer(rebasing: bytes[path]), to: sought) : 1
      let isNear = similarity >= 0.5
      return (similarity, isNear ? Self.queryCost(UnsafeRawBufferPointer(rebasing: bytes[query]), sought) : 0)
    }
    guard similarity >= 0.5 else { return nil }
    self.index = index
    guard similarity == 1 else {
      tier = .similarPath
      cost = (1 - similarity) * 10 + (isSameMethod ? 0 : 2) + (isSameUpstream ? 0 : 3) + queryCost / 4
      return
    }
    // Of the same path, a method or an upstream that is another one outweighs what else may differ.
    tier = isSameMethod ? isSameUpstream ? .sameRequestLine : .sameMethodElsewhere : .otherMethod
    cost = queryCost + Self.bodyCost(request.body, sought) + (isSameUpstream ? 0 : 1000)
  }

  // MARK: Path

  /// Where path and query of an absolute URL lie.
  private static func split(_ url: UnsafeRawBufferPointer) -> (path: Range<Int>, query: Range<Int>) {
    var index = 0
    // Past the scheme and the authority.
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

  /// 1 for the same path, 0 for nothing in common: by bytes at both ends or by segments, whichever is more.
  private static func similarity(of path: UnsafeRawBufferPointer, to sought: SoughtRequest) -> Double {
    sought.path.withUnsafeBytes { other in
      if path.elementsEqual(other) || path.isEmpty && other.count == 1 { return 1 }
      if path.contains(UInt8(ascii: "%")) || other.contains(UInt8(ascii: "%")),
        CanonicalPath.bytes(of: path) == sought.canonicalPath
      {
        return 1
      }
      // The slash at the beginning says nothing.
      let shorter = min(path.count, other.count)
      var start = min(1, shorter)
      while start < shorter, path[start] == other[start] { start += 1 }
      var end = 0
      while end < shorter - start, path[path.count - 1 - end] == other[other.count - 1 - end] { end += 1 }
      let longer = max(path.count, other.count) - 1
      let byBytes = longer > 0 ? Double(max(0, start - 1) + end) / Double(longer) : 0
      // Never 1, that is for the same path.
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

  /// About how many items differ: one that is changed counts once.
  private static func queryCost(_ query: UnsafeRawBufferPointer, _ sought: SoughtRequest) -> Double {
    if sought.query.isEmpty && query.isEmpty { return 0 }
    var matched = 0
    var other = 0
    Words.forEach(in: query, isDelimiter: { $0 == UInt8(ascii: "&") }) { hash in
      if sought.queryHashes.contains(hash) { matched += 1 } else { other += 1 }
    }
    return Double(max(other, sought.queryHashes.count - matched))
  }

  private static func bodyCost(_ body: RecordedBody, _ sought: SoughtRequest) -> Double {
    switch body {
    case .file(_, let length): return length == (sought.large?.length ?? sought.body.count) ? 0.5 : 1
    case .bytes(let bytes):
      if bytes == sought.body { return 0 }
      if bytes.isEmpty || sought.body.isEmpty { return 2 }
      return 0.5 + Double(bytes.withUnsafeBytes { sought.bodyWords.distance(to: $0) }) / 2
    }
  }
}
