/// A recorded request that is nearly the one asked for, and in what it differs.
package struct NearMiss: Sendable {
  /// The interaction's index.
  package let index: Int
  /// At least one.
  package let differences: [Difference]
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
///   - contentType: the value of its `Content-Type`.
///   - body: its body, without content coding.
///   - interactions: the cassette's.
///   - names: the upstream of an interaction.
///   - limit: the most to return.
///   - readBody: reads a recorded body; where it throws, that is the difference.
/// - Returns: the nearest, none where nothing has much in common with the request. A request that is recorded comes
///   with the difference `exhausted`, since it was asked about all the same.
package func nearMisses(
  method: String, target: String, upstreamName: String?, contentType: String?, body: [UInt8],
  in interactions: [Interaction], names: (Interaction) -> String?, limit: Int = 3,
  body readBody: (RecordedBody) throws -> [UInt8]
) -> [NearMiss] {
  let sought = SoughtRequest(
    method: method, target: target, upstreamName: upstreamName, contentType: contentType, body: body)
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
    var differences = sought.differences(from: interaction, name: names(interaction), readBody: readBody)
    if differences.isEmpty { differences = [.exhausted] }
    found.append((nearness, NearMiss(index: nearness.index, differences: differences)))
  }
  found.sort { left, right in
    left.nearness.tier == right.nearness.tier
      ? rank(left.nearness, left.miss) < rank(right.nearness, right.miss)
      : left.nearness.tier.rawValue < right.nearness.tier.rawValue
  }
  var misses: [NearMiss] = []
  for (_, miss) in found where misses.count < limit {
    if !misses.contains(where: { $0.differences == miss.differences }) { misses.append(miss) }
  }
  return misses
}

/// Within a tier: a request that is recorded first; then the fewest differences, but of paths that are only similar the
/// most similar.
private func rank(_ nearness: Nearness, _ miss: NearMiss) -> (Double, Double, Int) {
  let isExhausted = miss.differences.first?.kind == .exhausted
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
