import Basics
import CassetteChecks
import Cassettes
import ControlAPI
import Diorama
import Foundation
import HTTPMessages
import HTTPServer
import LaunchContract
import Stubs
import Synchronization
import Transforms

/// The mock backend of an environment: its stubs, its request log, and the files that responses are read from.
///
/// Every environment has one. Until a stub is added, it costs one check a request.
final class StubServer: Sendable {
  /// The delays for all responses, which the admin API sets.
  struct Settings: Sendable {
    var fixedDelay: Double?
    var distribution: StubResponse.DelayDistribution?
  }

  struct State: Sendable {
    var store = StubStore()
    var collections = CollectionSet()
    /// The version of the collections of the file; -1 if others were restored.
    var loadedVersion = 0
    var log = RequestLog()
    var settings = Settings()
    /// How often each key has been used for random values.
    fileprivate var uses: [String: Int] = [:]
    /// The decisions for method and target that hold whatever headers and body are, of one generation of the store.
    fileprivate var decisions: [Target: Decision?] = [:]
    fileprivate var decidedSize = 0
    fileprivate var generation = -1
    /// The generation of the store after the folder was read.
    fileprivate var loadedGeneration = 0
    /// The stubs of the folder by id, as they were read.
    fileprivate var loaded: [String: JSON] = [:]
    /// What to tell the user about the folder.
    fileprivate(set) var notes: [String] = []
  }

  /// A hash of port, method and target.
  fileprivate struct Target: Hashable, Sendable {
    let high: UInt64
    let low: UInt64

    func hash(into hasher: inout Hasher) { hasher.combine(low) }
  }

  fileprivate struct Decision: Sendable {
    let stub: String
    let response: PreparedResponse
    let status: Int
    let detail: Journal.Detail
    let logged: RequestLog.Response
    var origin: Origin
    var upstream: String?
  }

  /// The maximum size in bytes of a request that a stub can answer.
  static let bodyLimit = 16 << 20
  /// The most decisions kept, and about how many bytes they may have.
  private static let decisionLimit = 10_000
  private static let decidedLimit = 64 << 20

  let state = Guarded(State())
  /// Whether all texts of responses are templates.
  let areTemplates: Bool
  /// The folder with `mappings` and `__files`; nil if there is none.
  let folder: StubFolder?
  /// The API's OpenAPI document; nil if there is none.
  let contract: OpenAPIMock?
  /// Derives random values.
  let derivation: StringDerivation
  /// Whether requests are logged and looked up: there is a stub, or the environment answers from stubs alone.
  var isActive: Bool { active.load(ordering: .acquiring) }
  private let active: Atomic<Bool>
  /// Requests whose responses clients of the admin API provide.
  let callbacks = Callbacks()
  /// Requests that are to be sent after answers.
  let webhooks = RunningStreams()
  /// The open event streams and WebSockets.
  let conversations = Conversations()

  /// - Parameters:
  ///   - folder: the folder with mappings; its mappings are read here.
  ///   - collections: the collections.
  ///   - contract: the API's OpenAPI document.
  ///   - areTemplates: whether all texts of responses are templates.
  ///   - seed: the seed of random values.
  ///   - isActive: whether it is used from the start.
  /// - Throws: ``CodedError`` if a mapping is not valid.
  init(
    folder: StubFolder?, collections: CollectionSet, contract: OpenAPIMock?, areTemplates: Bool, seed: String,
    isActive: Bool
  ) throws(CodedError) {
    let hasCollections = !collections.collections.isEmpty
    self.folder = folder
    self.contract = contract
    self.areTemplates = areTemplates
    derivation = StringDerivation(seed: seed)
    active = Atomic(isActive || folder != nil || hasCollections)
    state.withLock { state in
      state.collections = collections
      state.loadedVersion = collections.version
    }
    if let folder { try load(folder) }
  }

  private func load(_ folder: StubFolder) throws(CodedError) {
    let (mappings, notes) = try folder.mappings(isTemplate: areTemplates, makeID: newID)
    try state.withLock { (state) throws(CodedError) in
      for mapping in mappings { try state.store.add(mapping) }
      state.noteLoaded()
      state.notes = notes
    }
  }

  // MARK: Changes

  /// The id of a new mapping: derived from the seed, so that runs repeat.
  func newID() -> String {
    while true {
      let id = derivation.lowercaseUUID(key: "stub id", ordinal: next("stub id"))
      // Others may have been restored.
      if state.withLock({ $0.store[id] == nil }) { return id }
    }
  }

