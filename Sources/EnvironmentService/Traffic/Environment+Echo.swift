import Basics
import Cassettes
import HTTPMessages
import Transforms

extension Environment {
  /// The longest body in bytes that is searched for ignored values.
  private static let searchedLimit = 1 << 20

  /// The values of a request to put into its recorded answer.
  ///
  /// The first time that an interaction plays, the report is also told which ignored values its answer contains.
  ///
  /// - Parameters:
  ///   - index: the interaction's index.
  ///   - request: the request, which is equal to the recorded one by the rules.
  /// - Returns: nil if the rules echo nothing, or all values are as recorded.
  func echo(_ index: Int, for request: DescribedRequest) -> EchoTable? {
    guard let replay, let book = replay.maker.book else { return nil }
    let isFirst = state.withLock { $0.echoWarnings.admits(index) }
    guard isFirst || book.echoes else { return nil }
    let places = echoPlaces(of: request)
    guard !places.isEmpty, isFirst || places.echoes else { return nil }
    // As recorded: an answer from before a redaction rule still contains what the request does.
    let recorded = replay.cassette.cassette.interactions[index]
    let values = places.values(Self.content(of: recorded.request, in: replay.location), content(of: request))
    guard values.contains(where: { $0.recorded != $0.sent }) else { return nil }
    let table = EchoTable(values.filter(\.place.isEchoed), signer: tokenSigner)
    if isFirst {
      state.withLock { _ = $0.echoWarnings.answers.insert(index) }
      let warnings = EchoWarnings.Answer(request, self)
      warnings.note(Self.found(EchoTable(values.filter { !$0.place.isEchoed }), in: recorded.response))
      if !table.isEmpty { warnings.note(unsigned: Self.found(table, in: recorded.response)) }
    }
    return table.isEmpty ? nil : table
  }

  /// The places of a request whose values the rules echo or ignore.
  func echoPlaces(of request: DescribedRequest) -> EchoPlaces {
    replay?.maker.book?.echoPlaces(
      method: request.sought.method, upstream: upstreams[request.upstream].name, target: request.sought.target)
      ?? EchoPlaces()
  }

  /// The app's request in the upstream's terms, not redacted, with its dates in the recording's time: answers are
  /// translated after values are put into them.
  private func content(of request: DescribedRequest) -> EchoPlaces.Content {
    var sent = request.outgoing
    if case .bytes(let bytes) = sent.body, !bytes.isEmpty {
    } else {
      // A long body is only held as it was matched.
      sent.body = request.sought.body
      sent.headers.remove("Content-Encoding")
    }
    sent = replay?.shifter?.requestBack(sent) ?? sent
    guard case .bytes(let bytes) = sent.body else { return .init(target: sent.target, headers: sent.headers, body: []) }
    return .init(target: sent.target, headers: sent.headers, body: Self.decoded(bytes, sent.headers))
  }

  private static func content(of request: RecordedRequest, in location: CassetteLocation) -> EchoPlaces.Content {
    var body: [UInt8] = []
    if request.body.length <= Pipeline.matchLimit {
      // A body that cannot be read was an error earlier, when the keys were made.
      body = (try? CassetteReader.bytes(of: request.body, in: location)) ?? []
    }
    return .init(
      target: RecordedURL(request.url).target, headers: request.headers, body: decoded(body, request.headers))
  }

  private static func decoded(_ body: [UInt8], _ headers: Headers) -> [UInt8] {
    guard let codings = ContentCodings(of: headers), !codings.isIdentity else { return body }
    return codings.salvage(body, limit: Pipeline.matchLimit) ?? body
  }

  private static func found(_ table: EchoTable, in response: RecordedResponse) -> EchoFindings {
    var found = EchoFindings()
    guard !table.isEmpty else { return found }
    _ = table.headers(response.headers, &found)
    if case .bytes(let bytes) = response.body, bytes.count <= searchedLimit, !response.isBodyAsSent,
      var stream = EchoStream(table, contentType: response.headers["Content-Type"])
    {
      _ = stream.push(bytes, isLast: true)
      found.add(stream.found)
    }
    return found
  }
}

/// What the report says about recorded values of requests that answers contain.
struct EchoWarnings: Sendable {
  /// One line for each place.
  var lines: [String] = []
  /// The interactions whose answers have been searched.
  fileprivate(set) var answers: Set<Int> = []
  private var places: Set<EchoPlace> = []
  /// How many more requests are compared with recorded ones for the sake of warnings.
  private var comparisons = 10_000

  /// Whether the answer of an interaction is still to be searched.
  fileprivate mutating func admits(_ index: Int) -> Bool {
    guard comparisons > 0, !answers.contains(index) else { return false }
    comparisons -= 1
    return true
  }

  /// Adds a line, unless the place already has one.
  fileprivate mutating func add(_ line: String, _ place: EchoPlace) -> Bool {
    guard lines.count < 1000, places.insert(place).inserted, !lines.contains(line) else { return false }
    lines.append(line)
    return true
  }

  /// The answer to a request, in which values are found.
  struct Answer: Sendable {
    private let environment: Environment
    private let title: String

    init(_ request: DescribedRequest, _ environment: Environment) {
      self.environment = environment
      title = "\(request.sought.method) \(environment.upstreams[request.upstream].origin)\(request.sought.target)"
    }

    /// Notes ignored values.
    func note(_ found: EchoFindings) {
      for place in found.places.union(found.unsigned) {
        let list = String(decoding: JSON.array([.string(place.pattern)]).encoded(), as: UTF8.self)
        add(
          place,
          "contains the recorded value of \(place.description), which \(rule(place)) ignores; to put the "
            + "request's value there, give the rule \"echo\": {\"\(place.kind.rawValue)\": \(list)}")
      }
    }

    /// Notes echoed values in tokens that cannot be signed.
    func note(unsigned found: EchoFindings) {
      for place in found.unsigned {
        add(
          place,
          "has a signed token with the recorded value of \(place.description), which \(rule(place)) echoes; to "
            + "put the request's value there, give the key of the token in \"dates\": {\"jwt\": […]}")
      }
    }

    private func rule(_ place: EchoPlace) -> String { environment.replay?.maker.book?.name(of: place.rule) ?? "a rule" }

    private func add(_ place: EchoPlace, _ text: String) {
      environment.state.withLock { state in
        let line = String(state.redactor.redact("the answer to \(title) \(text)").prefix(10_000))
        if state.echoWarnings.add(line, place) { environment.changes.note() }
      }
    }
  }
}
