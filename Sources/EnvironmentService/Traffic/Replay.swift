import Cassettes
import Foundation
import HTTPMessages
import HTTPServer
import LaunchContract

/// An opened cassette, ready to answer for some upstreams: what never changes while it plays, and what all environments
/// share that replay the same.
final class Replay: Sendable {
  let cassette: OpenCassette
  /// The cassette's, their requests as they would be recorded now.
  var interactions: [Interaction] { sought.interactions }
  private let sought: SoughtInteractions
  let index: CassetteIndex
  let maker: MatchKeyMaker
  /// For whom it answers.
  let upstreams: [CassetteHeader.Upstream]
  /// What the keys are made by.
  let rules: MatchingRules.InForce
  /// Tells whether positions in another replay mean the same here: nil for no rules and no order of one's own.
  let rulesFingerprint: String?
  /// The upstream of each interaction, or -1.
  private let assigned: [Int32]
  private let assignment: UpstreamAssignment
  /// For each of the upstreams, where it was when it was recorded, if elsewhere.
  let formerOrigins: [[Origin]]
  /// Makes addresses of then those of now; nil where they are the same.
  private let rebasing: AddressMap?
  /// Whether any response was coded on the wire.
  private let isCodedAnywhere: Bool
  /// Whether any interaction began a WebSocket.
  let hasWebSockets: Bool
  /// Moves dates from the recording's time to an environment's; nil where they stay.
  let shifter: DateShifter?
  private let setCookies = Guarded<[RecordedSetCookies]?>(nil)
  /// Kept for the next who replays the same: its index need not be made again.
  private let original: Replay?
  /// Responses in which nothing had to be changed for the app: the same at any endpoint.
  private let common = Guarded(PreparedResponses())

  var header: CassetteHeader { cassette.cassette.header }
  var location: CassetteLocation { cassette.location }

  /// To be asked of ``OpenCassette/replay(_:rules:order:redactor:)``.
  init(
    _ cassette: OpenCassette, _ sought: SoughtInteractions, upstreams: [CassetteHeader.Upstream],
    rules: MatchingRules.InForce, order: PlaybackOrder
  ) throws(EnvironmentError) {
    self.cassette = cassette
    self.upstreams = upstreams
    self.rules = rules
    rulesFingerprint = MatchingRules(rules: rules.rules.rules, order: order).fingerprint
    do throws(ContractError) {
      maker = MatchKeyMaker(try RuleBook(rules.rules, upstreams: upstreams, source: rules.source))
    } catch {
      throw EnvironmentError(.usage, "rules: \(error.problem)")
    }
    self.sought = sought
    let interactions = sought.interactions
    let location = cassette.location
    let assignment = UpstreamAssignment(upstreams)
    self.assignment = assignment
    // Here and below each is looked at where it stands: a copy would retain all of its texts.
    assigned = interactions.indices.map {
      Int32(assignment.upstream(name: interactions[$0].upstream, url: interactions[$0].request.url) ?? -1)
    }
    formerOrigins = Self.formerOrigins(interactions, of: upstreams, assigned: assigned)
    let rebasing = Self.rebasing(upstreams: upstreams, formerOrigins: formerOrigins)
    self.rebasing = rebasing
    do {
      let requests = Self.rebased(interactions, by: rebasing)
      index = try CassetteIndex(requests, upstreams: upstreams, maker: maker, order: order) {
        try Self.readRequestBody($0, of: sought, by: rebasing, into: &$1)
      }
    } catch let error as EnvironmentError {
      throw error
    } catch {
      throw EnvironmentError(.broken, "\(location.har): \(error)")
    }
    hasWebSockets = interactions.indices.contains { interactions[$0].webSocket != nil }
    isCodedAnywhere = interactions.indices.contains {
      interactions[$0].response.headers["Content-Encoding"] != nil
    }
    shifter = nil
    original = nil
  }

  private init(_ other: Replay, _ shifter: DateShifter) {
    cassette = other.cassette
    index = other.index
    maker = other.maker
    upstreams = other.upstreams
    sought = other.sought
    rebasing = other.rebasing
    rules = other.rules
    rulesFingerprint = other.rulesFingerprint
    assigned = other.assigned
    assignment = other.assignment
    formerOrigins = other.formerOrigins
    isCodedAnywhere = other.isCodedAnywhere
    hasWebSockets = other.hasWebSockets
    self.shifter = shifter
    original = other
  }

  /// The same with dates moved: for one environment, whose clock they follow.
  func shifted(by shifter: DateShifter?) -> Replay { shifter.map { Replay(self, $0) } ?? self }