  /// The id of a logged request.
  func id(ofRequest number: Int) -> String {
    derivation.lowercaseUUID(key: "stub request", ordinal: number)
  }

  /// The id that a logged request gets in place of a stub's.
  func id(ofMiss number: Int) -> String {
    derivation.lowercaseUUID(key: "stub miss", ordinal: number)
  }

  /// The next ordinal of a key.
  private func next(_ key: String) -> Int {
    state.withLock { state in
      defer { state.uses[key, default: 0] += 1 }
      return state.uses[key, default: 0]
    }
  }

  func add(_ mapping: StubMapping, keepsPlace: Bool = false) throws(CodedError) {
    try state.withLock { (state) throws(CodedError) in try state.store.add(mapping, keepsPlace: keepsPlace) }
    active.store(true, ordering: .releasing)
  }

  /// Adds a collection, or replaces the one with the same name.
  func add(_ collection: StubCollection) throws(CodedError) {
    try state.withLock { (state) throws(CodedError) in try state.collections.add(collection) }
    active.store(true, ordering: .releasing)
  }

  func set(_ settings: Settings) {
    state.withLock { state in
      state.settings = settings
      // Earlier decisions know nothing of delays.
      state.generation = -1
    }
  }

  /// Restores the mappings of the folder, and the first state of all scenarios.
  func reset() throws(CodedError) {
    let mappings = try folder?.mappings(isTemplate: areTemplates, makeID: newID).mappings ?? []
    try state.withLock { (state) throws(CodedError) in
      state.store.removeAll()
      state.store.resetScenarios()
      state.settings = Settings()
      for mapping in mappings { try state.store.add(mapping) }
      state.noteLoaded()
    }
  }

  /// Whether a stub is one of the folder, unchanged.
  func isFromFolder(_ mapping: StubMapping) -> Bool { state.withLock { $0.loaded[mapping.id] == mapping.source } }

  /// Whether there is an OpenAPI document, or there are, or were, stubs or collections.
  var isInUse: Bool {
    folder != nil || contract != nil
      || state.withLock { $0.store.generation > 0 || $0.collections.version > 0 || $0.loadedVersion == -1 }
  }

  /// What a message adds to `has no stub` if there are no stubs.
  var absence: String {
    let paths = state.withLock { $0.collections.collections.map(\.path) }
    return paths.isEmpty
      ? "; mode mock has none, so use mode once to answer from a recording"
      : ", and is not in a collection; their paths are \(paths.prefix(10).joined(separator: ", "))"
  }

  // MARK: Restarts

  /// How often stubs, scenarios and collections have changed.
  var changeCount: Int { state.withLock { $0.store.changes + $0.collections.version } }

  /// What a snapshot holds: the stubs, unless they are those of the folder, the states of scenarios, the collections,
  /// unless they are those of the file, and how often all of that has changed.
  var progress: (sources: [JSON]?, states: [String: String], collections: String?, uses: [String: Int], changes: Int) {
    state.withLock { state in
      let isChanged = state.store.generation != state.loadedGeneration
      let version = state.collections.version
      return (
        isChanged ? state.store.sources : nil, state.store.states,
        version == state.loadedVersion ? nil : String(decoding: state.collections.stored, as: UTF8.self), state.uses,
        state.store.changes + version
      )
    }
  }

  func restore(
    sources: [JSON]?, states: [String: String], collections: String?, uses: [String: Int]
  ) throws(CodedError) {
    state.withLock { $0.uses.merge(uses) { max($0, $1) } }
    if let collections {
      let restored = try CollectionSet(stored: Array(collections.utf8))
      state.withLock { state in
        state.collections = restored
        state.loadedVersion = -1
      }
      active.store(true, ordering: .releasing)
    }
    if let sources {
      state.withLock { $0.store.removeAll() }
      for source in sources { try add(MappingReader.mapping(source, isTemplate: areTemplates, makeID: newID)) }
    }
    state.withLock { state in for (name, value) in states { state.store.setState(value, of: name) } }
  }

  // MARK: Answers

  /// Whether the URL of a stub fits a request, so that its body has to be read.
  func mayAnswer(method: String, target: String) -> Bool {
    guard isActive else { return false }
    let path = String(target.prefix { $0 != "?" })
    return state.withLock { state in
      state.store.mayAnswer(method: method, target: target) || state.collections.mayAnswer(path: path)
    }
  }

