import Basics
import ControlAPI
import Foundation

/// Requests as a step names them: `POST /v1/users`, `/v1/clinics/{id}`, `GET https://api.example.com/clinics?page=2`.
///
/// If the method, host or query is left out, any matches. A segment in braces matches any segment.
struct RequestLine {
  /// A request that the app has sent.
  struct Asked {
    let method: String
    let url: String
    let status: Int
    /// What became of it: `replayed`, `unmatched`…
    let kind: String

    /// - Returns: nil if the entry is not a request of the app.
    init?(_ entry: JournalPage.Entry) {
      guard entry.kind != "note", entry.setup != true, !entry.method.isEmpty else { return nil }
      method = entry.method
      url = entry.url
      status = entry.status
      kind = entry.kind
    }
  }

  let method: String?
  /// The path, with the query if there is one.
  let target: String
  private let origin: String?

  init(_ text: String) throws {
    let words = text.split(separator: " ").map(String.init)
    guard let url = words.last, words.count <= 2, url.hasPrefix("/") || url.contains("://") else {
      throw ScenarioError("'\(text)' is not a request; write a method and a path, such as \"GET /v1/users\"")
    }
    method = words.count == 2 ? words[0].uppercased() : nil
    (origin, target) = Self.parts(of: url)
  }

  func matches(_ asked: Asked) -> Bool {
    let (askedOrigin, askedTarget) = Self.parts(of: asked.url)
    guard method == nil || method == asked.method, origin == nil || origin == askedOrigin else { return false }
    let (wanted, found) = (Self.split(target), Self.split(askedTarget))
    if let query = wanted.query, query != found.query { return false }
    guard wanted.segments.count == found.segments.count else { return false }
    return zip(wanted.segments, found.segments).allSatisfy { wanted, found in
      (wanted.hasPrefix("{") && wanted.hasSuffix("}")) || wanted == found
    }
  }

  /// `it has asked for:` and a line for each request.
  static func summary(of asked: [Asked]) -> String {
    guard !asked.isEmpty else { return "it has asked for nothing" }
    let lines = asked.prefix(20).map { "  \($0.method) \($0.url) (\($0.kind), \($0.status))" }
    let more = asked.count > 20 ? ["  and \(asked.count - 20) more"] : []
    return "it has asked for:\n" + (lines + more).joined(separator: "\n")
  }

  private static func parts(of url: String) -> (origin: String?, target: String) {
    guard let scheme = url.range(of: "://") else { return (nil, url) }
    let rest = url[scheme.upperBound...]
    guard let slash = rest.firstIndex(where: { "/?".contains($0) }) else { return (url, "/") }
    let target = String(rest[slash...])
    return (String(url[..<slash]), target.hasPrefix("/") ? target : "/" + target)
  }

  private static func split(_ target: String) -> (segments: [Substring], query: Substring?) {
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    return (parts[0].split(separator: "/", omittingEmptySubsequences: false), parts.count > 1 ? parts[1] : nil)
  }
}

/// Durations in steps: `900 seconds`, `1 hour and 30 minutes`.
enum StepDuration {
  private static let part = #"\d+(?:\.\d+)? (?:milliseconds?|seconds?|minutes?|hours?|days?)"#
  static let pattern = "\(part)(?:(?: and|,)? \(part))*"

  static func parse(_ text: String) throws -> Duration {
    let words = text.replacing(",", with: "").split(separator: " ").filter { $0 != "and" }
    var seconds = 0.0
    for index in stride(from: 0, to: words.count - 1, by: 2) {
      guard let number = Double(words[index]), let unit = units.first(where: { words[index + 1].hasPrefix($0.name) })
      else { throw ScenarioError("'\(text)' is not a duration; write one such as '1 hour 30 minutes'") }
      // Before it is a Duration, which traps on overflow.
      seconds += unit.seconds * number
      guard seconds <= 366 * 86_400 else { throw ScenarioError("'\(text)' is longer than a year") }
    }
    return .seconds(seconds)
  }

  private static let units: [(name: String, seconds: Double)] = [
    ("millisecond", 0.001), ("second", 1), ("minute", 60), ("hour", 3600), ("day", 86_400),
  ]
}

/// Instants in steps, as in the tag `@frozen`: `2018-10-08`, `2018-10-08T09:00Z`, `2018-10-08T09:00:00+01:00`.
enum StepInstant {
  static let pattern = #"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?"#

  static func parse(_ text: String) throws -> Date {
    var full = text.contains("T") ? text : text + "T00:00:00Z"
    full.replace(/T(\d\d:\d\d)(?=[Z+-])/) { "T\($0.output.1):00" }
    guard let date = RFC3339.parse(full) else {
      throw ScenarioError("'\(text)' is not a time; write one such as 2018-10-08T09:00Z")
    }
    return date
  }
}
