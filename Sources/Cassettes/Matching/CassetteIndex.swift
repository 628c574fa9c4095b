package import HTTPMessages

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
  /// In which order they play.
  package let order: PlaybackOrder
  /// What waits for what; nil where the order asks for none.
  let sequence: RecordedSequence?
  private let variants: VariantIndex
  /// The key of each interaction without rules, where it is needed.
  private let plainKeys: [MatchKey]

  /// Indexes a cassette for an environment.
  ///
  /// - Parameters:
  ///   - interactions: in recorded order.
  ///   - upstreams: the environment's; an interaction belongs to one by name, else by its URL's origin.
  ///   - maker: the rules; keys looked up must be made by the same.
  ///   - order: in which the interactions are to play.
  ///   - body: reads the body of the interaction with this number, which lies in a file, piece by piece.
  /// - Throws: what `body` throws; when a pattern of the rules takes too long.
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
    // Made beforehand only where it takes all of them to tell which have variants.
    var known: [RequestKeys?] = []
    // Here and below each is looked at where it stands: a copy would retain all of its texts.
    if interactions.indices.contains(where: { RequestVariant.decides(interactions[$0].response.status) }) {
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
      let key = variants.keys.isEmpty ? keys.key : variants.keys[number] ?? keys.key
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

  /// Whether recordings of one request are told apart by the fields of ``RequestVariant``: whoever looks a request up has
  /// to ask for ``keys(_:of:upstream:maker:)`` then.
  package var hasVariants: Bool { !variants.isEmpty }

  /// The keys of a request by its ``RequestVariant``, too.
  ///
  /// - Parameters:
  ///   - keys: without it.
  ///   - request: in the upstream's terms.
  ///   - upstream: its index.
  ///   - maker: the rules.
  /// - Returns: those to look it up by.
  package func keys(_ keys: RequestKeys, of request: Request, upstream: Int, maker: MatchKeyMaker) -> RequestKeys {
    guard hasVariants else { return keys }
    let variant = maker.variant(
      of: keys.key, method: request.method, upstream: upstream, target: request.target, headers: request.headers)
    return RequestKeys(
      key: variants.found(keys.key, variant) { group(of: $0) != nil }, plain: keys.plain)
  }

  /// How many interactions there are, those of no declared upstream among them.
  var interactionCount: Int { members.count + unassigned.count }

  /// The key of an interaction without rules; nil where nobody asks for it.
  func plainKey(of interaction: Int) -> MatchKey? { plainKeys.isEmpty ? nil : plainKeys[interaction] }

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
    upstream(name: interaction.upstream, url: interaction.request.url)
  }

  /// The index of the upstream; as the other.
  package func upstream(name: String?, url: String) -> Int? {
    if let name, let index = byName[name] { return index }
    return RecordedURL(url).origin.flatMap { byOrigin[$0] }
  }
}

extension MatchKeyMaker {
  /// Whether a recorded request moves the state.
  fileprivate func changesState(_ interaction: Interaction, assignment: UpstreamAssignment) -> Bool {
    let method = interaction.request.method
    guard let book else { return Criteria.plain.changesState(method: method) }
    let path = Array(RecordedURL(interaction.request.url).path.utf8).withUnsafeBytes { CanonicalPath.bytes(of: $0) }
    let upstream = assignment.upstream(of: interaction).map { book.upstreams[$0].name }
    return book.criteria(method: method, upstream: upstream, path: path).changesState(method: method)
  }
}