  /// The stubs nearest to a request, and what differs.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - context: the time.
  ///   - shown: the request as messages may show it.
  /// - Returns: nil without stubs.
  func nearest(
    to request: StubRequest, _ context: MatchContext, shown: StubRequest
  ) -> [Report.NearestStub]? {
    // Outside the lock, since comparing texts takes long.
    let store = state.withLock { $0.store }
    let nearest = store.nearest(request, context)
    guard !nearest.isEmpty else { return nil }
    return nearest.map { near in
      .init(
        stub: near.mapping.label,
        differences: near.mapping.request.differences(request, context, shown: shown)
          + [store.obstacle(near.mapping, request)].compactMap(\.self))
    }
  }

  /// The answer of a collection; nil if none has this path.
  func collectionAnswer(to request: StubRequest) throws(CodedError) -> CollectionAnswer? {
    try withCollections { (collections, makeID) throws(CodedError) in
      try collections.respond(to: request, makeID: makeID)
    }
  }

  /// Uses the collections, with a way to make ids of new items.
  func withCollections<Result>(
    _ use: (inout CollectionSet, () throws(CodedError) -> String) throws(CodedError) -> Result
  ) throws(CodedError) -> Result {
    let (result, changes) = try state.withLock { (state) throws(CodedError) in
      let key = "collection id"
      var ordinal = state.uses[key, default: 0]
      defer { state.uses[key] = ordinal }
      let result = try use(&state.collections) { () throws(CodedError) in
        defer { ordinal += 1 }
        return derivation.lowercaseUUID(key: key, ordinal: ordinal)
      }
      return (result, state.collections.changeCount)
    }
    conversations.noteCollectionChanges(changes)
    return result
  }

  /// A way to draw random values for one response.
  ///
  /// The values of a stub do not depend on requests to other stubs.
  func randomBytes(for mapping: StubMapping) -> StubBytes { randomBytes("stub \(mapping.id)") }

  /// A source of random values for one use of a key.
  private func randomBytes(_ key: String) -> StubBytes { StubBytes(derivation, key: key, ordinal: next(key)) }

  /// A source of random values for one use of one of many keys. Its uses are counted together with those of a few other
  /// keys, which limits memory.
  func randomBytes(counted key: String) -> StubBytes {
    var hash = SipHash()
    key.utf8.withContiguousStorageIfAvailable { hash.append(UnsafeRawBufferPointer($0)) }
    return StubBytes(derivation, key: key, ordinal: next("fault \(hash.finish().0 % 10_000)"))
  }

  /// The fast path: the response of a stub that answers this method and target, whatever headers and body are.
  ///
  /// - Returns: nil if that depends on more, or if no stub matches.
  func answer(
    _ request: borrowing RequestView, at upstream: Int?, of environment: Environment,
    journal: (Int, Journal.Detail) -> Bool
  ) -> PreparedResponse? {
    var hash = SipHash()
    hash.append(request.method)
    hash.append(0)
    hash.append(request.target)
    hash.append(0)
    hash.append(UInt8(truncatingIfNeeded: upstream ?? -1))
    let words = hash.finish()
    guard let decision = decision(Target(high: words.0, low: words.1), request, upstream, environment),
      journal(decision.status, decision.detail)
    else { return nil }
    let logged = LoggedRequest(view: request, origin: decision.origin, upstream: decision.upstream)
    let now = Date()
    state.withLock { state in
      state.store.use(decision.stub)
      state.log.add(logged, at: now, stub: decision.stub, status: decision.status, response: decision.logged)
    }
    return decision.response
  }

  private func decision(
    _ target: Target, _ request: borrowing RequestView, _ upstream: Int?, _ environment: Environment
  ) -> Decision? {
    if let known = state.withLock({ $0.isCurrent ? $0.decisions[target] : nil }) { return known }
    let method = String(wire: request.method)
    let url = String(wire: request.target)
    let name = upstream.map { environment.upstreams[$0].name }
    let origin =
      upstream.map { environment.upstreams[$0].origin }
      ?? Origin(scheme: "http", host: environment.host, port: Int(environment.mainPort))
    return state.withLock { state in
      if !state.isCurrent || state.decisions.count > Self.decisionLimit || state.decidedSize > Self.decidedLimit {
        (state.decisions, state.decidedSize) = ([:], 0)
        state.generation = state.store.generation
      }
      var decision: Decision?
      // The slow path knows how to answer HEAD.
      if method != "HEAD", state.settings.fixedDelay == nil, state.settings.distribution == nil,
        let mapping = state.store.constant(method: method, target: url), case .bytes(let body) = mapping.response.body
      {
        decision = Self.decide(mapping, body, method: method, url: origin.description + url) {
          guard let upstream else { return }
          StubWay(addresses: environment.addresses, upstream: upstream, form: .ownPort).translate(&$0)
        }
        state.decidedSize += 2 * body.count + 1000
        decision?.origin = origin
        decision?.upstream = name
      }
      state.decisions[target] = .some(decision)
      return decision
    }
  }

