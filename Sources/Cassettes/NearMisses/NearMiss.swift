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
