import Basics
import EnvironmentConfiguration
import GRPCSchemas
import Transforms
import Cassettes
import HTTPMessages
import LaunchContract

/// A cassette's requests, prepared for matching with some upstreams: their match keys, and the former addresses of the
/// upstreams.
struct RecordedRequests: Sendable {
  private let sought: SoughtInteractions
  /// The cassette's interactions, with their requests as they would be recorded now.
  var interactions: [Interaction] { sought.interactions }
  let index: CassetteIndex
  let maker: MatchKeyMaker
  /// The upstreams it was prepared for.
  let upstreams: [CassetteHeader.Upstream]
  /// The matching rules used to make the keys.
  let rules: MatchingRules
  /// The upstream of each interaction, or -1.
  let assigned: [Int32]
  let assignment: UpstreamAssignment
  /// For each upstream, its recorded origins if they differ from the current one.
  let formerOrigins: [[Origin]]
  /// Maps former addresses to current ones; nil if they are the same.
  private let rebasing: AddressMap?
  /// The methods of gRPC that are recorded, by upstream and path.
  private let calls: [CallMethod: CallKind]
  /// Which gRPC messages are compared as JSON.
  let comparison: MessageComparison

  /// How calls of a gRPC method are matched.
  enum CallKind {
    /// By the whole request, as any other.
    case whole
    /// Their messages go in both directions at once: by the first message.
    case stream
    /// The same, but the server may send first: without a message.
    case serverFirst
  }

  struct CallMethod: Hashable {
    let upstream: Int
    let path: String
  }

  /// Makes the keys of a cassette's interactions.
  ///
  /// - Throws: a ``CodedError`` for a body that cannot be read, or invalid rules.
  init(
    _ sought: SoughtInteractions, of location: CassetteLocation, upstreams: [CassetteHeader.Upstream],
    rules: MatchingRules, order: PlaybackOrder, schemas: GRPCSchemaSet? = nil
  ) throws(CodedError) {
    self.upstreams = upstreams
    self.rules = rules
    maker = MatchKeyMaker(try CodedError.translating(to: .usage, try RuleBook(rules, upstreams: upstreams)))
    self.sought = sought
    let interactions = sought.interactions
    let assignment = UpstreamAssignment(upstreams)
    self.assignment = assignment
    // Accessed in place: a copy would retain all of its texts.
    assigned = interactions.indices.map {
      Int32(assignment.upstream(name: interactions[$0].upstream, url: interactions[$0].request.url) ?? -1)
    }
    formerOrigins = Self.formerOrigins(interactions, of: upstreams, assigned: assigned)
    let rebasing = Self.rebasing(upstreams: upstreams, formerOrigins: formerOrigins)
    self.rebasing = rebasing
    calls = Self.calls(interactions, assigned: assigned)
    let comparison = MessageComparison(maker.book, upstreams: upstreams, schemas: schemas)
    self.comparison = comparison
    let assigned = self.assigned
    do {
      var requests = try Self.asCalls(Self.rebased(interactions, by: rebasing), calls, assigned, location)
      if maker.book != nil {
        for index in requests.indices where requests[index].request.isGRPC {
          requests[index].request = comparison.compared(requests[index].request, upstream: Int(assigned[index]))
        }
      }
      index = try CassetteIndex(requests, upstreams: upstreams, maker: maker, order: order) {
        try Self.readBody($0, of: sought, by: rebasing, comparison, upstream: Int(assigned[$0]), into: &$1)
      }
    } catch {
      throw error as? CodedError ?? CodedError(.broken, "\(location.har): \(error)")
    }
  }

  /// How calls of a gRPC method are matched; nil if none is recorded.
  func callKind(upstream: Int, path: String) -> CallKind? { calls[CallMethod(upstream: upstream, path: path)] }

  private static func calls(_ interactions: [Interaction], assigned: [Int32]) -> [CallMethod: CallKind] {
    var calls: [CallMethod: CallKind] = [:]
    for index in interactions.indices where interactions[index].request.isCall {
      let method = CallMethod(upstream: Int(assigned[index]), path: RecordedURL(interactions[index].request.url).target)
      let before = interactions[index].interleaving
      let isSilent = interactions[index].request.body.length == 0 && interactions[index].response.end == .open
      if before.first ?? 0 > 0 || isSilent {
        calls[method] = .serverFirst
      } else if !before.isEmpty, calls[method] != .serverFirst {
        calls[method] = .stream
      } else if calls[method] == nil {
        calls[method] = .whole
      }
    }
    return calls
  }

