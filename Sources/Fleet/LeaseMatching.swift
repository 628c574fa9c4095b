/// Decides who gets which resource. Pure: it knows no database and no clock.
///
/// Requests are served in the order of their tickets. A request gets all of its resources or none. One that cannot be
/// served yet keeps what it could use, as far as it needs it, from later ones, so that it is not overtaken permanently by
/// requests for fewer resources; later requests for other resources are not held up. No request holds a part of what it
/// needs, so there is no deadlock.
struct LeaseMatching: Sendable {
  /// A resource that could be given out.
  struct Resource: Sendable, Equatable {
    var id: Int
    var pool: String
    var attributes: [String: String]
  }

  /// One of the resources that a request needs.
  struct Need: Sendable, Equatable {
    var label: String
    var pool: String
    var attributes: [String: String]

    func accepts(_ resource: Resource) -> Bool {
      resource.pool == pool && attributes.allSatisfy { resource.attributes[$0.key] == $0.value }
    }
  }

  /// The free resources by pool, in the order in which they are given out.
  private var free: [String: [Resource]]

  init(_ free: [Resource]) { self.free = Dictionary(grouping: free, by: \.pool) }

  /// Whether nothing is left to give out.
  var isEmpty: Bool { free.values.allSatisfy(\.isEmpty) }

  /// Serves the next request.
  ///
  /// - Parameter needs: what it needs; not empty.
  /// - Returns: the ids of the resources, by label; nil if it has to wait.
  mutating func serve(_ needs: [Need]) -> [String: Int]? {
    let found = Self.match(needs) { free[$0] ?? [] }
    let taken = Set(found.values)
    for pool in Set(needs.map(\.pool)) { free[pool]?.removeAll { taken.contains($0.id) } }
    guard found.count == needs.count else { return nil }
    return Dictionary(uniqueKeysWithValues: found.map { (needs[$0.key].label, $0.value) })
  }

  /// Finds resources for as many needs as possible (augmenting paths in a bipartite graph).
  ///
  /// - Parameters:
  ///   - needs: the needs, which may compete for the same resources.
  ///   - candidates: the resources of a pool.
  /// - Returns: the ids of resources, by the index of the need.
  static func match(_ needs: [Need], among candidates: (String) -> [Resource]) -> [Int: Int] {
    var needOf: [Int: Int] = [:]
    func find(_ need: Int, _ seen: inout Set<Int>) -> Bool {
      for resource in candidates(needs[need].pool) where needs[need].accepts(resource) {
        guard seen.insert(resource.id).inserted else { continue }
        if let other = needOf[resource.id], !find(other, &seen) { continue }
        needOf[resource.id] = need
        return true
      }
      return false
    }
    for need in needs.indices {
      var seen: Set<Int> = []
      _ = find(need, &seen)
    }
    return Dictionary(uniqueKeysWithValues: needOf.map { ($0.value, $0.key) })
  }
}
