package import Basics
package import EnvironmentConfiguration
import Foundation
import HTTPMessages

/// The faults of an environment, with counts of the requests that each matched and affected.
///
/// ```swift
/// var faults = FaultSet(try settings.map { settings in try FaultSet.Rule(settings, at: "faults[0]") })
/// let effect = try faults.effect(on: request, context, draw: draw)
/// ```
package struct FaultSet: Sendable {
  /// A fault with its compiled conditions.
  package struct Rule: Sendable {
    package let settings: FaultSettings
    /// Its name in reports.
    package let label: String
    fileprivate let request: RequestPattern
    fileprivate let path: PathTemplate?
    fileprivate let distribution: StubResponse.DelayDistribution?

    /// - Parameters:
    ///   - settings: the fault.
    ///   - place: its place, for errors.
    /// - Throws: ``CodedError`` for conditions that are not valid, or members that contradict each other.
    package init(_ settings: FaultSettings, at place: String) throws(CodedError) {
      self.settings = settings
      label = settings.name ?? settings.summary
      func reading<Value>(
        _ json: JSON?, _ name: String, _ read: (Members) throws(CodedError) -> Value
      ) throws(CodedError) -> Value? {
        guard let json else { return nil }
        return try read(try Members(json, at: "\(place).\(name)"))
      }
      request =
        try reading(settings.request, "request") { members throws(CodedError) in
          try MappingReader.pattern(members)
        } ?? RequestPattern()
      distribution = try reading(settings.delayDistribution, "delayDistribution") { members throws(CodedError) in
        let distribution = try MappingReader.distribution(fields: members)
        try members.end()
        return distribution
      }
      do { path = try settings.path.map { text throws(CodedError) in try PathTemplate(text) } } catch {
        throw CodedError(.broken, error.problem, at: "\(place).path")
      }
      if let problem = settings.contradiction { throw CodedError(.broken, problem, at: place) }
    }

    /// Whether it depends on the request's body.
    package var needsBody: Bool { !request.body.isEmpty || !request.form.isEmpty || !request.parts.isEmpty }

    fileprivate func matches(_ other: StubRequest, _ context: MatchContext) throws(CodedError) -> Bool {
      guard matchesLine(other) else { return false }
      return try request.matches(other, context)
    }

    /// Whether upstream, method and path match.
    fileprivate func matchesLine(_ other: StubRequest) -> Bool {
      if let upstream = settings.upstream, upstream != other.upstream { return false }
      if let method = settings.method, method != other.method { return false }
      return path?.values(in: other.path) != nil || path == nil
    }
  }

  /// The effect on one request.
  package struct Effect: Sendable {
    /// The labels of the faults.
    package var labels: [String] = []
    /// The sum of all delays, in milliseconds.
    package var delay = 0.0
    /// The lowest bandwidth of all faults.
    package var bytesPerSecond: Int?
    /// The fault that determines the response: the first one with a kind or a status.
    package var outcome: FaultSettings?
  }

  package let rules: [Rule]
  /// How many requests have matched each rule's conditions.
  package private(set) var matches: [Int]
  /// How many requests each rule has affected.
  package private(set) var uses: [Int]

  package init(_ rules: [Rule] = []) {
    self.rules = rules
    matches = Array(repeating: 0, count: rules.count)
    uses = matches
  }

  /// Restores stored counts. They are ignored if they belong to other rules.
  package mutating func restore(matches: [Int], uses: [Int]) {
    guard matches.count == rules.count, uses.count == rules.count else { return }
    (self.matches, self.uses) = (matches, uses)
  }

  /// Whether an upstream's endpoint refuses connections.
  package func refuses(_ upstream: String) -> Bool {
    rules.contains { $0.settings.fault == .refused && $0.settings.upstream ?? upstream == upstream }
  }

  /// Whether a fault for a request with this method and target depends on its body.
  package func needsBody(method: String, target: String, upstream: String) -> Bool {
    guard rules.contains(where: \.needsBody) else { return false }
    let request = StubRequest(
      method: method, target: target, headers: [:], body: [], scheme: "", host: "", port: 0, upstream: upstream)
    let context = MatchContext(now: .distantPast, timeZone: .gmt)
    return rules.contains { rule in
      rule.needsBody && rule.matchesLine(request)
        && rule.request.matchesMethod(method) && (try? rule.request.matchesURL(request, context)) ?? true
    }
  }

  /// Counts a request, and returns the effect on it.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - context: the time.
  ///   - draw: draws a random number in 0..<1 for a key.
  /// - Returns: nil if nothing happens.
  /// - Throws: ``CodedError`` if a condition exceeds its limits.
  package mutating func effect(
    on request: StubRequest, _ context: MatchContext, draw: (String) -> Double
  ) throws(CodedError) -> Effect? {
    var effect = Effect()
    for (index, rule) in rules.enumerated() {
      let settings = rule.settings
      do { guard try rule.matches(request, context) else { continue } } catch {
        throw CodedError(error.kind, error.message, at: "fault '\(rule.label)'")
      }
      matches[index] += 1
      if let limit = settings.limit, uses[index] >= limit { continue }
      if let nth = settings.nth, !nth.contains(matches[index]) { continue }
      if let every = settings.every, matches[index] % every != 0 { continue }
      let key = "fault \(rule.label) \(request.method) \(request.target)"
      if let probability = settings.probability, draw(key) >= probability { continue }
      let isDecided = effect.outcome != nil
      // The first outcome wins; the others are not counted as used.
      if settings.fault != nil || settings.status != nil {
        if isDecided { continue }
        effect.outcome = settings
      }
      uses[index] += 1
      effect.labels.append(rule.label)
      effect.delay += settings.delayMilliseconds ?? 0
      effect.delay += rule.distribution?.sample { draw(key + " delay") } ?? 0
      if let limit = settings.bytesPerSecond { effect.bytesPerSecond = min(limit, effect.bytesPerSecond ?? limit) }
    }
    return effect.labels.isEmpty ? nil : effect
  }
}

