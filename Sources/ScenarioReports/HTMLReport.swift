import Basics
import Foundation
import Gherkin

/// A run as one HTML file to read: without other files, network or, except for filters, JavaScript.
package enum HTMLReport {
  /// The document.
  ///
  /// - Parameters:
  ///   - messages: the messages of a run, or of several one after another.
  ///   - title: the name of the report, such as the package's; nil for none.
  /// - Returns: HTML.
  package static func html(_ messages: [Message], title: String? = nil) -> String {
    HTMLPage(ScenarioRun(messages), title: title).html
  }
}

/// The page: the summary, what failed, and the features.
struct HTMLPage {
  typealias Status = ScenarioRun.Status

  /// A scenario with its place in the page.
  struct Entry {
    var id: String
    var scenario: ScenarioRun.ScenarioResult
    var feature: ScenarioRun.FeatureResult
    /// Those of the last attempt.
    var findings: [Finding]
  }

  /// How many failed scenarios are open at first.
  static let openLimit = 20

  private let run: ScenarioRun
  private let title: String?
  private let entries: [Entry]

  init(_ run: ScenarioRun, title: String?) {
    self.run = run
    self.title = title
    var entries: [Entry] = []
    for feature in run.features {
      for scenario in feature.scenarios {
        entries.append(
          Entry(
            id: "s\(entries.count + 1)", scenario: scenario, feature: feature,
            findings: scenario.attempts.last.map(Finding.all) ?? []))
      }
    }
    self.entries = entries
  }

  var html: String {
    HTML.page(title: title.map { "\(verdict) – \($0)" } ?? verdict, script: HTMLStyle.script) { html in
      html.element("a", ["class": "skip", "href": "#features"], text: "Skip to the features")
      header(&html)
      html.element("main") { html in
        problems(&html)
        failures(&html)
        undefinedSteps(&html)
        features(&html)
        runHooks(&html)
      }
      footer(&html)
    }
  }

  // MARK: The summary

  private var failed: [Entry] { entries.filter(\.scenario.hasFailed) }

  private var verdict: String {
    let count = failed.count
    if count > 0 { return "\(count) of \(Self.counted(entries.count, "scenario")) failed" }
    if !run.hasPassed { return "The run failed" }
    let passed = entries.count { $0.scenario.status == .passed }
    switch entries.count {
    case 0: return "No scenarios ran"
    case passed: return passed == 1 ? "The scenario passed" : "All \(passed) scenarios passed"
    default: return "Passed: \(passed) of \(Self.counted(entries.count, "scenario")); the others were skipped"
    }
  }

  /// The statuses of scenarios with their number, the worst first.
  private var counts: [(status: Status, count: Int)] {
    Status.allCases.sorted { $0.rank > $1.rank }
      .map { status in (status, entries.count { $0.scenario.status == status }) }.filter { $0.count > 0 }
  }

  private func header(_ html: inout HTML) {
    html.element("header", ["class": run.hasPassed ? "page passed" : "page failed"]) { html in
      html.element("div", ["class": "wide"]) { html in
        html.element("p", ["class": "product"], text: title ?? "Scenarios")
        html.element("h1", text: verdict)
        html.element("p", ["class": "facts"]) { html in
          for fact in facts { html.element("span", text: fact) }
          if let ci = run.meta?.ci, let url = ci.url {
            Self.link(url, ci.buildNumber.map { "\(ci.name) \($0)" } ?? ci.name, &html)
          }
        }
        bar(&html)
        html.element("ul", ["class": "counts", "id": "counts"]) { html in
          for (status, count) in counts {
            html.element("li", ["class": status.word]) { Self.count(count, status.word, &$0) }
          }
          let flaky = entries.count(where: \.scenario.isFlaky)
          if flaky > 0 {
            html.element("li", ["class": "flaky"]) { Self.count(flaky, "passed on retry", &$0) }
          }
        }
        filters(&html)
      }
    }
  }

  private static func count(_ count: Int, _ word: String, _ html: inout HTML) {
    html.element("b", text: "\(count)")
    html.text(" \(word)")
  }

