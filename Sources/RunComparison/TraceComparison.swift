import Basics
package import ControlAPI
import EnvironmentConfiguration
import Foundation

/// A difference between runs of a command or test.
package struct Difference: Sendable, Encodable {
  /// What differs.
  package enum Subject: String, Sendable, Encodable, CaseIterable {
    // In the order in which differences are listed: a request may be the cause of what follows it.
    case request, strings, toggles, output, errors, status, failures
  }

  /// A value in the runs that have it.
  package struct Value: Sendable, Encodable, Equatable {
    package var runs: [Int]
    /// The text around the difference; nil if these runs lack it.
    package var text: String?
  }

  package var subject: Subject
  /// What differs, such as `request 2, POST http://h/a, body $.id`.
  package var place: String
  /// How many bytes of the value or body are equal before it; nil where that means nothing.
  package var byte: Int?
  /// The column in the line that `place` names, from 1; nil for none.
  package var column: Int?
  package var values: [Value]
  package var kind: DifferenceKind
  /// Why it has this kind; empty if it is unknown.
  package var reason: String
  /// What to do about it, most likely fix first.
  package var levers: [String]
}

extension Difference {
  /// Where it is, with the column or byte.
  package var position: String {
    place + (column.map { ", column \($0)" } ?? byte.map { ", byte \($0)" } ?? "")
  }

  /// A part of a line with its style.
  package typealias Styled = (String, ReportText.Style) -> String

  /// The differences as lines: all about the first one, and a line for each of the others.
  ///
  /// - Parameters:
  ///   - differences: the differences, the most likely cause first.
  ///   - styled: adds a style to a text.
  /// - Returns: the lines. Only `styled` can add control characters; others are escaped.
  package static func lines(_ differences: [Difference], _ styled: Styled = { text, _ in text }) -> [String] {
    var lines: [String] = []
    for (index, difference) in differences.enumerated() {
      let place = difference.position.escapedForTerminal
      guard index == 0 else {
        let look = difference.kind.look.map { "; looks like \($0)" } ?? ""
        lines.append("also: \(place)\(look)")
        continue
      }
      lines.append(styled("first difference: ", .bad) + place)
      for value in difference.values.prefix(5) {
        lines.append(
          "  run\(value.runs.count == 1 ? "" : "s") \(list(value.runs, limit: 5)): "
            + (value.text ?? "missing").escapedForTerminal)
      }
      if let look = difference.kind.look { lines.append("  looks like \(look): \(difference.reason)") }
      for (number, lever) in difference.levers.enumerated() {
        lines.append(number == 0 ? "  to fix it: \(lever)" : "    \(lever)")
      }
    }
    return lines
  }

  /// Says which runs did the same.
  ///
  /// - Parameter groups: the runs in groups that agree.
  /// - Returns: a line.
  package static func text(of groups: [[Int]]) -> String {
    guard groups.contains(where: { $0.count > 1 }) else { return "every run is different" }
    return "groups of runs that did the same: " + groups.map { list($0, limit: 20) }.joined(separator: " | ")
  }

  /// Lists the numbers of runs, such as `1, 2 and 4 more`.
  ///
  /// - Parameters:
  ///   - runs: the numbers.
  ///   - limit: how many to list.
  /// - Returns: the list.
  package static func list(_ runs: [Int], limit: Int) -> String {
    let shown = runs.prefix(limit).map(String.init).joined(separator: ", ")
    return runs.count > limit ? "\(shown) and \(runs.count - limit) more" : shown
  }
}

