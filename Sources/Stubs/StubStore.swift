package import Basics
import HTTPMessages
import Foundation

/// The stubs of an environment and the states of their scenarios.
///
/// Of the stubs that match a request, the one with the lowest priority number answers; among equals, the one added last.
/// Stubs are found by method and URL: by the whole URL, by the path, or by the first segment of the path where the rest is
/// a pattern. Only stubs whose URL is a pattern from the start are tried for every request. Among the stubs for one URL,
/// those that require a body equal to a JSON value are looked up by that value.
///
/// ```swift
/// var store = StubStore()
/// store.add(mapping)
/// let answer = try store.match(request, context)
/// ```
package struct StubStore: Sendable {
  /// The most stubs an environment can have.
  package static let limit = 100_000

  /// The most stubs whose distance from a request is computed.
  private static let compared = 200

  /// A stub's position in the order of lookup.
  private struct Rank: Comparable, Sendable {
    let priority: Int
    /// Counts additions.
    let number: Int

    static func < (left: Rank, right: Rank) -> Bool {
      left.priority == right.priority ? left.number > right.number : left.priority < right.priority
    }
  }

  private struct Entry: Sendable {
    let rank: Rank
    var mapping: StubMapping
    /// How many requests it has answered.
    var uses = 0
  }

  /// Where a stub is found.
  private enum Key: Hashable, Sendable {
    case url(method: String?, String)
    case path(method: String?, String)
    case segment(method: String?, Substring)
    case anywhere(method: String?)
  }

  /// Stubs with one key.
  private struct Bucket: Sendable {
    typealias List = [(rank: Rank, id: String)]
    /// The ids of stubs that require a body equal to a JSON value, by that value, in lookup order.
    private var byJSON: [JSONEquality.Fingerprint: List] = [:]
    /// The ids of the other stubs, in lookup order.
    private var others: List = []

    var isEmpty: Bool { others.isEmpty && byJSON.isEmpty }
    var all: [List] { [others] + byJSON.values }

    /// The stubs that may match a request; parses its body only if that distinguishes stubs.
    func candidates(for request: StubRequest) -> [List] {
      guard !byJSON.isEmpty, let body = request.bodyValue, body.json != nil else { return [others] }
      // A value with a repeated name has no fingerprint, so any stub may match.
      guard let fingerprint = body.fingerprint else { return all }
      return [others, byJSON[fingerprint] ?? []]
    }

    mutating func insert(_ entry: Entry) {
      let element = (rank: entry.rank, id: entry.mapping.id)
      func insert(into list: inout List) {
        list.insert(element, at: list.firstIndex { element.rank < $0.rank } ?? list.endIndex)
      }
      if let fingerprint = entry.mapping.request.bodyFingerprint {
        insert(into: &byJSON[fingerprint, default: []])
      } else {
        insert(into: &others)
      }
    }

    mutating func remove(_ entry: Entry) {
      guard let fingerprint = entry.mapping.request.bodyFingerprint else {
        return others.removeAll { $0.id == entry.mapping.id }
      }
      byJSON[fingerprint]?.removeAll { $0.id == entry.mapping.id }
      if byJSON[fingerprint]?.isEmpty == true { byJSON[fingerprint] = nil }
    }
  }

  private var entries: [String: Entry] = [:]
  private var index: [Key: Bucket] = [:]
  /// The ids of stubs with an event stream or a WebSocket.
  private var conversations: Set<String> = []
  private var additions = 0
  /// The scenarios' states, if they have left the first.
  package private(set) var states: [String: String] = [:]
  /// Changes whenever stubs or states are changed other than by an answer.
  package private(set) var generation = 0
  private var moves = 0
  /// Changes whenever anything changes but the number of answers.
  package var changes: Int { generation + moves }
  /// The JSON of all stubs, in the order of their addition.
  package var sources: [JSON] { entries.values.sorted { $0.rank.number < $1.rank.number }.map(\.mapping.source) }

  package init() {}

  package var count: Int { entries.count }

  /// All stubs in the order of lookup, as the admin API lists them.
  package var mappings: [StubMapping] {
    entries.values.sorted { $0.rank < $1.rank }.map(\.mapping)
  }

  /// The stubs that have answered no request, in the order of their addition.
  package var unused: [StubMapping] {
    entries.values.filter { $0.uses == 0 }.sorted { $0.rank.number < $1.rank.number }.map(\.mapping)
  }

  package subscript(_ id: String) -> StubMapping? { entries[id.lowercased()]?.mapping }

  /// Adds a stub, or replaces the one with the same id.
  ///
  /// - Parameters:
  ///   - mapping: the stub.
  ///   - keepsPlace: whether a replaced stub keeps its place in the order of lookup.
  /// - Throws: ``CodedError`` if there are too many.
  package mutating func add(_ mapping: StubMapping, keepsPlace: Bool = false) throws(CodedError) {
    guard entries.count < Self.limit else {
      throw CodedError(.usage, "an environment can have at most \(Self.limit) stubs; remove some first")
    }
    let known = entries[mapping.id]
    if let known { unlink(known) }
    additions += 1
    let number = keepsPlace ? known?.rank.number ?? additions : additions
    let rank = Rank(priority: mapping.priority, number: number)
    let entry = Entry(rank: rank, mapping: mapping)
    entries[mapping.id] = entry
    if mapping.response.events != nil || mapping.response.webSocket != nil { conversations.insert(mapping.id) }
    index[key(of: mapping.request), default: Bucket()].insert(entry)
    generation += 1
  }

  /// Removes a stub; returns false if there is none.
  @discardableResult
  package mutating func remove(_ id: String) -> Bool {
    guard let entry = entries.removeValue(forKey: id.lowercased()) else { return false }
    unlink(entry)
    generation += 1
    return true
  }

  /// Removes all stubs that fulfil a condition.
  package mutating func removeAll(where isRemoved: (StubMapping) -> Bool = { _ in true }) {
    for mapping in mappings where isRemoved(mapping) { remove(mapping.id) }
  }

  private mutating func unlink(_ entry: Entry) {
    let key = key(of: entry.mapping.request)
    index[key]?.remove(entry)
    if index[key]?.isEmpty == true { index[key] = nil }
    conversations.remove(entry.mapping.id)
  }

  // MARK: Lookup

  /// The answer to a request: the first stub that matches. Its scenario moves on.
  ///
  /// Stubs with a WebSocket answer only handshakes, and are tried first for them.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - context: the time.
  ///   - isSocketWanted: whether only a stub with a WebSocket may answer a handshake.
  /// - Returns: the stub; nil if none matches.
  /// - Throws: ``CodedError`` if a condition exceeds its limits, with the stub's name.
  package mutating func match(
    _ request: StubRequest, _ context: MatchContext, isSocketWanted: Bool = false
  ) throws(CodedError) -> StubMapping? {
    var ids = candidates(method: request.method, target: request.target) { $0.candidates(for: request) }
    if !conversations.isEmpty {
      let sockets = ids.filter { entries[$0]?.mapping.response.webSocket != nil }
      if !sockets.isEmpty { ids = (request.isHandshake ? sockets : []) + ids.filter { !sockets.contains($0) } }
    }
    for id in ids {
      guard let entry = entries[id], isReady(entry.mapping) else { continue }
      if isSocketWanted, request.isHandshake, entry.mapping.response.webSocket == nil { continue }
      do {
        guard try entry.mapping.request.matches(request, context) else { continue }
      } catch {
        throw CodedError(error.kind, error.message, at: "stub \(entry.mapping.name ?? id)")
      }
      use(id)
      return entry.mapping
    }
    return nil
  }

  /// The stub that answers every request with this method and target, whatever its headers and body are; nil if that
  /// depends on more.
  package func constant(method: String, target: String) -> StubMapping? {
    let request = StubRequest(
      method: method, target: target, headers: [:], body: [], scheme: "", host: "", port: 0, upstream: nil)
    let context = MatchContext(now: .distantPast, timeZone: .gmt)
    for id in candidates(method: method, target: target, \.all) {
      guard let mapping = entries[id]?.mapping else { continue }
      guard let isURLMatch = try? mapping.request.matchesURL(request, context) else { return nil }
      // The fast path never sees a handshake.
      guard isURLMatch, mapping.response.webSocket == nil else { continue }
      let isDecided = mapping.request.isPlain && mapping.scenario == nil && mapping.response.isConstant
      return isDecided && mapping.webhooks.isEmpty ? mapping : nil
    }
    return nil
  }

  /// Whether a stub may match a request with this method and target.
  package func mayAnswer(method: String, target: String) -> Bool {
    buckets(method: method, target: target).contains { !$0.isEmpty }
  }

  /// Counts an answer of a stub, and moves its scenario on.
  package mutating func use(_ id: String) {
    guard let index = entries.index(forKey: id), let step = Self.count(&entries.values[index]), let next = step.next
    else { return }
    if states[step.name] != next { moves += 1 }
    states[step.name] = next
  }

  /// Counts an answer in place: copying a stub costs more than most answers.
  private static func count(_ entry: inout Entry) -> StubMapping.ScenarioStep? {
    entry.uses += 1
    return entry.mapping.scenario
  }

  /// The stubs nearest to a request, with their distance from 0 to 1, the nearest first.
  package func nearest(
    _ request: StubRequest, _ context: MatchContext, limit: Int = 3
  ) -> [(mapping: StubMapping, distance: Double)] {
    var considered = entries.values.sorted { $0.rank < $1.rank }
    if considered.count > Self.compared {
      // Comparing texts takes long, so only the stubs whose URLs begin most like the request's are compared.
      let scores = considered.map { ($0, $0.mapping.request.sharedPrefix(with: request)) }
      considered = scores.sorted { $0.1 > $1.1 }.prefix(Self.compared).map(\.0)
    }
    let near = considered.map { ($0.mapping, $0.mapping.request.distance(request, context)) }
    return Array(near.sorted { $0.1 < $1.1 }.prefix(limit)).map { (mapping: $0.0, distance: $0.1) }
  }

  /// The first stub with an event stream or a WebSocket at a path.
  ///
  /// - Parameters:
  ///   - path: the path without a query.
  ///   - part: the part of the response that it must have.
  /// - Returns: the stub; nil if there is none. Its conditions may still exclude a request.
  package func conversation<Script>(
    at path: String, _ part: KeyPath<StubResponse, Script?>
  ) -> StubMapping? {
    let request = StubRequest(
      method: "GET", target: path, headers: [:], body: [], scheme: "", host: "", port: 0, upstream: nil)
    let context = MatchContext(now: .distantPast, timeZone: .gmt)
    let stubs = conversations.compactMap { entries[$0] }.sorted { $0.rank < $1.rank }.map(\.mapping)
    return stubs.first { mapping in
      guard mapping.response[keyPath: part] != nil, mapping.request.method ?? "GET" == "GET" else { return false }
      switch mapping.request.url {
      case .url(let url): return url.prefix { $0 != "?" } == path
      // A query may matter, too.
      case .urlMatches(let pattern) where pattern.text.contains("?"): return true
      default: return (try? mapping.request.matchesURL(request, context)) ?? false
      }
    }
  }

  /// The labels of the stubs with an event stream or a WebSocket.
  package func conversationURLs<Script>(_ part: KeyPath<StubResponse, Script?>) -> [String] {
    conversations.compactMap { entries[$0] }.sorted { $0.rank < $1.rank }.map(\.mapping)
      .filter { $0.response[keyPath: part] != nil }.map(\.request.summary)
  }

  /// Why a stub's scenario, or its WebSocket, keeps it from answering; nil if it does not.
  package func obstacle(_ mapping: StubMapping, _ request: StubRequest) -> String? {
    if mapping.response.webSocket != nil, !request.isHandshake {
      return "it answers only WebSocket handshakes"
    }
    guard let step = mapping.scenario, let required = step.required, !isReady(mapping) else { return nil }
    return
      "the scenario '\(step.name)' is in the state '\(states[step.name] ?? StubMapping.startState)', not '\(required)'"
  }

  private func isReady(_ mapping: StubMapping) -> Bool {
    guard let step = mapping.scenario, let required = step.required else { return true }
    return required == states[step.name] ?? StubMapping.startState
  }

  /// The ids of the stubs that may match, in the order of lookup.
  private func candidates(
    method: String, target: String, _ select: (Bucket) -> [Bucket.List]
  ) -> [String] {
    let lists = buckets(method: method, target: target).flatMap(select).filter { !$0.isEmpty }
    if lists.count < 2 { return lists.first?.map(\.id) ?? [] }
    return lists.joined().sorted { $0.rank < $1.rank }.map(\.id)
  }

  /// The stubs whose URL may match.
  private func buckets(method: String, target: String) -> [Bucket] {
    let path = target.prefix { $0 != "?" }
    // An empty query counts as no query.
    let target = target.hasSuffix("?") ? String(target.dropLast()) : target
    return [method, nil].flatMap { method in
      [
        Key.url(method: method, target), .path(method: method, String(path)),
        .segment(method: method, Self.firstSegment(path)), .anywhere(method: method),
      ].compactMap { index[$0] }
    }
  }

  private func key(of pattern: RequestPattern) -> Key {
    let method = pattern.method
    switch pattern.url {
    case .url(let text): return .url(method: method, text)
    case .path(let text): return .path(method: method, text)
    case .template(let template): return segmentKey(method, template.literalPrefix)
    case .urlMatches(let pattern): return segmentKey(method, pattern.literalPrefix)
    case .pathMatches(let pattern): return segmentKey(method, pattern.literalPrefix)
    case .any: return .anywhere(method: method)
    }
  }

  /// A segment counts only if the prefix includes its end.
  private func segmentKey(_ method: String?, _ prefix: String) -> Key {
    let segment = Self.firstSegment(prefix[...])
    guard !segment.isEmpty, prefix.utf8.count > segment.utf8.count + 1 else { return .anywhere(method: method) }
    return .segment(method: method, segment)
  }

  /// `orders` of `/orders/7`.
  private static func firstSegment(_ path: Substring) -> Substring {
    guard path.first == "/" else { return "" }
    return path.dropFirst().prefix { $0 != "/" && $0 != "?" }
  }

  // MARK: Scenarios

  /// A scenario: its state, its possible states, and its stubs.
  package struct Scenario: Sendable {
    package var name: String
    package var state: String
    package var possibleStates: [String]
    package var mappings: [StubMapping]
  }

  /// All scenarios, by name.
  package var scenarios: [Scenario] {
    let steps = mappings.filter { $0.scenario != nil }
    return Set(steps.compactMap(\.scenario?.name)).sorted().map { name in
      let own = steps.filter { $0.scenario?.name == name }
      let possible = Set(own.flatMap { [$0.scenario?.required, $0.scenario?.next].compactMap(\.self) })
      return Scenario(
        name: name, state: states[name] ?? StubMapping.startState,
        possibleStates: possible.union([StubMapping.startState]).sorted(), mappings: own)
    }
  }

  /// Sets the state of a scenario; nil for the first.
  package mutating func setState(_ state: String?, of scenario: String) {
    states[scenario] = state
    generation += 1
  }

  /// Sets all scenarios to their first state.
  package mutating func resetScenarios() {
    states = [:]
    generation += 1
  }
}

extension WholePattern {
  /// The text with which every match begins, as far as that is obvious: up to the first special character.
  package var literalPrefix: String {
    var literal = ""
    var rest = text[...]
    while let next = rest.first, !#"[](){}.*+?^$|\"#.contains(next) {
      literal.append(next)
      rest.removeFirst()
    }
    // A quantifier makes the last character optional, and an alternative everything.
    if let next = rest.first, "*?{".contains(next) { literal = String(literal.dropLast()) }
    return text.contains("|") ? "" : literal
  }
}