  /// When, how long, and by what it ran.
  private var facts: [String] {
    var facts: [String] = []
    if let start = run.start {
      facts.append(RFC3339.format(seconds: Int(start)).replacing("T", with: " ").replacing("Z", with: " UTC"))
      facts.append("took \(Self.time(run.seconds))")
    }
    facts.append(Self.counted(run.features.count, "feature"))
    if let meta = run.meta {
      for product in [meta.implementation, meta.runtime, meta.os] where !product.name.isEmpty {
        facts.append([product.name, product.version].compactMap { $0 }.joined(separator: " "))
      }
      if let git = meta.ci?.git {
        facts.append("\(git.branch ?? git.tag ?? git.remote) at \(git.revision.prefix(8))")
      }
    }
    return facts
  }

  /// A bar of the statuses, in SVG since the policy forbids inline styles.
  private func bar(_ html: inout HTML) {
    guard !entries.isEmpty else { return }
    let label = counts.map { "\($0.count) \($0.status.word)" }.joined(separator: ", ")
    html.element(
      "svg",
      ["class": "bar", "role": "img", "aria-label": label, "viewBox": "0 0 1000 8", "preserveAspectRatio": "none"]
    ) { html in
      var x = 0.0
      for (status, count) in counts {
        let width = Double(count) / Double(entries.count) * 1000
        html.element(
          "rect",
          [
            "class": status.word, "x": String(format: "%.1f", x), "width": String(format: "%.1f", width), "y": "0",
            "height": "8",
          ]
        ) { _ in }
        x += width
      }
    }
  }

  /// The filters, which appear with JavaScript.
  private func filters(_ html: inout HTML) {
    guard !entries.isEmpty else { return }
    html.element("div", ["class": "filters", "id": "filters", "hidden": ""]) { html in
      html.element("div", ["role": "group", "aria-label": "Show only"]) { html in
        for (status, count) in counts {
          html.element(
            "button", ["type": "button", "class": status.word, "data-filter": status.word, "aria-pressed": "false"]
          ) { Self.count(count, status.word, &$0) }
        }
        if entries.contains(where: \.scenario.isFlaky) {
          html.element(
            "button", ["type": "button", "class": "flaky", "data-filter": "flaky", "aria-pressed": "false"]
          ) { Self.count(entries.count(where: \.scenario.isFlaky), "retried", &$0) }
        }
      }
      html.element("div", ["class": "find"]) { html in
        html.element("label", ["class": "hidden", "for": "search"], text: "Search scenarios")
        html.void(
          "input", ["type": "search", "id": "search", "placeholder": "Search scenarios", "autocomplete": "off"])
        html.element("button", ["type": "button", "id": "expand"], text: "Expand all")
      }
      html.element("p", ["role": "status", "id": "shown", "class": "muted"], text: "")
    }
  }

  // MARK: What failed

  /// What failed apart from scenarios.
  private func problems(_ html: inout HTML) {
    let hooks = run.hooks.filter { $0.result.map { $0.status != .passed && $0.status != .skipped } ?? true }
    guard
      !run.parseErrors.isEmpty || !run.undefinedTypes.isEmpty || !hooks.isEmpty || !run.errors.isEmpty
        || run.unfinished > 0
    else { return }
    html.element("section", ["aria-labelledby": "problems"]) { html in
      html.element("h2", ["id": "problems"], text: "Problems in the run")
      for error in run.parseErrors {
        Self.card("Invalid feature file", &html) { html in
          html.element("pre", text: error.message)
          Self.places(["\(error.source.uri):\(error.source.location.line)"], &html)
        }
      }
      for type in run.undefinedTypes {
        Self.card("Undefined parameter type: {\(type.name)}", &html) { html in
          html.element("p", text: "It is used in “\(type.expression)”. Define it with ParameterType.")
        }
      }
      for hook in hooks {
        Self.card("\(hook.hook?.title ?? "Hook") \(hook.result?.status.word ?? "did not finish")", &html) { html in
          if let text = hook.result?.message ?? hook.result?.exception?.message { html.element("pre", text: text) }
          Self.places([hook.hook?.sourceReference.place].compactMap { $0 }, &html)
        }
      }
      for error in run.errors { Self.card("The run failed", &html) { $0.element("pre", text: error) } }
      if run.unfinished > 0 {
        Self.card("The process ended during the run", &html) {
          $0.element("p", text: "Look for a crash or a timeout in its output.")
        }
      }
    }
  }

  private static func card(_ headline: String, _ html: inout HTML, _ content: (inout HTML) -> Void) {
    html.element("div", ["class": "finding"]) { html in
      html.element("h3", text: headline)
      content(&html)
    }
  }

