package import Basics
import Transforms
package import Cassettes
import EnvironmentConfiguration
import Foundation
import GRPCSchemas
import HTTPMessages
import LaunchContract
import Stubs

/// Decides what an environment's specification leaves open: mode, cassette, upstreams, clock and seed.
package enum Provisioning {
  static func plan(
    _ specification: EnvironmentSpecification, hooks: EnvironmentHooks = EnvironmentHooks(),
    cache: CassetteCache = CassetteCache()
  ) throws(CodedError) -> Environment.Plan {
    var specification = specification
    let token = hooks.token ?? randomToken()
    var mode = try resolve(specification)
    try specification.checkValues()
    let rules = specification.rules ?? MatchingRules()
    var stored: OpenCassette?
    var notes: [String] = []
    var former: [CassetteHeader.Upstream] = []
    if let location = specification.cassette {
      try location.check()
      try CassetteReader.checkIsFile(location)
      try location.checkForSideFiles()
      // Before the cassette is read, because what a killed extension recorded belongs to it.
      if mode == .extend, let note = try UnfinishedRecording.takeUp(location, before: .extend) { notes.append(note) }
      if mode == .replay, !location.exists { throw specification.missing(location) }
      if mode.replays, location.exists {
        let known = try cache.open(location)
        let (rerecords, note) = try specification.verdict(
          in: mode, recordedAt: known.cassette.header.recordedAt, now: Date(),
          upstreams: known.cassette.knownUpstreams.map { ($0.name, $0.origin.description) })
        if let note { notes.append(note) }
        if rerecords {
          mode = .record
          former = known.cassette.knownUpstreams
        }
        stored = rerecords ? nil : known
      }
      if mode == .record, let note = try UnfinishedRecording.takeUp(location, before: .record) { notes.append(note) }
    }
    let recorded = stored?.cassette.header
    if specification.leased == nil, !(specification.resources ?? [:]).isEmpty || !(recorded?.resources ?? [:]).isEmpty {
      guard !mode.mayReachNetwork || (specification.resources ?? [:]).isEmpty else {
        throw CodedError(.usage, "the resources of the environment were not leased; create it with a daemon")
      }
      specification.leased = specification.placeholders(recorded)
      if mode == .replay { notes += specification.resourceNotes(recorded) }
    }
    if let mapped = recorded?.mapped, !mapped.isEmpty { specification.mappedOrigins = mapped }
    let upstreams = try upstreams(specification, mode: mode, stored: stored?.cassette, former: former)
    try specification.checkAccess(to: upstreams, reads: mode.mayReachNetwork)
    notes += rules.notes(for: upstreams)
    // A test may add its stubs later.
    if mode == .mock, specification.caller == .command, !upstreams.isEmpty,
      specification.stubs == nil, specification.collections == nil, specification.openAPI == nil
    {
      notes.append(
        "mode mock answers from stubs, and there are none, so every request gets status 501; name a folder of stubs with "
          + "\(specification.stubsAdvice); to answer from a recording, use mode once")
    }
    if let path = specification.stubs, specification.collections == nil, specification.openAPI == nil,
      let note = try StubFolder(path).emptiness
    {
      notes.append(note)
    }
    let clock = try clock(specification, mode: mode, recorded: recorded)
    // In mode mock no recording keeps the seed, so a constant one makes runs repeat.
    let seed =
      specification.seed ?? recorded?.seed ?? stored?.strings.seed ?? (mode == .mock ? mockSeed : randomSeed())
    let stubs = try stubs(specification, mode: mode, seed: seed)
    notes += stubs.state.withLock(\.notes)
    let schemas = try grpcSchemas(specification, recorded)
    let (dates, moved) = try specification.dateShifter(mode, recordedAt: recorded?.recordedAt, clock: clock)
    var shifter = dates
    shifter?.schemas = schemas
    if let moved { notes.append(moved) }
    let recordedAt = recorded?.recordedAt ?? (mode.mayRecord ? clock.start ?? clock.provisioned : nil)

    var replay: Replay?
    var state = Environment.State(
      ledger: StringLedger(
        stored: stored?.strings ?? StringStoreFile(seed: seed, recording: nil, entries: [:]), mode: mode, seed: seed),
      live: AppSync(
        try MutableState(mode: mode, clock: clock, toggles: specification.toggles, values: specification.values)),
      redactor: try specification.redactor(token: token, schemas: schemas))
    if let stored {
      let opened = try stored.replay(
        upstreams, rules: rules, order: specification.order, redactor: state.redactor)
      if !opened.index.unassigned.isEmpty, mode == .replay {
        notes.append(
          "\(opened.index.unassigned.count) of \(stored.cassette.interactions.count) interactions belong to no declared "
            + "upstream and are not replayed")
      }
      if let note = opened.note { notes.append(note) }
      state.playback = Playback(index: opened.index, uniquely: specification.playsUniquely)
      replay = opened.shifted(by: shifter)
    }
    var recorder: CassetteRecorder?
    if mode.mayRecord, let location = specification.cassette {
      notes += state.redactor.unseen.map {
        "the credential \($0) is too short to be found in a recording; name the places where it occurs in redaction"
      }
      var header = CassetteHeader(
        recordedAt: recordedAt, timeZone: clock.timeZone, locale: clock.locale,
        seed: seed, upstreams: upstreams)
      header.resources = specification.recordedResources
      header.mapped = (specification.isolation?.map ?? [:]).keys.sorted().compactMap { try? Origin(parsing: $0) }
      recorder = try CassetteRecorder(
        location: location, header: header, purpose: mode == .extend ? .extend : .record)
    }
    return Environment.Plan(
      id: hooks.id ?? UUID().uuidString.lowercased(), specification: specification, mode: mode, token: token,
      clock: clock, seed: seed, recordedAt: recordedAt, notes: notes, upstreams: upstreams, replay: replay,
      recorder: recorder, stubs: stubs,
      faults: try CodedError.translating(
        to: .usage,
        // What an isolated command will ask for is not known yet.
        try FaultSet(
          specification.faults ?? [], upstreams: specification.isolation == nil ? upstreams.map(\.name) : nil)),
      state: state)
  }

  /// The seed in mode mock, if none is given.
  static let mockSeed = "mock"

  static func stubs(
    _ specification: EnvironmentSpecification, mode: Mode, seed: String
  ) throws(CodedError) -> StubServer {
    var folder: StubFolder?
    if let path = specification.stubs { folder = try StubFolder(path) }
    let contract = try specification.openAPI.map { path throws(CodedError) in try StubFolder.openAPI(path) }
    let collections = try specification.collections.map { path throws(CodedError) in try StubFolder.collections(path) }
    return try StubServer(
      folder: folder, collections: collections ?? CollectionSet(), contract: contract,
      areTemplates: specification.stubsAreTemplates ?? false, seed: seed, isActive: mode == .mock)
  }

  /// The schemas of gRPC services: those that `proto` names, and those that the cassette contains.
  static func grpcSchemas(
    _ specification: EnvironmentSpecification, _ recorded: CassetteHeader?
  ) throws(CodedError) -> GRPCSchemaSet {
    let schemas = GRPCSchemaSet(
      try specification.proto.map { files throws(CodedError) in
        try GRPCSchema(files: files, importPaths: specification.protoPaths ?? [])
      })
    for (service, bytes) in recorded?.grpcSchemas ?? [:] {
      schemas.add(
        try CodedError.translating(
          at: "\(specification.cassette?.har ?? ""): _diorama.grpcSchemas.\(service)",
          try GRPCSchema(descriptorSet: bytes)), for: service)
    }
    return schemas
  }

  /// Resolves `once` to `record` or `replay`, and checks that the mode has a cassette if it needs one.
  static func resolve(_ specification: EnvironmentSpecification) throws(CodedError) -> Mode {
    guard specification.mode.needsCassette else { return specification.mode }
    guard let location = specification.cassette else {
      let what =
        specification.mode == .once ? "no cassette is given" : "mode \(specification.mode.rawValue) needs a cassette"
      let mock = specification.mode == .once ? ", or use \(specification.mockAdvice) if there is nothing to record" : ""
      throw CodedError(.usage, "\(what); name it with \(specification.cassetteAdvice)\(mock)")
    }
    guard specification.mode == .once else { return specification.mode }
    if location.exists { return .replay }
    if specification.isContinuousIntegration { throw specification.missing(location) }
    return .record
  }

  private static func upstreams(
    _ specification: EnvironmentSpecification, mode: Mode, stored: Cassette?, former: [CassetteHeader.Upstream]
  ) throws(CodedError) -> [CassetteHeader.Upstream] {
    var upstreams = specification.upstreams
    if upstreams.isEmpty, mode.replays, let stored { upstreams = stored.knownUpstreams }
    if upstreams.isEmpty { upstreams = former }
    if upstreams.isEmpty, mode.mayReachNetwork, specification.isolation == nil {
      let isFirst = specification.mode == .once && mode == .record
      let cassette = specification.cassette.map { " \($0.har)" } ?? ""
      let what =
        isFirst ? "there is no cassette\(cassette) yet, so this run would record, which" : "mode \(mode.rawValue)"
      let isolate = specification.caller == .command ? ", or intercept the command's connections with --isolate" : ""
      let advice = "add one with \(specification.upstreamAdvice())\(isolate)"
      throw CodedError(
        .noUpstream,
        "\(what) needs an upstream; \(advice)" + (isFirst ? ", or use mode mock if no backend is needed" : ""))
    }
    try check(upstreams)
    return upstreams
  }

  /// Checks that upstreams have distinct names, and distinct variables.
  ///
  /// - Throws: a ``CodedError`` of kind `usage` that names the first two that do not.
  package static func check(_ upstreams: [CassetteHeader.Upstream]) throws(CodedError) {
    for (index, upstream) in upstreams.enumerated() {
      if let other = upstreams[..<index].first(where: { $0.name == upstream.name }) {
        throw CodedError(
          .usage, "upstream '\(upstream.name)' is given twice, as \(other.origin) and \(upstream.origin)")
      }
      if let other = upstreams[..<index].first(where: {
        Environment.variableName($0.name) == Environment.variableName(upstream.name)
      }) {
        throw CodedError(
          .usage,
          "upstreams '\(other.name)' and '\(upstream.name)' would share DIORAMA_ENDPOINT_\(Environment.variableName(upstream.name)); rename one"
        )
      }
    }
  }

  private static func clock(
    _ specification: EnvironmentSpecification, mode: Mode, recorded: CassetteHeader?
  ) throws(CodedError) -> LaunchContract.Clock {
    let requested = specification.clock
    // Rounded down to milliseconds, in which times are stored, so that a replay shows exactly the same time.
    let now = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 * 1000).rounded(.down) / 1000)
    // Moving dates needs a running clock, unless a start time is given for them to move to.
    let runs = mode == .proxy || (mode == .replay && specification.shift != nil && requested.start == nil)
    let name = requested.kind ?? (runs ? "system" : "frozen")
    guard let kind = LaunchContract.Clock.Kind(rawValue: name) else {
      throw CodedError(
        .usage, "'\(name)' is not a kind of clock; choose system, frozen, ticking, scaled:RATE or manual")
    }
    var clock = LaunchContract.Clock(kind: kind)
    if kind != .system {
      clock.start =
        requested.start.map { RFC3339.format($0) } ?? (mode.replays ? recorded?.recordedAt : nil) ?? RFC3339.format(now)
      guard let start = clock.start, RFC3339.parse(start) != nil else {
        throw CodedError(
          .broken,
          "the recording date '\(clock.start ?? "")' is not an RFC 3339 time; "
            + "give one with \(specification.startAdvice)"
        )
      }
    } else if requested.start != nil {
      throw CodedError(
        .usage, "a system clock shows the machine's time; \(specification.startAdvice) needs another kind of clock")
    }
    try specification.checkRate()
    clock.rate = requested.rate
    clock.timeZone = requested.timeZone ?? (mode.replays ? recorded?.timeZone : nil) ?? machineTimeZone
    clock.locale = requested.locale ?? (mode.replays ? recorded?.locale : nil) ?? machineLocale
    if let zone = clock.timeZone, TimeZone(identifier: zone) == nil {
      throw CodedError(.usage, "'\(zone)' is not a time zone; give an IANA name such as Europe/London")
    }
    clock.provisioned = RFC3339.format(now)
    return clock
  }

  /// 96 random bits: enough to be unique, and short enough to copy by hand.
  private static func randomSeed() -> String { randomHexadecimal(bytes: 12) }

  /// 256 random bits.
  private static func randomToken() -> String { randomHexadecimal(bytes: 32) }

  private static func randomHexadecimal(bytes: Int) -> String {
    // 64 bits at a time, because each number is a system call.
    var generator = SystemRandomNumberGenerator()
    var digits = ""
    while digits.utf8.count < bytes * 2 {
      let word = String(generator.next() as UInt64, radix: 16)
      digits += String(repeating: "0", count: 16 - word.utf8.count) + word
    }
    return String(digits.prefix(bytes * 2))
  }

  private static var machineTimeZone: String { TimeZone.current.identifier }
  private static var machineLocale: String { Locale.current.identifier }
}

