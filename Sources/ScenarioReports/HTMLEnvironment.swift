import Basics
import Foundation

/// The environment of a scenario in the page: its requests, clock, strings and misses.
struct HTMLEnvironment {
  /// How many lines of the journal are shown.
  private static let limit = 200

  private let record: EnvironmentRecord

  private let hasProblems: Bool

  /// - Parameters:
  ///   - record: what the environment left.
  ///   - withProblems: whether to list what failed.
  init(_ record: EnvironmentRecord, withProblems: Bool) {
    self.record = record
    hasProblems = withProblems
  }

  private var report: JSON { record.report }

  func append(to html: inout HTML) {
    let isOk = report["ok"]?.bool != false
    html.element("details", ["class": "part environment", "open": isOk ? nil : ""]) { html in
      html.element("summary") { html in
        html.text("Environment ")
        html.element("span", ["class": "muted"], text: summary)
        if !isOk { html.element("span", ["class": "badge failed"], text: "failed") }
      }
      html.element("div", ["class": "inner"]) { html in
        facts(&html)
        requests(&html)
        list("Clock", clock, &html)
        list("Strings", strings, &html)
        if hasProblems { list("Problems", problems, &html) }
        list("Notes", notes, &html)
      }
    }
  }

  /// Such as `replay, 5 requests`.
  private var summary: String {
    var parts: [String] = []
    if let mode = report["mode"]?.string { parts.append(mode) }
    let total = report["requests"]?["total"]?.int ?? requestEntries.count
    parts.append(HTMLPage.counted(total, "request"))
    let misses = record.misses.count
    if misses > 0 { parts.append("\(misses) not answered") }
    return parts.joined(separator: ", ")
  }

  private func facts(_ html: inout HTML) {
    var facts: [(String, String)] = []
    if let cassette = report["cassette"]?.string { facts.append(("Cassette", cassette)) }
    if let recorded = report["recordedAt"]?.string { facts.append(("Recorded", recorded)) }
    if let clock = report["clock"], let kind = clock["kind"]?.string {
      let start = clock["start"]?.string
      let now = clock["now"]?.string
      let span = [start, start == now ? nil : now].compactMap { $0 }.joined(separator: " to ")
      facts.append(("Clock", span.isEmpty ? kind : "\(kind), \(span)"))
    }
    let toggles = report["toggles"]?["read"]?.object ?? []
    if !toggles.isEmpty {
      facts.append(("Toggles", toggles.map { "\($0.key) = \($0.value.text)" }.joined(separator: ", ")))
    }
    for fault in report["faults"]?.array ?? [] {
      facts.append(
        ("Fault", "\(fault["fault"]?.string ?? ""): \(HTMLPage.counted(fault["requests"]?.int ?? 0, "request"))"))
    }
    guard !facts.isEmpty else { return }
    html.element("dl") { html in
      for (name, value) in facts {
        html.element("dt", text: name)
        html.element("dd", text: value)
      }
    }
  }

  // MARK: The journal

  private var requestEntries: [JSON] {
    record.entries.filter {
      !["note", "clock", "string"].contains($0["kind"]?.string ?? "note") && $0["method"]?.string?.isEmpty == false
    }
  }