  /// The list of failed scenarios.
  private func failures(_ html: inout HTML) {
    let failed = failed
    guard !failed.isEmpty else { return }
    html.element("section", ["aria-labelledby": "failures", "id": "failed"]) { html in
      html.element("h2", ["id": "failures"], text: "What failed")
      html.element("ol", ["class": "failures"]) { html in
        for entry in failed {
          html.element("li", ["class": entry.scenario.status.word]) { html in
            html.element("p") { html in
              html.element("a", ["href": "#\(entry.id)"], text: entry.scenario.title)
              html.element("span", ["class": "muted"], text: entry.feature.name)
            }
            if let finding = entry.findings.first {
              html.element("p", ["class": "headline"], text: finding.headline)
              // For undefined steps, there is the list below.
              if let advice = finding.advice, !advice.hasSuffix(":") {
                html.element("p", ["class": "advice"], text: advice)
              }
            }
          }
        }
      }
    }
  }

  /// The undefined steps of the run, each snippet once.
  private func undefinedSteps(_ html: inout HTML) {
    var snippets: [(code: String, steps: [(title: String, entry: Entry, line: Int?)])] = []
    var indices: [String: Int] = [:]
    for entry in entries {
      for step in entry.scenario.attempts.last?.steps ?? [] where step.status == .undefined {
        let code = step.snippets.first ?? ""
        // Without a snippet, the step is its own.
        let key = code.isEmpty ? step.title : code
        let index = indices[key] ?? snippets.count
        indices[key] = index
        if index == snippets.count { snippets.append((code, [])) }
        snippets[index].steps.append((step.title, entry, step.line))
      }
    }
    guard !snippets.isEmpty else { return }
    html.element("section", ["aria-labelledby": "undefined"]) { html in
      html.element("h2", ["id": "undefined"], text: snippets.count == 1 ? "Undefined step" : "Undefined steps")
      html.element("p", ["class": "muted"], text: "Paste these step definitions, and implement them.")
      for snippet in snippets {
        html.element("div", ["class": "snippet"]) { html in
          if !snippet.code.isEmpty { Self.code(snippet.code, "Step definition to add", &html) }
          html.element("ul") { html in
            for step in snippet.steps.prefix(5) {
              html.element("li") { html in
                html.element("a", ["href": "#\(step.entry.id)"], text: step.title)
                html.text(" ")
                html.element(
                  "code", ["class": "place"], text: "\(step.entry.feature.uri):\(step.line ?? step.entry.scenario.line)"
                )
              }
            }
            if snippet.steps.count > 5 {
              html.element("li", ["class": "muted"], text: "and \(snippet.steps.count - 5) more")
            }
          }
        }
      }
    }
  }

  // MARK: The features

  private func features(_ html: inout HTML) {
    var opened = 0
    html.element("div", ["id": "features"]) { html in
      for (index, feature) in run.features.enumerated() {
        let entries = entries.filter { $0.feature.uri == feature.uri && $0.feature.name == feature.name }
        html.element("section", ["class": "feature", "aria-labelledby": "f\(index + 1)"]) { html in
          html.element("h2", ["id": "f\(index + 1)"]) { html in
            html.element("span", ["class": "keyword"], text: feature.feature?.keyword ?? "Feature")
            html.text(" \(feature.name)")
          }
          html.element("p", ["class": "muted"]) { html in
            html.element("code", ["class": "place"], text: feature.uri)
          }
          Self.description(feature.feature?.description, &html)
          for (rule, entries) in Self.byRule(entries) {
            if let rule {
              html.element("section", ["class": "rule", "aria-labelledby": "\(entries[0].id)-rule"]) { html in
                html.element("h3", ["id": "\(entries[0].id)-rule"]) { html in
                  html.element("span", ["class": "keyword"], text: rule.keyword)
                  html.text(" \(rule.name)")
                }
                Self.description(rule.description, &html)
                for entry in entries { scenario(entry, isInRule: true, &opened, &html) }
              }
            } else {
              for entry in entries { scenario(entry, isInRule: false, &opened, &html) }
            }
          }
        }
      }
    }
    html.element("p", ["id": "nothing", "class": "muted", "hidden": ""], text: "No scenario matches the filters.")
  }