/// Compares the traces of several runs of a command or test.
///
/// Requests correspond if they are equal: the same method, key by the matching rules (or URL and body, without a key)
/// and header fields, counted where they repeat. Their order is no difference by itself: two requests are ordered only if
/// they are in each run. If the runs made the same requests, but equal ones got different answers, their order decided,
/// which is a race.
package struct TraceComparison: Sendable {
  /// The runs in groups that agree, each in order; the first group has the first run.
  package private(set) var groups: [[Int]] = []
  /// Each request that differs, and the first difference of each other subject.
  package private(set) var differences: [Difference] = []
  /// What is no difference, but worth knowing.
  package private(set) var notes: [String] = []

  /// How many requests that differ are described.
  private static let listed = 10
  /// How many requests of two runs are compared in parts if the runs have no equal ones.
  private static let compared = 100

  private let traces: [Trace]
  private let ignoredHeaders: Set<String>
  private let comparesOutput: Bool
  /// A request whose answer depends on timing, with the number of its run.
  private var ambiguous: (run: Int, request: Trace.Request)?
  private let interface: DifferenceKind.Interface

  /// - Parameters:
  ///   - traces: one for each run, at least one.
  ///   - ignoredHeaders: the names of header fields that are not compared, in any case.
  ///   - comparesOutput: whether standard output and error are compared.
  ///   - interface: what the runs were started with, for what to do about a difference.
  package init(
    _ traces: [Trace], ignoredHeaders: [String] = [], comparesOutput: Bool = true,
    interface: DifferenceKind.Interface = .command(.init())
  ) {
    self.traces = traces
    self.interface = interface
    // These depend on the body, and on the connection.
    self.ignoredHeaders = Set(ignoredHeaders.map { $0.lowercased() } + ["content-length", "connection"])
    self.comparesOutput = comparesOutput
    for trace in traces where ambiguous == nil { ambiguous = ambiguity(in: trace).map { (trace.facts.run, $0) } }
    var representatives: [(trace: Trace, runs: [Int])] = []
    for trace in traces {
      if let index = representatives.firstIndex(where: { found(in: trace, against: $0.trace).isEmpty }) {
        representatives[index].runs.append(trace.facts.run)
      } else {
        representatives.append((trace, [trace.facts.run]))
      }
    }
    groups = representatives.map(\.runs)
    if let first = representatives.first?.trace, representatives.count > 1 {
      let others = representatives.dropFirst().map { Other($0.runs, $0.trace, found(in: $0.trace, against: first)) }
      differences = Difference.Subject.allCases.flatMap { differences($0, others, from: first) }
      let more = others.map { $0.count(of: .request) }.max() ?? 0
      if more > Self.listed { notes.append("\(more - Self.listed) more requests differ") }
    }
    notes += orderNotes() + ambiguityNotes()
  }

  // MARK: Two runs

  /// A difference between the first run and another one, not yet classified.
  private struct Found {
    var subject: Difference.Subject
    var place: String
    /// Equal for differences at the same place of different runs.
    var identity: String
    var difference: TextDifference?
    var left: String?
    var right: String?
    /// Where it is, for what to do about it.
    var levers = DifferenceKind.Place.other
    /// The number of the request in the first run; nil for none.
    var request: Int?
    /// Whether equal requests got different answers.
    var isRace = false
  }

  private func found(in trace: Trace, against first: Trace) -> [Found] {
    var all: [Found] = []
    all += requestDifferences(first, trace)
    all += stringDifference(first, trace) + toggleDifference(first, trace)
    if comparesOutput {
      for (subject, name, one, other) in [
        (Difference.Subject.output, "standard output", first.output, trace.output),
        (.errors, "standard error", first.errors, trace.errors),
      ] {
        guard let difference = TextDifference.first(one, other) else { continue }
        let place = difference.path == "$" ? name : "\(name), \(difference.path)"
        all.append(Found(subject: subject, place: place, identity: place, difference: difference, levers: .output))
      }
    }
    if (first.commandStatus, first.status) != (trace.commandStatus, trace.status) {
      let isOfCommand = first.commandStatus != trace.commandStatus
      let values = isOfCommand ? (first.commandStatus, trace.commandStatus) : (first.status, trace.status)
      all.append(
        Found(
          subject: .status, place: isOfCommand ? "exit status" : "exit status of the environment", identity: "status",
          left: "\(values.0)", right: "\(values.1)"))
    }
    let failures = [first, trace].map { $0.failures.sorted().joined(separator: "; ") }
    if failures[0] != failures[1] {
      all.append(
        Found(
          subject: .failures, place: "failures", identity: "failures",
          left: failures[0].isEmpty ? nil : failures[0], right: failures[1].isEmpty ? nil : failures[1]))
    }
    return all
  }

  private func stringDifference(_ first: Trace, _ trace: Trace) -> [Found] {
    func uses(_ strings: Report.Strings) -> [String] {
      func texts(_ uses: [Report.StringUse], _ what: String) -> [String] {
        uses.map { "key '\($0.key)', ordinal \($0.ordinal): \(what)" }.sorted()
      }
      return texts(strings.missing, "missing") + texts(strings.unused, "not drawn")
        + ["\(counted(strings.read, "string")) drawn"]
    }
    let (one, other) = (uses(first.strings), uses(trace.strings))
    guard one != other else { return [] }
    let left = one.first { !other.contains($0) }
    let right = other.first { !one.contains($0) }
    let key = (left ?? right ?? "").prefix { $0 != ":" }
    return [
      Found(
        subject: .strings, place: "strings drawn", identity: String(key), left: left ?? "as in the other runs",
        right: right ?? "as in the other runs")
    ]
  }

  private func toggleDifference(_ first: Trace, _ trace: Trace) -> [Found] {
    let names = Set(first.toggles.keys).union(trace.toggles.keys).sorted()
    guard let name = names.first(where: { first.toggles[$0] != trace.toggles[$0] }) else { return [] }
    return [
      Found(
        subject: .toggles, place: "toggle \(name)", identity: name, left: first.toggles[name]?.text,
        right: trace.toggles[name]?.text)
    ]
  }

  // MARK: Requests

  private struct Identity: Hashable {
    var method: String
    /// The key, or the URL.
    var key: String
    var body: [UInt8]?
    var size: Int?
    var headers: [Trace.Header]
  }

  private func identity(_ request: Trace.Request) -> Identity {
    Identity(
      method: request.method, key: request.key ?? request.url, body: request.key == nil ? request.body : nil,
      size: request.key == nil ? request.size : nil, headers: headers(request))
  }

  /// The header fields that are compared, sorted by name: only the order of fields of the same name has a meaning
  /// (RFC 9110, 5.3), and that of cookies has none, either (RFC 6265, 4.2.2).
  private func headers(_ request: Trace.Request) -> [Trace.Header] {
    request.headers.map { header in
      let name = header.name.lowercased()
      let isCookie = name == "cookie"
      return Trace.Header(
        name: name,
        value: isCookie ? header.value.components(separatedBy: "; ").sorted().joined(separator: "; ") : header.value)
    }.filter { !ignoredHeaders.contains($0.name) }.sorted { $0.name < $1.name }
  }

  /// The pairs of equal requests in two runs, and the requests that have no equal one.
  private func matched(
    _ first: Trace, _ trace: Trace
  ) -> (pairs: [(Trace.Request, Trace.Request)], left: [Trace.Request], right: [Trace.Request]) {
    var waiting: [Identity: [Trace.Request]] = [:]
    for request in trace.requests.reversed() { waiting[identity(request), default: []].append(request) }
    var pairs: [(Trace.Request, Trace.Request)] = []
    var left: [Trace.Request] = []
    for request in first.requests {
      if let other = waiting[identity(request)]?.popLast() {
        pairs.append((request, other))
      } else {
        left.append(request)
      }
    }
    return (pairs, left, waiting.values.flatMap(\.self).sorted { $0.number < $1.number })
  }

  /// The requests that differ, in the order of the first run, then those that only the other run made.
  private func requestDifferences(_ first: Trace, _ trace: Trace) -> [Found] {
    let (pairs, left, right) = matched(first, trace)
    guard !left.isEmpty || !right.isEmpty else {
      guard let (one, other) = pairs.first(where: { $0.answer != $1.answer }) else { return [] }
      let place = "\(Self.place(one)), answered by"
      return [
        Found(
          subject: .request, place: place, identity: place, left: one.answer.text, right: other.answer.text,
          isRace: true)
      ]
    }
    var others = right
    var all: [Found] = []
    for (count, one) in left.enumerated() {
      if count < Self.compared, let index = Self.counterpart(of: one, among: others),
        let found = difference(one, others[index])
      {
        others.remove(at: index)
        all.append(found)
      } else {
        all.append(Self.extra(one, isLeft: true))
      }
    }
    return all + others.map { Self.extra($0, isLeft: false) }
  }

  /// A request that only one of two runs made.
  private static func extra(_ request: Trace.Request, isLeft: Bool) -> Found {
    let text = "\(request.method) \(request.url), answered by \(request.answer.text)"
    return Found(
      subject: .request, place: place(request), identity: "\(request.method) \(request.url)",
      left: isLeft ? text : nil, right: isLeft ? nil : text, request: isLeft ? request.number : nil)
  }

  private static func place(_ request: Trace.Request) -> String {
    "request \(request.number), \(request.method) \(request.url)"
  }

  /// The index of the request of another run that is most likely the same.
  private static func counterpart(of request: Trace.Request, among others: [Trace.Request]) -> Int? {
    func path(_ url: String) -> Substring { url.prefix { $0 != "?" } }
    func origin(_ url: String) -> String { url.split(separator: "/", maxSplits: 3).prefix(2).joined(separator: "/") }
    let same = others.indices.filter { others[$0].method == request.method }
    return same.first { others[$0].url == request.url } ?? same.first { path(others[$0].url) == path(request.url) }
      ?? same.first {
        origin(others[$0].url) == origin(request.url)
          && path(others[$0].url).count { $0 == "/" } == path(request.url).count { $0 == "/" }
      }
  }

  /// How two requests that correspond differ.
  private func difference(_ one: Trace.Request, _ other: Trace.Request) -> Found? {
    func found(
      _ part: String, _ difference: TextDifference, _ place: DifferenceKind.Place
    ) -> Found {
      Found(
        subject: .request, place: "\(Self.place(one)), \(part)", identity: "\(one.number) \(part)",
        difference: difference, levers: place, request: one.number)
    }
    func matched(_ ignored: MatchingRules.Ignored = .init()) -> DifferenceKind.Place {
      // Without a key, no matching rules apply.
      guard one.key != nil || other.key != nil else { return .other }
      return (one.rule ?? other.rule ?? Self.rule(for: one, ignoring: ignored)).map { .matched(rule: $0) } ?? .other
    }
    // With equal keys, URL and body differ only in what the matching rules ignore.
    if one.key == nil || one.key != other.key {
      if one.url != other.url, let (part, difference) = Self.urlDifference(one.url, other.url) {
        let isItem = !difference.name.isEmpty
        return found(part, difference, matched(isItem ? .init(query: [difference.name]) : .init()))
      }
      if let body = one.body, let otherBody = other.body, body != otherBody {
        if let (part, difference) = Self.formDifference(one, other) {
          let isItem = !difference.name.isEmpty
          return found(part, difference, matched(isItem ? .init(form: [difference.name]) : .init()))
        }
        if let difference = TextDifference.first(body, otherBody) {
          let isValue = difference.path.hasPrefix("$") && difference.path != "$"
          return found(
            difference.path == "$" ? "body" : "body \(difference.path)", difference,
            matched(isValue ? .init(json: [difference.path]) : .init()))
        }
      }
      if one.size != other.size || one.body == nil && one.key != other.key {
        return Found(
          subject: .request, place: "\(Self.place(one)), body", identity: "\(one.number) body",
          left: one.size.map { "\($0) bytes" }, right: other.size.map { "\($0) bytes" }, levers: matched(),
          request: one.number)
      }
    }
    let (left, right) = (headers(one), headers(other))
    for name in (left + right).map(\.name) {
      let values = [left, right].map { all in all.filter { $0.name == name }.map(\.value).joined(separator: ", ") }
      guard values[0] != values[1], var difference = TextDifference.first(Array(values[0].utf8), Array(values[1].utf8))
      else { continue }
      difference.name = name
      difference.isByLine = false
      let asSent = (one.headers + other.headers).first { $0.name.lowercased() == name }?.name ?? name
      return found("header \(asSent)", difference, .header(asSent))
    }
    return nil
  }

  /// The content of `diorama.json` that ignores parts of a request; nil if there are none.
  private static func rule(for request: Trace.Request, ignoring ignored: MatchingRules.Ignored) -> String? {
    guard ignored != .init() else { return nil }
    let path = URL(string: request.url)?.path(percentEncoded: true) ?? ""
    let rule = MatchingRules.Rule(method: request.method, path: path.isEmpty ? "/" : path, ignore: ignored)
    let setting = JSON.object(["matching": .object(["rules": .array([rule.document])])])
    return String(decoding: setting.encoded(.line), as: UTF8.self)
  }

  private static func urlDifference(_ left: String, _ right: String) -> (String, TextDifference)? {
    let byte = zip(left.utf8, right.utf8).prefix { $0 == $1 }.count
    let parts = [left, right].map { $0.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false) }
    if parts[0][0] == parts[1][0], parts[0].count == 2, parts[1].count == 2 {
      return items(String(parts[0][1]), String(parts[1][1]), "query item", byte)
    }
    let segments = parts.map { $0[0].split(separator: "/") }
    for (index, (one, other)) in zip(segments[0], segments[1]).enumerated() where one != other && index >= 2 {
      return (
        "path segment \(index - 1)",
        TextDifference(path: "", byte: byte, left: decoded(one), right: decoded(other))
      )
    }
    return ("URL", TextDifference(path: "", byte: byte, left: left, right: right))
  }

  private static func formDifference(_ one: Trace.Request, _ other: Trace.Request) -> (String, TextDifference)? {
    let isForm = one.headers.contains {
      $0.name.lowercased() == "content-type" && $0.value.lowercased().hasPrefix("application/x-www-form-urlencoded")
    }
    guard isForm, let left = one.body, let right = other.body, !left.starts(with: "{".utf8) else { return nil }
    return items(
      String(decoding: left, as: UTF8.self), String(decoding: right, as: UTF8.self), "form item",
      zip(left, right).prefix { $0 == $1 }.count)
  }

  /// The first item of a query or form that differs.
  private static func items(_ left: String, _ right: String, _ what: String, _ byte: Int) -> (String, TextDifference)? {
    let all = [left, right].map { text in
      text.split(separator: "&").map { $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false) }
    }
    func joined(_ items: [[Substring]]) -> [String] { items.map { $0.joined(separator: "=") } }
    if joined(all[0]) != joined(all[1]), joined(all[0]).sorted() == joined(all[1]).sorted() {
      return (what + "s", TextDifference(path: "", byte: byte, left: left, right: right, permutation: .parts))
    }
    for (index, item) in all[0].enumerated() {
      let name = item[0]
      let place = "\(what) `\(decoded(name))`"
      let value = item.count == 2 ? decoded(item[1]) : ""
      let nth = all[0][..<index].count { $0[0] == name }
      let others = all[1].filter { $0[0] == name }
      let other = others.indices.contains(nth) ? others[nth] : nil
      let otherValue = other.map { $0.count == 2 ? decoded($0[1]) : "" }
      guard otherValue != value else { continue }
      var difference =
        TextDifference.first(Array(value.utf8), Array((otherValue ?? "").utf8))
        ?? TextDifference(path: "", byte: byte, left: value, right: "")
      (difference.name, difference.byte) = (decoded(name), byte)
      difference.isByLine = false
      return (place, difference)
    }
    guard let added = all[1].first(where: { item in !all[0].contains { $0[0] == item[0] } }) else { return nil }
    let value = added.count == 2 ? decoded(added[1]) : ""
    let name = decoded(added[0])
    return ("\(what) `\(name)`", TextDifference(name: name, path: "", byte: byte, left: "", right: value))
  }

  private static func decoded(_ text: Substring) -> String {
    let spaced = text.replacing("+", with: " ")
    return spaced.removingPercentEncoding ?? String(spaced)
  }

  // MARK: All runs

  /// A group of runs, with what differs from the first run.
  private struct Other {
    var runs: [Int]
    var trace: Trace
    var found: [Found]

    init(_ runs: [Int], _ trace: Trace, _ found: [Found]) {
      self.runs = runs
      self.trace = trace
      self.found = found
    }

    func count(of subject: Difference.Subject) -> Int { found.count { $0.subject == subject } }
  }

  /// The differences of a subject, with the values of all groups at each place.
  private func differences(_ subject: Difference.Subject, _ others: [Other], from first: Trace) -> [Difference] {
    var identities: Set<String> = []
    let chosen = others.flatMap(\.found).filter { $0.subject == subject && identities.insert($0.identity).inserted }
    // Only requests are independent of each other.
    return chosen.prefix(subject == .request ? Self.listed : 1).map { difference($0, others, from: first) }
  }

  /// A difference with the values of all groups at its place.
  private func difference(_ chosen: Found, _ others: [Other], from first: Trace) -> Difference {
    let subject = chosen.subject
    let all = others.map { other in
      let found = other.found.filter { $0.subject == subject }
      return (
        other.runs, other.trace,
        found.first { $0.identity == chosen.identity }
          ?? (subject == .request
            ? chosen.request.flatMap { number in found.first { $0.request == number } } : found.first)
      )
    }
    var values: [Difference.Value] = []
    func add(_ text: String?, _ runs: [Int]) {
      if let index = values.firstIndex(where: { $0.text == text }) {
        values[index].runs += runs
      } else {
        values.append(.init(runs: runs, text: text))
      }
    }
    let chosenTexts = Self.texts(of: chosen)
    add(chosenTexts.left, groups.first ?? [])
    var samples: [Sample] = []
    if let difference = chosen.difference {
      samples = [Sample(token: Token.pair(difference.left, difference.right).0, facts: first.facts)]
    }
    for (runs, trace, found) in all {
      // A group that does not differ here has the value of the first run.
      guard let found else {
        add(chosenTexts.left, runs)
        continue
      }
      guard found.identity == chosen.identity, found.difference?.left == chosen.difference?.left else { continue }
      add(Self.texts(of: found).right, runs)
      if let difference = found.difference, !difference.left.isEmpty, !difference.right.isEmpty {
        samples.append(Sample(token: Token.pair(difference.left, difference.right).1, facts: trace.facts))
      }
    }
    let classification = classify(chosen, samples, first, all.first { $0.2?.identity == chosen.identity }?.1)
    let text = chosen.difference
    let reason = [classification.reason, classification.kind.doubt(in: interface) ?? ""].filter { !$0.isEmpty }
    return Difference(
      subject: subject, place: chosen.place, byte: text?.isByLine == true ? nil : text?.byte,
      column: text?.isByLine == true ? text?.column : nil,
      values: values, kind: classification.kind, reason: reason.joined(separator: "; "),
      levers: classification.kind.levers(at: chosen.levers, in: interface))
  }

  private func classify(_ found: Found, _ samples: [Sample], _ first: Trace, _ other: Trace?) -> Classification {
    if found.isRace {
      return Classification(.race, "the runs made the same requests, but in another order, which decided the answers")
    }
    guard let difference = found.difference else {
      return Classification(found.left == nil || found.right == nil ? .extra : .unknown, "")
    }
    if ambiguous != nil,
      found.subject == .output && other.map({ TextDifference.hasSameWords($0.output, first.output) }) ?? false
        || found.subject == .errors && other.map({ TextDifference.hasSameWords($0.errors, first.errors) }) ?? false
    {
      return Self.ambiguity
    }
    let isReordered = other.map { inversion(first, $0) != nil } ?? false
    let isConcurrent = traces.contains { Self.overlap($0) != nil }
    let doubt =
      isConcurrent
      ? "" : "; no two overlapped, so it may be threads that take turns, or a loop over a set or dictionary"
    switch difference.permutation {
    case .lines? where isReordered:
      return Classification(
        .race, "the same lines in another order, and the requests came in another order, too\(doubt)")
    case .lines?:
      return Classification(.hashOrder, "the same lines in another order; it may also be a race of threads")
    case .parts?: return Classification(.hashOrder, "the same parts in another order")
    case nil: break
    }
    guard !difference.left.isEmpty, !difference.right.isEmpty, samples.count >= 2 else {
      return Classification(.extra, "")
    }
    let classification = Classification(samples, name: difference.name)
    guard classification.kind == .unknown, found.subject != .request else { return classification }
    if ambiguous != nil { return Self.ambiguity }
    guard isReordered else { return classification }
    return Classification(.race, "the requests of these runs came in another order\(doubt)")
  }

  /// The texts around a difference.
  private static func texts(of found: Found) -> (left: String?, right: String?) {
    guard let difference = found.difference else { return (found.left, found.right) }
    let place = zip(difference.left.utf8, difference.right.utf8).prefix { $0 == $1 }.count
    return (excerpt(difference.left, around: place), excerpt(difference.right, around: place))
  }

  /// At most 100 characters of a text around a place; nil for an empty text.
  private static func excerpt(_ text: String, around place: Int) -> String? {
    guard !text.isEmpty else { return nil }
    let bytes = Array(text.utf8)
    let (start, end) = (max(0, place - 40), min(bytes.count, place + 60))
    return (start > 0 ? "…" : "") + String(decoding: bytes[min(start, end)..<end], as: UTF8.self)
      + (end < bytes.count ? "…" : "")
  }

  // MARK: Order

  /// Two requests that came in another order in another run.
  private func inversion(_ first: Trace, _ other: Trace) -> (Trace.Request, Trace.Request)? {
    let pairs = matched(first, other).pairs
    return zip(pairs, pairs.dropFirst()).first { $0.1.number > $1.1.number }.map { ($0.0, $1.0) }
  }

  /// Two requests that were in progress at once.
  private static func overlap(_ trace: Trace) -> (Trace.Request, Trace.Request)? {
    for (request, next) in zip(trace.requests, trace.requests.dropFirst()) {
      if let answered = next.answeredBefore, answered < request.number { return (request, next) }
    }
    return nil
  }

  private static let ambiguity = Classification(
    .race, "equal requests overlapped, so that timing decides which of them gets which answer")

  /// A request that was in progress beside an equal one, which got another answer.
  private func ambiguity(in trace: Trace) -> Trace.Request? {
    var last: [Identity: Trace.Request] = [:]
    return trace.requests.first { request in
      guard let former = last.updateValue(request, forKey: identity(request)), let answered = request.answeredBefore
      else { return false }
      return answered < former.number && former.answer != request.answer
    }
  }

  private func ambiguityNotes() -> [String] {
    guard let (run, request) = ambiguous else { return [] }
    return [
      "equal requests overlapped in run \(run), and got different answers: \(request.method) \(request.url); timing "
        + "decides which request gets which answer"
    ]
  }

  private func orderNotes() -> [String] {
    guard let first = traces.first else { return [] }
    guard
      let (trace, pair) = traces.dropFirst().lazy.compactMap({ trace in
        inversion(first, trace).map { (trace, $0) }
      }).first
    else { return [] }
    let overlapping = traces.first { Self.overlap($0) != nil }
    let cause =
      overlapping.map { "requests overlapped in run \($0.facts.run)" }
      ?? "no requests overlapped, so threads that take turns, or a loop in another order, may be the cause"
    let requests = [pair.0, pair.1].map { "\($0.method) \($0.url)" }.joined(separator: " and ")
    return [
      "not ordered: \(requests) came in this order in run \(first.facts.run), and in the other order in "
        + "run \(trace.facts.run); \(cause)"
    ]
  }
}