  private func requests(_ html: inout HTML) {
    let entries = requestEntries
    guard !entries.isEmpty else { return }
    let start = record.entries.first.flatMap(Self.time) ?? 0
    HTMLScenario.scrolled("Requests", &html) { html in
      html.element("table", ["class": "requests"]) { html in
        html.element("caption", text: "Requests")
        html.element("thead") { html in
          html.element("tr") { html in
            for name in ["Time", "Method", "URL", "Status", "Answered by"] {
              html.element("th", ["scope": "col"], text: name)
            }
          }
        }
        html.element("tbody") { html in
          for entry in entries.prefix(Self.limit) {
            let kind = entry["kind"]?.string ?? ""
            let isBad = kind == "unmatched" || kind == "failed"
            html.element("tr", ["class": isBad ? "bad" : nil]) { html in
              let time = Self.time(entry).map { String(format: "+%.3f s", max(0, $0 - start)) } ?? ""
              html.element("td", ["class": "time"], text: time)
              html.element("td", text: entry["method"]?.string ?? "")
              html.element("td", ["class": "url"], text: entry["url"]?.string ?? "")
              let status = entry["status"]?.int ?? 0
              html.element("td", text: status == 0 ? "none" : "\(status)")
              html.element("td", text: Self.answer(kind, entry))
            }
          }
        }
      }
    }
    if entries.count > Self.limit {
      html.element("p", ["class": "muted"], text: "and \(entries.count - Self.limit) more requests")
    }
  }

  private static func time(_ entry: JSON) -> Double? {
    entry["time"]?.string.flatMap(RFC3339.parse)?.timeIntervalSince1970
  }

  /// What answered a request.
  private static func answer(_ kind: String, _ entry: JSON) -> String {
    let answer =
      switch kind {
      case "replayed": entry["interaction"]?.int.map { "cassette, interaction \($0)" } ?? "cassette"
      case "recorded": "upstream, recorded"
      case "forwarded": "upstream"
      case "mocked": "stub"
      case "unmatched": "nothing"
      case "failed": "upstream failed"
      case "left": "cancelled by the app"
      case "faulted": "fault"
      default: kind
      }
    let who = entry["setup"]?.bool == true ? " (sent by the test)" : ""
    return answer + who + (entry["detail"]?.string.map { ": \($0)" } ?? "")
  }

  /// The details of entries of a kind, with their time.
  private func details(_ kind: String) -> [String] {
    let start = record.entries.first.flatMap(Self.time) ?? 0
    return record.entries.filter { $0["kind"]?.string == kind }.map { entry in
      let request = [entry["method"]?.string, entry["url"]?.string].compactMap { $0 }.filter { !$0.isEmpty }
      let time = Self.time(entry).map { String(format: "+%.3f s: ", max(0, $0 - start)) } ?? ""
      return time + (request + [entry["detail"]?.string ?? ""]).filter { !$0.isEmpty }.joined(separator: " ")
    }
  }

  private var clock: [String] { details("clock") }

  private var strings: [String] {
    var lines = details("string")
    let read = report["strings"]?["read"]?.int ?? 0
    if lines.isEmpty, read > 0 { lines.append("\(HTMLPage.counted(read, "string")) drawn") }
    for unused in report["strings"]?["unused"]?.array ?? [] {
      lines.append("unused: key '\(unused["key"]?.string ?? "")', ordinal \(unused["ordinal"]?.int ?? 0)")
    }
    return lines
  }

  private var problems: [String] {
    record.misses.map { miss in
      "\(miss.what): \(miss.request)" + (miss.advice.map { "; to fix it: \($0)" } ?? "")
    } + record.failures
  }

  private var notes: [String] {
    var lines = details("note")
    for unused in report["unused"]?.array ?? [] {
      lines.append(
        "unused: interaction \(unused["index"]?.int ?? 0), \(unused["method"]?.string ?? "") "
          + (unused["url"]?.string ?? ""))
    }
    for name in ["unusedStubs", "contractNotes", "unechoed", "keptAsSent"] {
      let prefix = name == "unusedStubs" ? "unused: " : name == "unechoed" ? "not echoed: " : ""
      lines += (report[name]?.array ?? []).map { prefix + $0.text }
    }
    return lines
  }

  private func list(_ title: String, _ lines: [String], _ html: inout HTML) {
    guard !lines.isEmpty else { return }
    html.element("p", ["class": "list-title"], text: title)
    html.element("ul") { html in
      for line in lines.prefix(Self.limit) { html.element("li", text: line) }
      if lines.count > Self.limit { html.element("li", text: "and \(lines.count - Self.limit) more") }
    }
  }
}