  private func scenario(_ entry: Entry, isInRule: Bool, _ opened: inout Int, _ html: inout HTML) {
    let isOpen = entry.scenario.hasFailed && opened < Self.openLimit
    if isOpen { opened += 1 }
    HTMLScenario(entry, isInRule: isInRule, isOpen: isOpen).append(to: &html)
  }

  /// Runs of scenarios of the same rule, in order.
  private static func byRule(_ entries: [Entry]) -> [(rule: Rule?, entries: [Entry])] {
    var groups: [(rule: Rule?, entries: [Entry])] = []
    for entry in entries {
      if let last = groups.last, last.rule?.id == entry.scenario.rule?.id {
        groups[groups.count - 1].entries.append(entry)
      } else {
        groups.append((entry.scenario.rule, [entry]))
      }
    }
    return groups
  }

  private func runHooks(_ html: inout HTML) {
    guard !run.hooks.isEmpty || !run.attachments.isEmpty else { return }
    html.element("section", ["aria-labelledby": "hooks"]) { html in
      html.element("h2", ["id": "hooks"], text: "The whole run")
      html.element("ol", ["class": "steps"]) { html in
        for hook in run.hooks {
          let status = hook.result?.status ?? .unknown
          html.element("li", ["class": "step \(status.word)"]) { html in
            HTMLScenario.mark(status, &html)
            html.element("div", ["class": "text"]) { html in
              html.element("p", text: hook.hook?.title ?? "Hook")
              for attachment in hook.attachments { HTMLAttachment(attachment, of: "the run").append(to: &html) }
            }
            html.element("span", ["class": "time"], text: Self.time(hook.result?.duration.interval ?? 0))
          }
        }
      }
      for attachment in run.attachments { HTMLAttachment(attachment, of: "the run").append(to: &html) }
    }
  }

  private func footer(_ html: inout HTML) {
    html.element("footer") { html in
      html.element("p", ["class": "muted"], text: "Generated by diorama features report from Cucumber messages.")
    }
  }

  // MARK: Parts that others share

  /// Lines of a description, without their common indentation.
  private static func description(_ text: String?, _ html: inout HTML) {
    guard let text, !text.isEmpty else { return }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
      .map { $0.trimmingCharacters(in: .whitespaces) }
    html.element("p", ["class": "description"], text: lines.joined(separator: "\n"))
  }

  /// Code to copy, in a box that can be scrolled with the keyboard.
  static func code(_ code: String, _ label: String, _ html: inout HTML) {
    html.element("pre", ["class": "code", "tabindex": "0", "role": "region", "aria-label": label]) { html in
      html.element("code", text: code)
    }
  }

  static func places(_ places: [String], _ html: inout HTML) {
    guard !places.isEmpty else { return }
    html.element("p", ["class": "places"]) { html in
      for place in places { html.element("code", ["class": "place"], text: place) }
    }
  }

  /// A link if the URL is one of the web; otherwise text.
  static func link(_ url: String, _ text: String, _ html: inout HTML) {
    let url = url.trimmingCharacters(in: .whitespacesAndNewlines)
    let isSafe = ["https://", "http://", "mailto:"].contains { url.lowercased().hasPrefix($0) }
    if isSafe {
      html.element("a", ["href": url, "rel": "noopener noreferrer"], text: text)
    } else {
      html.element("span", text: text == url ? url : "\(text) (\(url))")
    }
  }

  /// `1.25 s`, `12 ms`.
  static func time(_ seconds: Double) -> String {
    switch seconds {
    case ..<0.0005: "0 ms"
    case ..<0.9995: "\(Int((seconds * 1000).rounded())) ms"
    case ..<60: String(format: "%.2f s", seconds)
    default: "\(Int(seconds) / 60) min \(Int(seconds) % 60) s"
    }
  }

  static func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}

extension ScenarioRun.ScenarioResult {
  /// The name; without one, the place.
  var title: String { pickle.name.isEmpty ? "\(pickle.uri):\(line)" : pickle.name }

  /// The names and values of its row of examples.
  var row: [(name: String, value: String)] {
    for examples in scenario?.examples ?? [] {
      guard let row = examples.tableBody.first(where: { pickle.astNodeIds.contains($0.id) }) else { continue }
      return zip(examples.tableHeader?.cells ?? [], row.cells).map { ($0.value, $1.value) }
    }
    return []
  }
}
