package import EnvironmentConfiguration
package import HTTPMessages

/// A cassette's interactions by request key, for lookups in constant time.
package struct CassetteIndex: Sendable {
  /// The group number of each key.
  private let groups: [MatchKey: Int32]
  /// The interactions of each group in recorded order, one group after the other.
  private let members: [Int32]
  /// The offset in `members` at which each group begins, and the end.
  private let starts: [Int32]
  /// The interactions of undeclared upstreams, in order. They are never replayed.
  package let unassigned: [Int]
  /// The order of playback.
  package let order: PlaybackOrder
  /// The constraints of the order; nil if it has none.
  let sequence: RecordedSequence?
  private let variants: VariantIndex
  /// The keys of requests that both the test itself and the app sent in the recording. Only these are distinguished.
  private let sharedWithSetup: Set<MatchKey>
  /// The key of each interaction without rules, if needed.
  private let plainKeys: [MatchKey]

  /// Indexes a cassette for an environment.
  ///
  /// - Parameters:
  ///   - interactions: in recorded order.
  ///   - upstreams: the environment's. An interaction belongs to the one with its upstream name, or with the origin of
  ///     its URL.
  ///   - maker: the rules. Lookups must use keys made by the same rules.
  ///   - order: the order of playback.
  ///   - body: streams the request body of an interaction, given by number, from its file.
  /// - Throws: errors of `body`; an error if a pattern takes too long.
  package init(
    _ interactions: [Interaction], upstreams: [CassetteHeader.Upstream], maker: MatchKeyMaker,
    order: PlaybackOrder = .request, body: (Int, inout KeyStream) throws -> Void
  ) throws {
    let needsPlain = order == .free && maker.book != nil
    var plainKeys: [MatchKey] = []
    let assignment = UpstreamAssignment(upstreams)
    var groups: [MatchKey: Int32] = [:]
    groups.reserveCapacity(interactions.count)
    var unassigned: [Int] = []
    var groupOf = [Int32](repeating: -1, count: interactions.count)
    var counts: [Int32] = []
    // Variants and requests of the test itself depend on all keys, so compute them first if there may be any.
    var known: [RequestKeys?] = []
    // Interactions are accessed in place here and below: a copy would retain all their strings.
    let hasSetup = interactions.indices.contains { interactions[$0].isSetup }
    if hasSetup
      || interactions.indices.contains(where: { RequestVariant.decides(interactions[$0].response.status) })
    {
      known = try interactions.enumerated().map { number, interaction in
        try assignment.upstream(of: interaction).map { upstream in
          try maker.keys(of: interaction.request, upstream: upstream) { try body(number, &$0) }
        }
      }
    }
    variants = VariantIndex(interactions, keys: known.map { $0?.key }) { number, key in
      let request = interactions[number].request
      return maker.variant(
        of: key, method: request.method, upstream: assignment.upstream(of: interactions[number]) ?? -1,
        target: RecordedURL(request.url).target, headers: request.headers)
    }
    let variantKeys = variants.keys
    func keys(of isSetup: Bool) -> Set<MatchKey> {
      Set(
        interactions.indices.lazy.filter { interactions[$0].isSetup == isSetup }
          .compactMap { variantKeys.isEmpty ? known[$0]?.key : variantKeys[$0] ?? known[$0]?.key })
    }
    sharedWithSetup = hasSetup ? keys(of: true).intersection(keys(of: false)) : []
    for number in interactions.indices {
      let name = interactions[number].upstream
      guard let upstream = assignment.upstream(name: name, url: interactions[number].request.url) else {
        unassigned.append(number)
        if needsPlain { plainKeys.append(MatchKey(high: 0, low: 0)) }
        continue
      }
      let keys =
        try known.isEmpty
        ? maker.keys(of: interactions[number].request, upstream: upstream) { try body(number, &$0) }
        : known[number] ?? RequestKeys.none
      var key = variants.keys.isEmpty ? keys.key : variants.keys[number] ?? keys.key
      if interactions[number].isSetup, sharedWithSetup.contains(key) { key = key.ofSetup }
      if needsPlain { plainKeys.append(keys.plain) }
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
    self.order = order
    self.plainKeys = plainKeys
    sequence =
      switch order {
      case .strict: RecordedSequence(interactions) { groupOf[$0] >= 0 }
      case .state:
        RecordedSequence(interactions) { number in
          groupOf[number] >= 0 && maker.changesState(interactions[number], assignment: assignment)
        }
      case .request, .free: nil
      }
  }

  /// Whether recordings of the same request differ by the fields of ``RequestVariant``. If so, look requests up with
  /// ``keys(_:of:upstream:maker:)``.
  package var hasVariants: Bool { !variants.isEmpty }

  /// The keys of a request, including its ``RequestVariant``.
  ///
  /// - Parameters:
  ///   - keys: the keys without the variant.
  ///   - request: with upstream URLs.
  ///   - upstream: the index of the upstream.
  ///   - maker: the rules.
  /// - Returns: the keys to look up.
  package func keys(_ keys: RequestKeys, of request: Request, upstream: Int, maker: MatchKeyMaker) -> RequestKeys {
    guard hasVariants else { return keys }
    let variant = maker.variant(
      of: keys.key, method: request.method, upstream: upstream, target: request.target, headers: request.headers)
    return RequestKeys(
      key: variants.found(keys.key, variant) { group(of: $0) != nil }, plain: keys.plain)
  }

  /// The keys of a request that the test itself sends. If both the test and the app sent it in the recording, each
  /// gets its own responses.
  package func keysOfSetup(_ keys: RequestKeys) -> RequestKeys {
    sharedWithSetup.contains(keys.key) ? RequestKeys(key: keys.key.ofSetup, plain: keys.plain) : keys
  }

  /// The number of interactions, including those of undeclared upstreams.
  var interactionCount: Int { members.count + unassigned.count }

  /// The key of an interaction without rules; nil if not needed.
  func plainKey(of interaction: Int) -> MatchKey? { plainKeys.isEmpty ? nil : plainKeys[interaction] }

  /// The number of different requests.
  var groupCount: Int { starts.count - 1 }

  /// The group of a key.
  @inline(__always)
  func group(of key: MatchKey) -> Int? {
    groups[key].map(Int.init)
  }

  /// The number of interactions in a group.
  @inline(__always)
  func count(of group: Int) -> Int {
    Int(starts[group + 1] - starts[group])
  }

  /// The interaction at a position in its group.
  @inline(__always)
  func interaction(_ place: Int, of group: Int) -> Int {
    Int(members[Int(starts[group]) + place])
  }
}

/// Assigns interactions to the environment's upstreams.
package struct UpstreamAssignment: Sendable {
  private var byName: [String: Int] = [:]
  private var byOrigin: [Origin: Int] = [:]

  /// - Parameter upstreams: the environment's. An interaction belongs to the one with its upstream name, or with the
  ///   origin of its URL.
  package init(_ upstreams: [CassetteHeader.Upstream]) {
    for (index, upstream) in upstreams.enumerated() {
      byName[upstream.name] = byName[upstream.name] ?? index
      byOrigin[upstream.origin] = byOrigin[upstream.origin] ?? index
    }
  }

  /// The index of the upstream; nil if none matches.
  package func upstream(of interaction: Interaction) -> Int? {
    upstream(name: interaction.upstream, url: interaction.request.url)
  }

  /// The index of the upstream; nil if none matches.
  package func upstream(name: String?, url: String) -> Int? {
    if let name, let index = byName[name] { return index }
    return RecordedURL(url).origin.flatMap { byOrigin[$0] }
  }
}

extension MatchKeyMaker {
  /// Whether a recorded request changes the state.
  fileprivate func changesState(_ interaction: Interaction, assignment: UpstreamAssignment) -> Bool {
    let method = interaction.request.method
    guard let book else { return Criteria.plain.changesState(method: method) }
    let path = Array(RecordedURL(interaction.request.url).path.utf8).withUnsafeBytes { CanonicalPath.bytes(of: $0) }
    let upstream = assignment.upstream(of: interaction).map { book.upstreams[$0].name }
    return book.criteria(method: method, upstream: upstream, path: path).changesState(method: method)
  }
}
