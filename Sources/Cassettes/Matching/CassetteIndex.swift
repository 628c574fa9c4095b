import HTTPMessages

/// A cassette's interactions by the key of their requests, for looking one up in the same time however many there are.
package struct CassetteIndex: Sendable {
  /// The number of a group for each key.
  private let groups: [MatchKey: Int32]
  /// Interactions group by group, each in recorded order.
  private let members: [Int32]
  /// Where each group begins in `members`, and the end.
  private let starts: [Int32]
  /// Interactions of no declared upstream, in order: they can never be played.
  package let unassigned: [Int]

  /// Indexes a cassette for an environment.
  ///
  /// - Parameters:
  ///   - interactions: in recorded order.
  ///   - upstreams: the environment's; an interaction belongs to one by name, else by its URL's origin.
  ///   - maker: the rules; keys looked up must be made by the same.
  ///   - body: reads a recorded body.
  /// - Throws: what `body` throws.
  package init(
    _ interactions: [Interaction], upstreams: [CassetteHeader.Upstream], maker: MatchKeyMaker,
    body: (RecordedBody) throws -> [UInt8]
  ) throws {
    let assignment = UpstreamAssignment(upstreams)
    var groups: [MatchKey: Int32] = [:]
    groups.reserveCapacity(interactions.count)
    var unassigned: [Int] = []
    var groupOf = [Int32](repeating: -1, count: interactions.count)
    var counts: [Int32] = []
    for (number, interaction) in interactions.enumerated() {
      guard let upstream = assignment.upstream(of: interaction) else {
        unassigned.append(number)
        continue
      }
      let key = try maker.key(of: interaction.request, upstream: upstream, body: body)
      let group = groups[key] ?? Int32(counts.count)
      if group == counts.count {
        groups[key] = group
        counts.append(0)
      }
      groupOf[number] = group
      counts[Int(group)] += 1
    }

    var starts: [Int32] = [0]
    starts.reserveCapacity(counts.count + 1)
    for count in counts { starts.append((starts.last ?? 0) + count) }
    var next = starts
    var members = [Int32](repeating: 0, count: interactions.count - unassigned.count)
    for (number, group) in groupOf.enumerated() where group >= 0 {
      members[Int(next[Int(group)])] = Int32(number)
      next[Int(group)] += 1
    }
    self.groups = groups
    self.members = members
    self.starts = starts
    self.unassigned = unassigned
  }

  /// How many different requests there are.
  var groupCount: Int { starts.count - 1 }

  /// The group of a key.
  @inline(__always)
  func group(of key: MatchKey) -> Int? {
    groups[key].map(Int.init)
  }

  /// How many interactions a group has.
  @inline(__always)
  func count(of group: Int) -> Int {
    Int(starts[group + 1] - starts[group])
  }

  /// The interaction at a place in its group.
  @inline(__always)
  func interaction(_ place: Int, of group: Int) -> Int {
    Int(members[Int(starts[group]) + place])
  }
}

/// Which of the environment's upstreams an interaction belongs to.
package struct UpstreamAssignment: Sendable {
  private var byName: [String: Int] = [:]
  private var byOrigin: [Origin: Int] = [:]

  /// - Parameter upstreams: the environment's; an interaction belongs to one by name, else by its URL's origin.
  package init(_ upstreams: [CassetteHeader.Upstream]) {
    for (index, upstream) in upstreams.enumerated() {
      byName[upstream.name] = byName[upstream.name] ?? index
      byOrigin[upstream.origin] = byOrigin[upstream.origin] ?? index
    }
  }

  /// The index of the upstream; nil when none of them is meant.
  package func upstream(of interaction: Interaction) -> Int? {
    if let name = interaction.upstream, let index = byName[name] { return index }
    return RecordedURL(interaction.request.url).origin.flatMap { byOrigin[$0] }
  }
}

extension MatchKeyMaker {
  /// The key of a recorded request.
  ///
  /// - Parameters:
  ///   - request: what was recorded.
  ///   - upstream: the index of the upstream that it belongs to.
  ///   - body: reads its body.
  /// - Returns: the key of any request that counts as the same.
  /// - Throws: what `body` throws.
  package func key(
    of request: RecordedRequest, upstream: Int, body: (RecordedBody) throws -> [UInt8]
  ) throws -> MatchKey {
    var method = request.method
    var target = RecordedURL(request.url).target
    var contentType = request.headers["Content-Type"] ?? ""
    let bytes = try body(request.body)
    return method.withUTF8 { method in
      target.withUTF8 { target in
        contentType.withUTF8 { contentType in
          bytes.withUnsafeBytes { bytes in
            key(
              method: UnsafeRawBufferPointer(method), upstream: upstream, target: UnsafeRawBufferPointer(target),
              contentType: UnsafeRawBufferPointer(contentType), body: bytes)
          }
        }
      }
    }
  }
}