  /// Reduces the requests of streaming calls to what is matched.
  private static func asCalls(
    _ interactions: [Interaction], _ calls: [CallMethod: CallKind], _ assigned: [Int32], _ location: CassetteLocation
  ) throws -> [Interaction] {
    guard calls.values.contains(where: { $0 != .whole }) else { return interactions }
    var interactions = interactions
    for index in interactions.indices where interactions[index].request.isCall {
      let method = CallMethod(upstream: Int(assigned[index]), path: RecordedURL(interactions[index].request.url).target)
      guard let kind = calls[method], kind != .whole else { continue }
      interactions[index].request.method = RecordedRequest.streamMethod
      var first: [UInt8] = []
      if kind == .stream {
        var parser = GRPCMessageParser(limit: .max)
        let body = try CassetteReader.bytes(of: interactions[index].request.body, in: location)
        first = try parser.parse(body).first?.frame ?? []
      }
      interactions[index].request.body = .bytes(first)
    }
    return interactions
  }

  /// The interactions as they are described after a miss of a gRPC call: those of the same method in the form in which they are
  /// matched, with their messages as JSON if the schema is known.
  ///
  /// - Parameters:
  ///   - target: the call's target.
  ///   - schemas: the known schemas; nil for messages as bytes.
  ///   - location: the cassette.
  /// - Returns: all interactions.
  func described(asCallsTo target: String, schemas: GRPCSchemaSet?, in location: CassetteLocation) -> [Interaction] {
    var interactions = (try? Self.asCalls(interactions, calls, assigned, location)) ?? interactions
    guard schemas != nil else { return interactions }
    for index in interactions.indices
    where interactions[index].request.isGRPC && RecordedURL(interactions[index].request.url).target == target {
      interactions[index].request = interactions[index].request.readable(by: schemas)
    }
    return interactions
  }

  /// The recorded origins of each upstream that differ from the current one.
  private static func formerOrigins(
    _ interactions: [Interaction], of upstreams: [CassetteHeader.Upstream], assigned: [Int32]
  ) -> [[Origin]] {
    var former = [[Origin]](repeating: [], count: upstreams.count)
    let present = upstreams.map { Array("\($0.origin)/".utf8) }
    for number in interactions.indices where assigned[number] >= 0 {
      let index = Int(assigned[number])
      // A cheap check first: most URLs begin with the current origin.
      guard !interactions[number].request.url.utf8.starts(with: present[index]),
        let origin = RecordedURL(interactions[number].request.url).origin, origin != upstreams[index].origin,
        !former[index].contains(origin)
      else { continue }
      former[index].append(origin)
    }
    return former
  }

  private static func rebasing(upstreams: [CassetteHeader.Upstream], formerOrigins: [[Origin]]) -> AddressMap? {
    guard formerOrigins.contains(where: { !$0.isEmpty }) else { return nil }
    return AddressMap(
      upstreams: zip(upstreams, formerOrigins).map {
        AddressMap.Upstream(name: $0.name, origin: $0.origin, port: 0, formerOrigins: $1)
      }, mainPort: 0)
  }

  /// The interactions, with former upstream URLs in requests replaced by current ones, as in the app's requests.
  private static func rebased(_ interactions: [Interaction], by addresses: AddressMap?) -> [Interaction] {
    guard let addresses else { return interactions }
    return interactions.map { interaction in
      var interaction = interaction
      let url = RecordedURL(interaction.request.url)
      if let origin = url.origin {
        interaction.request.url = origin.description + addresses.requestTarget(url.target)
      }
      if case .bytes(let bytes) = interaction.request.body,
        let body = addresses.requestBody(bytes, contentType: interaction.request.headers["Content-Type"])
      {
        interaction.request.body = .bytes(body)
      }
      return interaction
    }
  }

  /// Adds a recorded request body that is in a file to a match key.
  ///
  /// - Parameters:
  ///   - index: the interaction's index.
  ///   - key: receives the pieces.
  /// - Throws: a ``CodedError`` if the file cannot be read.
  func readBody(_ index: Int, into key: inout KeyStream) throws {
    try Self.readBody(
      index, of: sought, by: rebasing, comparison, upstream: Int(assigned[index]), into: &key)
  }

  private static func readBody(
    _ index: Int, of sought: SoughtInteractions, by rebasing: AddressMap?, _ comparison: MessageComparison,
    upstream: Int, into key: inout KeyStream
  ) throws {
    let request = sought.interactions[index].request
    var messages = comparison.messages(
      request.headers, target: RecordedURL(request.url).target, upstream: upstream)
    var rewriter = rebasing?.requestBodyRewriter(
      contentType: request.headers["Content-Type"])
    try sought.readRequestBody(index) { piece in
      let rewritten = rewriter?.push(piece) ?? piece
      (messages?.push(rewritten) ?? rewritten).withUnsafeBytes { key.push($0) }
    }
    let rest = rewriter?.finish() ?? []
    (messages?.push(rest, isLast: true) ?? rest).withUnsafeBytes { key.push($0) }
  }
}

extension RecordedRequest {
  /// Whether this is a call of gRPC.
  var isCall: Bool { method == "POST" && isGRPC }

  /// Whether the body consists of gRPC messages.
  fileprivate var isGRPC: Bool { GRPCFraming(contentType: headers["Content-Type"] ?? "") == .grpc }
}
