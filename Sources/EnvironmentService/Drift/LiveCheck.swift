import Basics
import Transforms
package import CassetteChecks
package import Cassettes
package import EnvironmentConfiguration
import HTTPClient
import HTTPMessages
import LaunchContract

/// Repeats the safe requests of a cassette against the backends to find what has changed. Writes nothing.
///
/// Sends one request at a time, in recorded order, and does not follow redirects.
package struct LiveCheck: Sendable {
  /// The result of a check.
  package struct Result: Sendable {
    /// The number of requests that got a response.
    package var repeated = 0
    /// The responses that differ, in recorded order.
    package var findings: [LiveFinding] = []
    /// The interactions that were not checked, or not completely, and why.
    package var left: [LiveQuestions.Left] = []
    /// Failed requests and unreachable backends, one line each.
    package var failures: [String] = []
  }

  /// The maximum decoded size in bytes of a body to compare; for a larger one, only the head is compared.
  private static let bodyLimit = 64 << 20

  private let upstreams: [CassetteHeader.Upstream]
  private let replacements: [LiveQuestions.Replacement]
  private let access: [String: UpstreamAccess]
  private let seconds: Double

  /// - Parameters:
  ///   - upstreams: the backends' current origins. Backends not listed are reached at their recorded origins.
  ///   - replacements: header fields that replace recorded ones.
  ///   - access: the access settings of backends, by name.
  ///   - seconds: the timeout for each response in seconds.
  package init(
    upstreams: [CassetteHeader.Upstream], replacements: [LiveQuestions.Replacement] = [],
    access: [String: UpstreamAccess] = [:], seconds: Double = 30
  ) {
    self.upstreams = upstreams
    self.replacements = replacements
    self.access = access
    self.seconds = seconds
  }

  /// Sends the requests and compares the responses.
  ///
  /// - Parameters:
  ///   - stored: the cassette.
  ///   - location: the cassette's location, for bodies in files.
  ///   - rules: the redaction rules to apply in addition to the defaults.
  ///   - isAsking: called before each request with its number, from 1, and how many there are.
  /// - Returns: the differences found.
  /// - Throws: a ``CodedError`` if a body cannot be read, an upstream is not in the cassette, or a header or
  ///   client certificate would go to a URL that only the cassette names. The last two are checked before anything is
  ///   sent.
  package func run(
    _ stored: StoredCassette, _ location: CassetteLocation, redacting rules: RedactionRules = RedactionRules(),
    isAsking: (Int, Int) -> Void = { _, _ in }
  ) async throws -> Result {
    let redactor = try redactor(location, rules.compiled())
    let recorded = stored.cassette.redacted(redactor)
    let recording = Recording(recorded) { try CassetteReader.bytes(of: $0, in: location) }
    let questions = try LiveQuestions(recording, replacing: replacements)
    let origins = try origins(of: stored.cassette, questions)
    try checkAccess(to: origins)
    let known = try KnownShapes(recording)
    let client = try HTTPClient(.init(stallSeconds: seconds))
    defer { client.shutdown() }

    var result = Result(left: questions.left)
    var unasked: [String: [Int]] = [:]
    for (index, question) in questions.questions.enumerated() {
      isAsking(index + 1, questions.questions.count)
      guard unasked[question.backend] == nil else {
        unasked[question.backend]? += question.interactions
        continue
      }
      guard let (live, recorded) = origins[question.backend] else { continue }
      do {
        let mayBeEndless = recording.isEndless(question.interactions)
        let asked = try await answer(
          client, question, at: live, by: access[question.backend].map { ReadyAccess($0) }, mayBeEndless: mayBeEndless)
        // Both sides of the comparison are redacted, so no secret is shown.
        let moved = live == recorded ? asked : asked.named(recorded, insteadOf: live)
        let answer = moved.redacted(redactor)
        result.repeated += 1
        if !answer.isWhole, !mayBeEndless, !Answer.isEndless(answer.headers["Content-Type"]) {
          let reason = "the body is too large or does not match its Content-Encoding; only the head was compared"
          result.left.append(.init(interactions: question.interactions, reason: reason))
        }
        let finding = try LiveFinding(answer, to: question, in: recording, known: known)
        if !finding.changes.isEmpty || !finding.doubtful.isEmpty { result.findings.append(finding) }
      } catch let error as UpstreamError {
        // Without an upstream name, the error's address identifies the backend.
        let name = question.backend == recorded.description ? "" : "upstream \(question.backend): "
        // Report an unreachable backend once. After any other error, the next request may succeed.
        if error.kind.isOfBackend {
          result.failures.append(name + "\(error)")
          unasked[question.backend] = []
        } else {
          result.failures.append("\(name)\(question.request.method) \(question.request.target): \(error)")
        }
      }
    }
    for (backend, interactions) in unasked.sorted(by: { $0.key < $1.key }) where !interactions.isEmpty {
      result.left.append(
        .init(interactions: interactions.sorted(), reason: "not asked: upstream \(backend) could not be reached"))
    }
    result.findings.sort { $0.interaction < $1.interaction }
    return result
  }

  /// The redactor for recorded and live responses: the rules, and the secrets sent to upstreams.
  private func redactor(_ location: CassetteLocation, _ rules: CompiledRules) -> Redactor {
    var specification = EnvironmentSpecification(name: location.name, mode: .record)
    specification.access = access
    let sent = replacements.map { replacement in
      EnvironmentSpecification.Credential(
        service: replacement.backend, account: replacement.name,
        secret: Array(HeaderRedaction.secret(in: replacement.value, of: replacement.name.lowercased()).utf8))
    }
    return Redactor((specification.accessSecrets(rules) + sent).map(\.named), token: "", rules: rules)
  }

  /// The current and the recorded origin of each backend.
  private func origins(
    of cassette: Cassette, _ questions: LiveQuestions
  ) throws(CodedError) -> [String: (live: Origin, recorded: Origin)] {
    var origins: [String: (live: Origin, recorded: Origin)] = [:]
    for upstream in cassette.header.upstreams { origins[upstream.name] = (upstream.origin, upstream.origin) }
    // HAR files of other tools name no upstreams; a backend's name is then its origin.
    for question in questions.questions where origins[question.backend] == nil {
      let url = cassette.interactions[question.interactions[0]].request.url
      if let origin = RecordedURL(url).origin { origins[question.backend] = (origin, origin) }
    }
    for upstream in upstreams {
      guard let (_, recorded) = origins[upstream.name] else {
        let names = origins.keys.sorted().joined(separator: ", ")
        throw CodedError(
          .usage, "the cassette has no upstream '\(upstream.name)' to check; it has: \(names)")
      }
      origins[upstream.name] = (upstream.origin, recorded)
    }
    return origins
  }

  /// - Throws: a ``CodedError`` of kind `usage` for settings of an upstream that is not in the cassette, or for
  ///   a secret that would go to a URL that only the cassette names.
  private func checkAccess(to origins: [String: (live: Origin, recorded: Origin)]) throws(CodedError) {
    var sent = access
    for replacement in replacements {
      sent[replacement.backend, default: .init()].headers =
        (sent[replacement.backend]?.headers ?? [:]).merging([replacement.name: Secret(replacement.value)]) { $1 }
    }
    var specification = EnvironmentSpecification(name: "", mode: .proxy)
    specification.upstreams = upstreams
    specification.access = sent
    for name in sent.keys.sorted() {
      guard let origin = origins[name]?.live else {
        let names = origins.keys.sorted().joined(separator: ", ")
        throw CodedError(
          .usage, "the cassette has no upstream '\(name)' to check; it has: \(names)")
      }
      try specification.checkIsNamed(.init(name: name, origin: origin))
    }
  }

  private func answer(
    _ client: HTTPClient, _ question: LiveQuestions.Question, at origin: Origin, by access: ReadyAccess?,
    mayBeEndless: Bool
  ) async throws -> Answer {
    let access = access ?? ReadyAccess()
    let seconds = seconds
    return try await withThrowingTaskGroup(of: Answer?.self) { group in
      group.addTask {
        try await Self.answer(
          client, access.sent(question.request), at: origin, access.trust, mayBeEndless: mayBeEndless)
      }
      group.addTask {
        try await Task.sleep(for: .seconds(seconds))
        return nil
      }
      defer { group.cancelAll() }
      guard let answer = try await group.next() ?? nil else {
        throw UpstreamError(
          kind: .timedOut,
          message:
            "\(origin) has not answered completely within \(seconds) s; check the server, or raise --timeout")
      }
      return answer
    }
  }

  private static func answer(
    _ client: HTTPClient, _ request: Request, at origin: Origin, _ trust: Trust, mayBeEndless: Bool
  ) async throws -> Answer {
    let response = try await client.send(request, to: origin, trust: trust)
    var answer = Answer(status: response.status, headers: response.headers, body: [])
    let isEndless = mayBeEndless && response.body.length == nil
    guard !isEndless, !Answer.isEndless(response.headers["Content-Type"]) else {
      if case .stream(let pipe, _) = response.body { pipe.abandon() }
      answer.isWhole = false
      return answer
    }
    do {
      answer.body = try await response.body.collect(upTo: bodyLimit)
      let values = response.headers.all("Content-Encoding")
      if !values.isEmpty, !answer.body.isEmpty {
        guard let codings = ContentCodings(header: values.joined(separator: ", ")) else {
          answer.isWhole = false
          return answer
        }
        answer.body = try codings.decode(answer.body, limit: bodyLimit)
      }
    } catch is BodyTooLarge {
      answer.isWhole = false
    } catch is BodyError {
      answer.isWhole = false
    }
    return answer
  }
}

