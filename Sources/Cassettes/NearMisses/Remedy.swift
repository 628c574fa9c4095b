import Basics
package import EnvironmentConfiguration
package import Foundation
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Why a request misses, and the rule that makes it match.
package struct Remedy: Sendable, Equatable {
  /// What a difference means.
  package enum Kind: Sendable, Equatable {
    /// A value that differs in every run, or a redacted one.
    case value(ValueChange)
    /// The body is the same in another notation.
    case notation(MatchingRules.BodyKind)
    /// The parts of a multipart body come in another order.
    case partOrder
    /// The request is recorded, but not its turn.
    case order
    /// Every recording of the request has been played.
    case exhausted
    /// The app asked for something else.
    case other

    /// The name in a report.
    package var name: String {
      switch self {
      case .value(let change): change.rawValue
      case .notation: "notation"
      case .partOrder: "partOrder"
      case .order: "order"
      case .exhausted: "exhausted"
      case .other: "other"
      }
    }
  }

  package struct Cause: Sendable, Equatable {
    /// As in ``Difference/location``.
    package let location: String
    package let kind: Kind
    /// The recorded value, if it is the mark of a redacted secret.
    package var mark: String?
  }

  /// What differs, in the order of the differences.
  package let causes: [Cause]
  /// What makes the request match, checked by comparing both requests with it; nil if no rule does.
  package let rule: MatchingRules.Rule?
  /// Redaction that does the same, for secrets that are redacted in the recording only.
  package let redaction: RedactionRules?
}

/// The times at which a request missed.
package struct MissTimes: Sendable {
  /// By the machine's clock.
  package var now: Date
  /// By the environment's clock, and the date that it showed in the recording.
  package var environment: (recorded: Date, now: Date)?
  /// By how many seconds the dates in the request were moved back before it was compared.
  package var movedBack: Double?

  package init(now: Date, environment: (recorded: Date, now: Date)? = nil, movedBack: Double? = nil) {
    self.now = now
    self.environment = environment
    self.movedBack = movedBack
  }

  /// What the clocks showed at a recorded request and at the new one.
  func readings(since interaction: Interaction) -> [ValueChange.Readings] {
    let now = now.timeIntervalSince1970
    var readings: [ValueChange.Readings] = []
    if let instant = Instant(interaction.startedAt) {
      let recorded = Double(instant.seconds) + Double(instant.nanoseconds) / 1e9
      readings.append(.init(recorded: recorded, actual: now))
      if let movedBack { readings.append(.init(recorded: recorded, actual: now - movedBack)) }
    }
    if let environment {
      readings.append(
        .init(
          recorded: environment.recorded.timeIntervalSince1970, actual: environment.now.timeIntervalSince1970))
    }
    return readings
  }
}

extension SoughtRequest {
  /// The maximum size in bytes of both bodies; larger ones get no rule.
  private static let longest = 4 << 20
  /// The maximum length of a path or name in a rule.
  private static let longestName = 500

  /// Explains a miss.
  ///
  /// - Parameters:
  ///   - miss: the nearest recorded request.
  ///   - interaction: its interaction.
  ///   - name: the interaction's upstream.
  ///   - times: when the request was sent.
  ///   - isRecorded: whether a text occurs in the recording, so that it cannot be random.
  ///   - readBody: reads the recorded body.
  /// - Returns: the remedy.
  func remedy(
    for miss: NearMiss, of interaction: Interaction, name: String?, at times: MissTimes,
    isRecorded: (String) -> Bool, readBody: (RecordedBody) throws -> [UInt8]
  ) -> Remedy {
    var differences = miss.differences[...]
    if let first = differences.first, first.kind == .order || first.kind == .exhausted {
      differences.removeFirst()
      if differences.isEmpty {
        let kind: Remedy.Kind = first.kind == .order ? .order : .exhausted
        return Remedy(causes: [.init(location: first.location, kind: kind)], rule: nil, redaction: nil)
      }
    }
    guard large == nil, body.count + interaction.request.body.length <= Self.longest,
      let recordedBody = try? readBody(interaction.request.body)
    else {
      return Remedy(causes: differences.map { .init(location: $0.location, kind: .other) }, rule: nil, redaction: nil)
    }
    let sent = self
    func rest(_ rule: MatchingRules.Rule) -> [Difference]? {
      guard let book = try? book.adding(rule) else { return nil }
      return SoughtRequest(
        method: sent.method, target: sent.target, upstreamName: sent.upstreamName, headers: sent.headers,
        body: sent.body, book: book
      ).differences(from: interaction, index: miss.index, name: name, readBody: { _ in recordedBody })
    }
    var scope = MatchingRules.Rule(
      upstream: book.upstreams.count > 1 ? upstreamName : nil,
      method: method == RecordedRequest.streamMethod ? "POST" : method,
      path: String(validating: canonicalPath, as: UTF8.self))
    var causes: [Remedy.Cause] = []
    if let (cause, rule, left) = reordered(differences, scope, rest) {
      (scope, differences) = (rule, left[...])
      causes = [cause]
      if left.isEmpty { return Remedy(causes: causes, rule: rule, redaction: nil) }
    }
    let clocks = times.readings(since: interaction)
    let draft = explain(differences, RuleDraft(scope), recordedBody, clocks, isRecorded, &causes)
    guard !causes.contains(where: { $0.kind == .other }), (draft.rule.path ?? "").utf8.count <= Self.longestName,
      rest(draft.rule)?.isEmpty == true
    else {
      return Remedy(causes: causes, rule: nil, redaction: nil)
    }
    let isRedacted = causes.allSatisfy { $0.kind == .value(.redacted) }
    return Remedy(causes: causes, rule: draft.rule, redaction: isRedacted ? draft.redaction : nil)
  }