extension FaultSettings {
  /// What it does, and to which requests, such as `status 503 for GET /orders`.
  fileprivate var summary: String {
    var effects: [String] = []
    if let fault { effects.append(fault.rawValue) }
    if let status { effects.append("status \(status)") }
    if let delayMilliseconds { effects.append("delay of \(delayMilliseconds.plain) ms") }
    if delayDistribution != nil { effects.append("random delay") }
    if let bytesPerSecond { effects.append("\(bytesPerSecond) bytes/s") }
    let place = request.flatMap { request in
      ["url", "urlPath", "urlPathTemplate", "urlPattern", "urlPathPattern"].lazy.compactMap { request[$0]?.string }
        .first
    }
    let conditions = [method ?? request?["method"]?.string, path ?? place].compactMap(\.self).joined(separator: " ")
    return effects.joined(separator: ", ") + (conditions.isEmpty ? "" : " for \(conditions)")
      + (upstream.map { " at \($0)" } ?? "")
  }

  /// Why the members cannot be combined; nil if they can.
  fileprivate var contradiction: String? {
    if fault == nil, status == nil, delayMilliseconds == nil, delayDistribution == nil, bytesPerSecond == nil {
      return "it has no effect; give fault, status, delayMilliseconds, delayDistribution or bytesPerSecond"
    }
    if let method, method.uppercased() != method {
      return "method: methods are case-sensitive; write '\(method.uppercased())'"
    }
    if let path, !path.hasPrefix("/") { return "path: '\(path)' does not begin with '/'" }
    if let path, path.contains("?") {
      return "path: a path has no query; use url or queryParameters in request"
    }
    for (name, value) in headers ?? [:] where !Headers.Field(name, value).isSendable {
      return "headers.\(name): not a valid header field"
    }
    if fault != nil, status != nil { return "give either fault or status, not both" }
    if afterBytes != nil, fault != .cut { return "afterBytes requires the fault cut" }
    if status == nil, headers != nil || body != nil || retryAfterSeconds != nil {
      return "headers, body and retryAfterSeconds require a status"
    }
    if fault == .refused,
      method != nil || path != nil || request != nil || nth != nil || every != nil || probability != nil || limit != nil
    {
      return "refused applies to all requests of an upstream; remove all conditions except upstream, or use reset"
    }
    if [nth != nil, every != nil, probability != nil].count(where: \.self) > 1 {
      return "give only one of nth, every and probability; to combine them, use several faults"
    }
    return nil
  }
}

extension Double {
  /// Without the fraction of a whole number.
  fileprivate var plain: String { Int(exactly: self).map(String.init) ?? "\(self)" }
}