  /// Where each upstream was when it was recorded, if elsewhere.
  private static func formerOrigins(
    _ interactions: [Interaction], of upstreams: [CassetteHeader.Upstream], assigned: [Int32]
  ) -> [[Origin]] {
    var former = [[Origin]](repeating: [], count: upstreams.count)
    let present = upstreams.map { Array("\($0.origin)/".utf8) }
    for number in interactions.indices where assigned[number] >= 0 {
      let index = Int(assigned[number])
      // Most are where they were, and say so in their first bytes.
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

  /// The interactions with requests that speak of the upstreams where they are now, as the app's requests will.
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

  /// Reads the body of a recorded request, which lies in a file, as it is matched.
  private static func readRequestBody(
    _ index: Int, of sought: SoughtInteractions, by rebasing: AddressMap?, into key: inout KeyStream
  ) throws {
    var rewriter = rebasing?.requestBodyRewriter(
      contentType: sought.interactions[index].request.headers["Content-Type"])
    try sought.readRequestBody(index) { piece in
      (rewriter?.push(piece) ?? piece).withUnsafeBytes { key.push($0) }
    }
    rewriter?.finish().withUnsafeBytes { key.push($0) }
  }

  /// What can be said of a request's body that was not held.
  ///
  /// - Parameters:
  ///   - request: in the upstream's terms.
  ///   - upstream: its index.
  ///   - length: of the body.
  ///   - keys: of the request.
  /// - Returns: what the nearest recorded requests are compared with.
  func largeBody(of request: Request, upstream: Int, length: Int, keys: RequestKeys?) -> LargeBody {
    LargeBody(length: length) { [self] index in
      // The same request with that body: only where the bodies are the same are the keys.
      var key = try maker.stream(for: request, upstream: upstream)
      if case .bytes(let bytes) = interactions[index].request.body {
        bytes.withUnsafeBytes { key.push($0) }
      } else {
        try Self.readRequestBody(index, of: sought, by: rebasing, into: &key)
      }
      return variant(try key.finish(), of: request, upstream: upstream) == keys
    }
  }

  /// By what a request is looked up.
  ///
  /// - Parameters:
  ///   - request: in the upstream's terms.
  ///   - upstream: its index.
  ///   - body: of the request.
  /// - Returns: the keys.
  /// - Throws: an ``EnvironmentError`` where a rule cannot be applied to it.
  func keys(of request: Request, upstream: Int, body: [UInt8]) throws(EnvironmentError) -> RequestKeys {
    do {
      let keys = try maker.keys(
        method: request.method, upstream: upstream, target: request.target, headers: request.headers, body: body)
      return variant(keys, of: request, upstream: upstream)
    } catch {
      throw .unanswerable(request, error)
    }
  }

  /// The keys with what tells recordings of one request apart.
  func variant(_ keys: RequestKeys, of request: Request, upstream: Int) -> RequestKeys {
    index.keys(keys, of: request, upstream: upstream, maker: maker)
  }

  /// All fields by which upstreams set cookies in the recording, in order; found when it is first asked for.
  var recordedSetCookies: [RecordedSetCookies] {
    setCookies.withLock { known in
      if let known { return known }
      let found = interactions.indices.compactMap { number -> RecordedSetCookies? in
        guard assigned[number] >= 0, interactions[number].response.headers["Set-Cookie"] != nil else { return nil }
        return RecordedSetCookies(
          upstream: Int(assigned[number]), fields: interactions[number].response.headers.all("Set-Cookie"))
      }
      known = found
      return found
    }
  }

  /// The upstream that answered an interaction.
  func upstream(of index: Int) -> Int { Int(assigned[index]) }

  /// Whether a response's body is at hand and goes out in one: it is not in a file, and is no stream.
  func isInline(_ index: Int) -> Bool {
    if interactions[index].response.isStreamed || interactions[index].webSocket != nil { return false }
    return if case .bytes = interactions[index].response.body { true } else { false }
  }

  /// A response in full: its body from the cassette, or streamed from its file.
  func response(_ index: Int, addresses: AddressMap, form: AddressMap.Form, isCoded: Bool) throws -> Response {
    let interaction = interactions[index]
    guard isInline(index) || mustHold(index, addresses: addresses, form: form, isCoded: isCoded) else {
      return try stream(index, addresses: addresses, form: form, isCoded: isCoded)
    }
    let body = try bytes(of: index, addresses: addresses, form: form, isCoded: isCoded)
    return Response(
      status: interaction.response.status, reason: interaction.response.reason,
      headers: headers(of: index, addresses: addresses, form: form, isCoded: isCoded),
      body: interaction.response.isChunked ? .stream(BytePipe(holding: body), length: nil) : .bytes(body),
      trailers: trailers(of: index, addresses: addresses, form: form))
  }

  /// The fields that follow a body, as the app gets them; nil where there are none.
  func trailers(of index: Int, addresses: AddressMap, form: AddressMap.Form) -> Trailers? {
    let recorded = interactions[index].response.trailers
    guard !recorded.fields.isEmpty else { return nil }
    return Trailers(addresses.responseHeaders(recorded, upstream: upstream(of: index), form: form))
  }

  /// Whether a body that lies in a file is read whole for its length to be told, as it was when it was recorded.
  private func mustHold(_ index: Int, addresses: AddressMap, form: AddressMap.Form, isCoded: Bool) -> Bool {
    let response = interactions[index].response
    guard !response.isChunked, response.status != 206 else { return false }
    let isSized = bodyShifter(of: index)?.keepsLength ?? true
    guard rewriter(of: index, addresses: addresses, form: form) != nil || !isSized else {
      return isCoded && response.body.length <= Exchange.matchLimit
    }
    // The length on the wire decided then.
    let told = response.headers["Content-Length"].flatMap { Int($0) } ?? response.body.length
    return told <= Exchange.rewriteLimit && response.body.length <= Exchange.matchLimit
  }

  /// The recorded interactions nearest to a request that is not recorded.
  ///
  /// - Parameters:
  ///   - request: in the upstream's terms.
  ///   - upstream: its name.
  ///   - body: of the request; of a large one its beginning.
  ///   - large: what can be said of a body that was not held.
  ///   - playback: how far the cassette has been played.
  /// - Returns: the nearest, the best first.
  func nearest(
    to request: Request, upstream: String, body: [UInt8], large: LargeBody? = nil,
    playback: Playback?
  ) -> [Report.Nearest] {
    nearMisses(
      method: request.method, target: request.target, upstreamName: upstream, headers: request.headers, body: body,
      in: interactions, names: { [assignment, upstreams] in assignment.upstream(of: $0).map { upstreams[$0].name } },
      book: maker.book, expected: playback?.expected, awaited: { playback?.awaited(by: $0) },
      large: large,
      body: { [location] in try CassetteReader.bytes(of: $0, in: location) }
    ).map { miss in
      let recorded = interactions[miss.index].request
      return Report.Nearest(
        index: miss.index, method: recorded.method, url: recorded.url,
        differences: miss.differences.map(\.description), rules: miss.rules.isEmpty ? nil : miss.rules)
    }
  }

  /// How a response was coded on the wire, if it was and we can code it again.
  func codings(of index: Int) -> ContentCodings? {
    guard isCodedAnywhere else { return nil }
    let response = interactions[index].response
    let values = response.headers.all("Content-Encoding")
    // A part of a coded whole was recorded as it came.
    guard !values.isEmpty, ![204, 206, 304].contains(response.status), !response.isBodyAsSent,
      interactions[index].request.method != "HEAD"
    else { return nil }
    return ContentCodings(header: values.joined(separator: ", "))
  }

  /// Whether a response is to be coded as recorded for an app that sends this `Accept-Encoding`.
  func isCoded(_ index: Int, accepted: String?) -> Bool {
    guard let codings = codings(of: index) else { return false }
    // Who asks as was asked when it was recorded is answered as then, whatever an upstream made of it.
    if accepted == interactions[index].request.headers["Accept-Encoding"] { return true }
    return ContentCodings.isAccepted(codings, by: accepted)
  }

  /// The head of a recorded response as the app gets it. `Content-Encoding` is gone where the body is not coded.
  func headers(of index: Int, addresses: AddressMap, form: AddressMap.Form, isCoded: Bool) -> Headers {
    let fields = addresses.responseHeaders(
      interactions[index].response.headers, upstream: upstream(of: index), form: form)
    return headers(fields, of: index, isCoded: isCoded)
  }

  private func headers(_ fields: Headers, of index: Int, isCoded: Bool) -> Headers {
    var headers = fields
    if codings(of: index) != nil, !isCoded { headers.remove("Content-Encoding") }
    guard let shifter else { return headers }
    // A digest of the body would not be one of what goes out.
    if bodyShifter(of: index) != nil {
      headers.fields.removeAll { HeaderRedaction.digests.contains($0.name.lowercased()) }
    }
    return shifter.headers(headers)
  }

  /// A response at an upstream's own port that is built once, for all environments if it is the same for all.
  func prepared(_ index: Int, addresses: AddressMap, isCoded: Bool) throws -> PreparedResponse {
    if let response = common.withLock({ $0[index, isCoded] }) { return response }
    let interaction = interactions[index]
    let recorded = interaction.response
    let bytes = try CassetteReader.bytes(of: recorded.body, in: location)
    let body = rewritten(bytes, of: index, addresses: addresses, form: .ownPort)
    let fields = addresses.responseHeaders(recorded.headers, upstream: upstream(of: index), form: .ownPort)
    let trailers = trailers(of: index, addresses: addresses, form: .ownPort)
    let response = try PreparedResponse(
      status: recorded.status, headers: headers(fields, of: index, isCoded: isCoded),
      body: try coded(body, of: index, isCoded: isCoded), framing: framing(of: interaction),
      trailers: trailers?.headers ?? [:])
    if body == bytes, fields == recorded.headers, trailers?.headers ?? [:] == recorded.trailers,
      !addresses.hasUpstreamAtEndpoint
    {
      common.withLock { $0.keep(response, index, of: interactions.count, isCoded: isCoded) }
    }
    return response
  }

  /// What makes upstreams' addresses in a body the endpoints'. Nil for a part of a text, whose place in the whole is
  /// counted in the upstream's bytes, and for what could not be read when it was recorded.
  func rewriter(of index: Int, addresses: AddressMap, form: AddressMap.Form) -> BodyRewriter? {
    let response = interactions[index].response
    guard response.status != 206, !response.isBodyAsSent else { return nil }
    return addresses.responseBodyRewriter(
      contentType: response.headers["Content-Type"], upstream: upstream(of: index), form: form)
  }

  /// What moves dates in a body; nil for one that is not to be changed, as for ``rewriter(of:addresses:form:)``.
  func bodyShifter(of index: Int) -> BodyShifter? {
    let response = interactions[index].response
    guard let shifter, response.status != 206, !response.isBodyAsSent,
      let form = DateShifter.form(response.headers["Content-Type"])
    else { return nil }
    return shifter.body(form)
  }

  /// An inline body as the app gets it.
  private func bytes(of index: Int, addresses: AddressMap, form: AddressMap.Form, isCoded: Bool) throws -> [UInt8] {
    let bytes = try CassetteReader.bytes(of: interactions[index].response.body, in: location)
    return try coded(
      rewritten(bytes, of: index, addresses: addresses, form: form), of: index, isCoded: isCoded)
  }

  private func rewritten(_ bytes: [UInt8], of index: Int, addresses: AddressMap, form: AddressMap.Form) -> [UInt8] {
    var body = bytes
    if var rewriter = rewriter(of: index, addresses: addresses, form: form) {
      body = rewriter.push(body) + rewriter.finish()
    }
    if var shifter = bodyShifter(of: index) { body = shifter.push(body) + shifter.finish() }
    return body
  }

  private func coded(_ body: [UInt8], of index: Int, isCoded: Bool) throws -> [UInt8] {
    guard isCoded, let codings = codings(of: index) else { return body }
    return try codings.encode(body)
  }

  /// Chunked where it was chunked; for what has no body by rule the length that was told.
  private func framing(of interaction: Interaction) -> PreparedResponse.Framing {
    let response = interaction.response
    if interaction.request.method == "HEAD" || response.status == 304 {
      return .headOnly(contentLength: response.headers["Content-Length"].flatMap(Int.init))
    }
    return response.isChunked ? .chunked : .length
  }

  /// A response whose body lies in a file, streamed from there.
  func stream(_ index: Int, addresses: AddressMap, form: AddressMap.Form, isCoded: Bool) throws -> Response {
    let interaction = interactions[index]
    guard case .file(let name, let length) = interaction.response.body else {
      return Response(status: interaction.response.status)
    }
    let headers = headers(of: index, addresses: addresses, form: form, isCoded: isCoded)
    let file = try CassetteReader.file(name, length: length, in: location)
    var transform = BodyTransform(
      decoder: nil, rewriter: rewriter(of: index, addresses: addresses, form: form),
      shifter: bodyShifter(of: index), encoder: isCoded ? try codings(of: index)?.encoder() : nil)
    let isChunked = interaction.response.isChunked
    var response = Response(status: interaction.response.status, reason: interaction.response.reason, headers: headers)
    guard !transform.isIdentity || isChunked else {
      response.body = .file(file)
      return response
    }
    let hasLength = transform.keepsLength && !isChunked
    let pipe = BytePipe(capacity: FileBody.pieceSize)
    Task {
      do {
        var offset = 0
        while offset < length {
          let piece = try file.read(at: offset, upTo: FileBody.pieceSize)
          offset += piece.count
          try await pipe.write(try transform.push(piece))
        }
        try await pipe.write(try transform.finish())
        pipe.finish()
      } catch {
        pipe.fail(error)
      }
    }
    response.body = .stream(pipe, length: hasLength ? length : nil)
    response.trailers = trailers(of: index, addresses: addresses, form: form)
    return response
  }
}

extension RecordedResponse {
  /// Whether the body was sent in chunks.
  var isChunked: Bool {
    headers["Transfer-Encoding"]?.lowercased().contains("chunked") ?? false
  }
}