extension Cassette {
  /// The upstreams that the cassette names. A HAR of another tool names none, so each origin is an upstream named after
  /// its authority.
  var knownUpstreams: [CassetteHeader.Upstream] {
    header.upstreams.isEmpty ? Self.upstreams(of: interactions) : header.upstreams
  }

  /// The upstreams of interactions: those already named, then each other origin, named after its authority.
  ///
  /// - Parameters:
  ///   - interactions: the interactions, in any order.
  ///   - named: the upstreams whose names are known.
  /// - Returns: the named upstreams in their order, then the others.
  package static func upstreams(
    of interactions: [Interaction], besides named: [CassetteHeader.Upstream] = []
  ) -> [CassetteHeader.Upstream] {
    var seen = Set(named.map(\.origin))
    var variables = Set(named.map { Environment.variableName($0.name) })
    return named
      + interactions.compactMap { interaction in
        guard let origin = RecordedURL(interaction.request.url).origin, seen.insert(origin).inserted else { return nil }
        let name = name(of: origin) { variables.insert(Environment.variableName($0)).inserted }
        return CassetteHeader.Upstream(name: name, origin: origin)
      }
  }

  /// The name of an upstream that no user named: its authority, with a number if it would share its variable.
  ///
  /// - Parameters:
  ///   - origin: its origin.
  ///   - isFree: whether an upstream may have a name.
  /// - Returns: the name.
  static func name(of origin: Origin, if isFree: (String) -> Bool) -> String {
    var name = origin.authority
    var number = 2
    while !isFree(name) {
      name = "\(origin.authority)-\(number)"
      number += 1
    }
    return name
  }
}

extension MatchingRules {
  /// A note for each rule that names an unknown upstream. A rule for all cassettes may mean another cassette's upstream.
  func notes(for upstreams: [CassetteHeader.Upstream]) -> [String] {
    let names = upstreams.map(\.name)
    return rules.enumerated().compactMap { index, rule in
      guard !rule.isShared, let name = rule.upstream, !names.contains(name) else { return nil }
      let near = EditDistance.likely(name, among: names).map { "; did you mean '\($0)'?" } ?? ""
      let number = rules[...index].count { $0.source == nil }
      return "\(rule.source ?? "rule \(number)") names the upstream '\(name)', which does not exist" + near
    }
  }
}