  private static func decide(
    _ mapping: StubMapping, _ body: [UInt8], method: String, url: String, translate: (inout Response) -> Void
  ) -> Decision? {
    let headers = headers(of: mapping, mapping.response.headers)
    var response = Response(status: mapping.response.status, headers: headers, body: .bytes(body))
    translate(&response)
    guard case .bytes(let sent) = response.body,
      let prepared = try? PreparedResponse(status: response.status, headers: response.headers, body: sent)
    else { return nil }
    return Decision(
      stub: mapping.id, response: prepared, status: response.status,
      detail: Journal.Detail(method: method, url: url, text: mapping.label),
      logged: RequestLog.Response(headers: headers, body: body), origin: Origin(scheme: "", host: "", port: 0))
  }

  /// The header fields of a response, with those that name the stub.
  static func headers(of mapping: StubMapping, _ fields: Headers) -> Headers {
    var headers = fields
    headers.append("Matched-Stub-Id", mapping.id)
    if let name = mapping.name, Headers.Field("Matched-Stub-Name", name).isSendable {
      headers.append("Matched-Stub-Name", name)
    }
    return headers
  }
}

extension Environment {
  /// How many requests the log keeps; nil for the default.
  package func keepRequests(_ count: Int?) {
    stubs.state.withLock { $0.log.capacity = count ?? RequestLog.defaultCapacity }
  }

  /// The number of stubs.
  package var stubCount: Int { stubs.state.withLock { $0.store.count } }
}

extension StubServer.State {
  fileprivate mutating func noteLoaded() {
    loadedGeneration = store.generation
    loaded = Dictionary(store.mappings.map { ($0.id, $0.source) }) { first, _ in first }
  }

  fileprivate var isCurrent: Bool { generation == store.generation }
}

extension LoggedRequest {
  fileprivate init(view: borrowing RequestView, origin: Origin, upstream: String?) {
    var head: [UInt8] = []
    head.reserveCapacity(512)
    head.append(contentsOf: view.method)
    head.append(0)
    head.append(contentsOf: view.target)
    head.append(0)
    _ = view.forEachHeader { name, value in
      head.append(contentsOf: name)
      head.append(0)
      head.append(contentsOf: value)
      head.append(0)
      return true
    }
    self.init(head: head, body: Array(view.body), origin: origin, upstream: upstream)
  }
}

extension StringDerivation {
  fileprivate func lowercaseUUID(key: String, ordinal: Int) -> String {
    (try? uuid(key: key, ordinal: ordinal, version4: true))?.uuidString.lowercased() ?? ""
  }
}

extension StubMapping {
  /// What the journal shows.
  var label: String { "stub \(name ?? request.summary)" }
}

/// Random bytes for one response, the same in every run with the same seed.
final class StubBytes: Sendable {
  private let derivation: StringDerivation
  private let key: String
  private let draws = Guarded(0)

  init(_ derivation: StringDerivation, key: String, ordinal: Int) {
    self.derivation = derivation
    self.key = "\(key) \(ordinal)"
  }

  /// An integer, uniformly distributed.
  func integer(in range: ClosedRange<Int>) -> Int {
    let draw = draws.withLock { draws in
      draws += 1
      return draws
    }
    let value = try? derivation.integer(
      key: key, ordinal: draw, in: Int64(range.lowerBound)...Int64(range.upperBound))
    return value.map { Int($0) } ?? range.lowerBound
  }

  /// Bytes, uniformly distributed.
  func bytes(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count { withUnsafeBytes(of: integer(in: .min ... .max)) { bytes += $0 } }
    return Array(bytes.prefix(count))
  }

  /// A number from 0 to 1, without 1.
  func fraction() -> Double { Double(integer(in: 0...((1 << 53) - 1))) / Double(1 << 53) }
}