extension UpstreamError.Kind {
  /// Whether every request to the backend would fail the same way.
  fileprivate var isOfBackend: Bool {
    switch self {
    case .unresolved, .refused, .unreachable, .proxy, .tls: true
    default: false
    }
  }
}

extension Cassette {
  /// The cassette with its responses redacted. Bodies in files are unchanged.
  fileprivate func redacted(_ redactor: Redactor) -> Cassette {
    var cassette = self
    for index in cassette.interactions.indices {
      let headers = cassette.interactions[index].response.headers
      cassette.interactions[index].response.headers = redactor.redact(headers)
      guard case .bytes(let body) = cassette.interactions[index].response.body else { continue }
      cassette.interactions[index].response.body = .bytes(redactor.redact(decoded: body, of: headers, isResponse: true))
    }
    return cassette
  }
}

extension Answer {
  /// The response, redacted as for recording.
  fileprivate func redacted(_ redactor: Redactor) -> Answer {
    var answer = self
    answer.headers = redactor.redact(headers)
    answer.body = redactor.redact(decoded: body, of: headers, isResponse: true)
    return answer
  }

  /// The response with the backend's current origin replaced by the recorded one, so a moved backend is not a
  /// difference.
  fileprivate func named(_ recorded: Origin, insteadOf live: Origin) -> Answer {
    var answer = self
    let old = live.description
    let new = recorded.description
    answer.headers.fields = headers.fields.map { .init($0.name, $0.value.replacingAddress(old, with: new)) }
    if let text = String(validating: body, as: UTF8.self) {
      answer.body = Array(text.replacingAddress(old, with: new).utf8)
    }
    return answer
  }
}

extension String {
  /// Replaces an address only where it ends: `http://a:80` is not replaced in `http://a:8080`.
  fileprivate func replacingAddress(_ old: String, with new: String) -> String {
    let bytes = Array(utf8)
    let pattern = Array(old.utf8)
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
      guard let range = bytes[index...].firstRange(of: pattern) else { break }
      result += bytes[index..<range.lowerBound]
      let next = range.upperBound < bytes.count ? bytes[range.upperBound] : UInt8(ascii: "/")
      switch next {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"):
        result += pattern
      default: result += new.utf8
      }
      index = range.upperBound
    }
    return index == 0 ? self : String(decoding: result + bytes[index...], as: UTF8.self)
  }
}