  /// Finds the causes of differences, and adds them to a rule.
  private func explain(
    _ differences: ArraySlice<Difference>, _ scope: RuleDraft, _ recordedBody: [UInt8],
    _ clocks: [ValueChange.Readings], _ isRecorded: (String) -> Bool, _ causes: inout [Remedy.Cause]
  ) -> RuleDraft {
    var draft = scope
    func add(_ location: String, _ kind: ValueChange?, _ recorded: String?) {
      let cause = Remedy.Cause(
        location: location, kind: kind.map { .value($0) } ?? .other, mark: kind == .redacted ? recorded : nil)
      if !causes.contains(cause) { causes.append(cause) }
    }
    for difference in differences where difference.place != .text {
      let kind = kind(of: difference, by: clocks, isRecorded)
      add(difference.location, kind, difference.values?.recorded)
      if let kind, let place = difference.place, let values = difference.values {
        draft.ignore(place, kind, values, in: canonicalPath)
      }
    }
    let texts = Array(differences.filter { $0.place == .text })
    guard let first = texts.first else { return draft }
    let changes = TextChange.all(
      from: String(decoding: recordedBody, as: UTF8.self), to: String(decoding: body, as: UTF8.self), named: "",
      by: clocks)
    guard let changes else {
      for text in texts { add(text.location, nil, nil) }
      return draft
    }
    for (index, change) in changes.enumerated() {
      // Of a text that is compared byte by byte, only the first difference is known.
      let location = texts.count == changes.count ? texts[index].location : first.location
      add(location, isKnown(change.kind, change.actual, isRecorded) ? nil : change.kind, change.recorded)
      draft.ignore(change)
    }
    return draft
  }

  /// The kind of a difference between two values; nil for any other difference.
  private func kind(
    of difference: Difference, by clocks: [ValueChange.Readings], _ isRecorded: (String) -> Bool
  ) -> ValueChange? {
    guard let place = difference.place, let values = difference.values else { return nil }
    // The ids of JSON-RPC count the requests.
    let isCall = place == .json([.name("id")]) && body.contains("jsonrpc")
    let kind = ValueChange.between(
      values.recorded, values.actual, named: isCall ? "jsonrpc id" : place.name, by: clocks)
    return kind.flatMap { isKnown($0, values.actual, isRecorded) ? nil : $0 }
  }

  /// A value that occurs in the recording is not random: the app asks for another recorded thing.
  private func isKnown(_ kind: ValueChange, _ value: String, _ isRecorded: (String) -> Bool) -> Bool {
    (kind == .uuid || kind == .nonce) && isRecorded(value)
  }

  /// Looks for another comparison of bodies that differ in notation or order only: the cause, the rule, and what
  /// differs with it.
  private func reordered(
    _ differences: ArraySlice<Difference>, _ scope: MatchingRules.Rule, _ rest: (MatchingRules.Rule) -> [Difference]?
  ) -> (Remedy.Cause, MatchingRules.Rule, [Difference])? {
    guard let first = differences.first(where: { $0.kind == .body }) else { return nil }
    var rule = scope
    if headers["Content-Type"]?.lowercased().hasPrefix("multipart/") == true {
      rule.compare.partOrder = false
      guard let left = rest(rule), left.count < differences.count else { return nil }
      return (.init(location: first.location, kind: .partOrder), rule, left)
    }
    guard criteria.body == .auto || criteria.body == .bytes,
      let byte = body.first(where: { !BodyHolding.isSpace($0) })
    else { return nil }
    let kind: MatchingRules.BodyKind = byte == UInt8(ascii: "<") ? .xml : .json
    guard kind == .xml || BodyHolding.beginsJSON(byte) else { return nil }
    rule.compare.body = kind
    // A value that differs can be ignored byte by byte, too.
    guard let left = rest(rule), left.isEmpty else { return nil }
    return (.init(location: first.location, kind: .notation(kind)), rule, left)
  }
}

/// A rule that ignores the differences of one request.
private struct RuleDraft {
  private(set) var rule: MatchingRules.Rule
  /// Nil if it cannot do the same.
  private(set) var redaction: RedactionRules? = RedactionRules()

  init(_ scope: MatchingRules.Rule) { rule = scope }

  mutating func ignore(
    _ place: Difference.Place, _ kind: ValueChange, _ values: Difference.Values, in path: [UInt8]
  ) {
    let isRedacted = kind == .redacted && values.recorded == "<redacted>"
    if !isRedacted { redaction = nil }
    switch place {
    case .query(let name):
      rule.ignore.query.appendNew([name])
      redaction?.query.appendNew([name])
    case .header(let name):
      rule.ignore.headers.appendNew([name])
      redaction?.headers.appendNew([name])
    case .form(let name):
      rule.ignore.form.appendNew([name])
      redaction?.form.appendNew([name])
    case .json(let steps):
      rule.ignore.json = Self.adding(steps, to: rule.ignore.json)
      redaction?.json = rule.ignore.json
    case .segment(let number):
      redaction = nil
      var segments = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        .map { String(decoding: $0, as: UTF8.self) }
      guard segments.indices ~= number, number > 0 else { return }
      // The segment before may be one that differs, too.
      let before = (rule.path ?? "").split(separator: "/", omittingEmptySubsequences: false)
      let prefix = before.count == segments.count && before[number - 1] == "*" ? "" : "/" + segments[number - 1]
      let literal = number == 1 ? "^/" : Self.quoted(prefix + "/")
      rule.ignore.pattern.appendNew(["(?<=\(literal))[^/]+"])
      for index in segments.indices where index == number || before.count == segments.count && before[index] == "*" {
        segments[index] = "*"
      }
      rule.path = segments.joined(separator: "/")
    case .text: break
    }
  }

  mutating func ignore(_ change: TextChange) {
    redaction = nil
    let set = change.kind == .redacted ? "[^\\s\"'&]+" : #"[^\s"'`<>,;@&=?/|()\[\]{}#]+"#
    rule.ignore.pattern.appendNew([change.before.isEmpty ? set : "(?<=\(Self.quoted(change.before)))\(set)"])
  }

  /// Paths that differ in indexes only become one.
  private static func adding(_ steps: [JSONPath.Child], to paths: [String]) -> [String] {
    let exact = JSONPath.text(steps)
    let general = SuggestedRules.general(exact)
    guard let index = paths.firstIndex(where: { SuggestedRules.general($0) == general }) else { return paths + [exact] }
    var paths = paths
    if paths[index] != exact { paths[index] = general }
    return paths
  }

  /// A text for a regular expression that matches it literally.
  private static func quoted(_ text: String) -> String {
    text.reduce(into: "") { quoted, character in
      switch character {
      case "\n": quoted += "\\n"
      case "\r": quoted += "\\r"
      case "\r\n": quoted += "\\r\\n"
      case "\t": quoted += "\\t"
      case _ where "\\^$.|?*+()[]{}".contains(character): quoted += "\\\(character)"
      default: quoted.append(character)
      }
    }
  }
}

extension [UInt8] {
  fileprivate func contains(_ text: String) -> Bool {
    let sought = Array<UInt8>(text.utf8)
    guard let first = sought.first else { return true }
    return withUnsafeBytes { bytes in
      sought.withUnsafeBytes { text in
        guard let text = text.baseAddress else { return true }
        var rest = bytes
        while rest.count >= sought.count, let offset = rest.offset(of: first) {
          rest = UnsafeRawBufferPointer(rebasing: rest[offset...])
          guard rest.count >= sought.count, let start = rest.baseAddress else { return false }
          if memcmp(start, text, sought.count) == 0 { return true }
          rest = UnsafeRawBufferPointer(rebasing: rest[1...])
        }
        return false
      }
    }
  }
}

/// Whether a text occurs in URLs, inline request bodies, or inline response bodies of a recording. Looks at 8 MiB at most.
func occurs(_ text: String, in interactions: [Interaction]) -> Bool {
  var budget = 8 << 20
  for interaction in interactions {
    guard budget > 0 else { return false }
    budget -= interaction.request.url.utf8.count
    if Array(interaction.request.url.utf8).contains(text) { return true }
    for body in [interaction.request.body, interaction.response.body] {
      guard case .bytes(let bytes) = body else { continue }
      budget -= bytes.count
      if bytes.contains(text) { return true }
    }
  }
  return false
}
