import Basics
import Foundation
import Gherkin

/// A scenario in the page: what failed and what to do, the steps, the environment, and earlier attempts.
struct HTMLScenario {
  private typealias StepResult = ScenarioRun.StepResult

  private let entry: HTMLPage.Entry
  private let isInRule: Bool
  private let isOpen: Bool

  init(_ entry: HTMLPage.Entry, isInRule: Bool, isOpen: Bool) {
    self.entry = entry
    self.isInRule = isInRule
    self.isOpen = isOpen
  }

  func append(to html: inout HTML) {
    let scenario = entry.scenario
    html.element(
      "details",
      [
        "class": "scenario \(scenario.status.word)", "data-status": scenario.status.word,
        "data-flaky": scenario.isFlaky ? "" : nil, "open": isOpen ? "" : nil,
      ]
    ) { html in
      html.element("summary") { html in
        Self.mark(scenario.status, &html)
        html.element("span", ["class": "text"]) { html in
          if isInRule {
            html.element("h4", text: scenario.title)
          } else {
            html.element("h3", text: scenario.title)
          }
          for (name, value) in scenario.row {
            html.element("span", ["class": "cell"]) { html in
              html.text("\(name): ")
              html.element("b", text: value)
            }
          }
          for tag in scenario.pickle.tags { html.element("span", ["class": "tag"], text: tag.name) }
          if scenario.status != .passed {
            html.element("span", ["class": "badge \(scenario.status.word)"], text: scenario.status.word)
          }
          if scenario.attempts.count > 1 {
            html.element("span", ["class": "badge flaky"], text: "\(scenario.attempts.count) attempts")
          }
        }
        html.element("span", ["class": "time"], text: HTMLPage.time(scenario.seconds))
      }
      // The target is inside, so that browsers open the details for a link to it.
      html.element("div", ["class": "body", "id": entry.id]) { html in
        for finding in entry.findings.prefix(10) { self.finding(finding, &html) }
        if entry.findings.count > 10 {
          html.element("p", ["class": "muted"], text: "and \(entry.findings.count - 10) more problems")
        }
        if let last = scenario.attempts.last { attempt(last, isLast: true, &html) }
        for attempt in scenario.attempts.dropLast() {
          html.element("details", ["class": "part"]) { html in
            html.element("summary") { html in
              Self.mark(attempt.status, &html)
              html.text("Attempt \(attempt.number + 1) \(attempt.status.word) ")
              html.element("span", ["class": "muted"], text: Finding.all(in: attempt).first?.headline ?? "")
            }
            html.element("div", ["class": "inner"]) { self.attempt(attempt, isLast: false, &$0) }
          }
        }
        HTMLPage.places(["\(scenario.pickle.uri):\(scenario.line)"], &html)
      }
    }
    html.markup("\n")
  }

  /// A sign for a status, with its word for screen readers.
  static func mark(_ status: ScenarioRun.Status, _ html: inout HTML) {
    let sign =
      switch status {
      case .passed: "✓"
      case .failed: "✕"
      case .skipped: "–"
      case .pending: "…"
      case .undefined: "?"
      case .ambiguous: "≠"
      case .unknown: "!"
      }
    html.element("span", ["class": "sign \(status.word)", "aria-hidden": "true"], text: sign)
    html.element("span", ["class": "hidden"], text: "\(status.word): ")
  }

  // MARK: What failed

  private func finding(_ finding: Finding, _ html: inout HTML) {
    html.element("div", ["class": "finding \(finding.kind)"]) { html in
      html.element("p", ["class": "headline"], text: finding.headline)
      switch finding {
      case .miss(let miss): self.miss(miss, &html)
      case .undefined(let step):
        if let advice = finding.advice { html.element("p", text: advice) }
        for snippet in step.snippets.prefix(1) { HTMLPage.code(snippet, "Step definition to add", &html) }
        HTMLPage.places(places(of: step), &html)
      case .ambiguous(let step):
        if let advice = finding.advice { html.element("p", text: advice) }
        html.element("ul") { html in
          for definition in step.definitions {
            html.element("li") { html in
              html.element("code", text: definition.pattern.source)
              html.text(" ")
              html.element("code", ["class": "place"], text: definition.sourceReference.place ?? "unknown place")
            }
          }
        }
        if step.definitions.isEmpty, let error = step.error { html.element("pre", text: error) }
        HTMLPage.places(["\(entry.scenario.pickle.uri):\(step.line ?? entry.scenario.line)"], &html)
      case .pending(let step):
        if let advice = finding.advice { html.element("p", text: advice) }
        HTMLPage.places(places(of: step), &html)
      case .error(let step):
        // The headline is the first line.
        let rest = step.error?.drop { $0 != "\n" }.dropFirst() ?? ""
        if !rest.isEmpty { html.element("pre", text: String(rest)) }
        html.element("p", ["class": "muted"], text: "in: \(step.title)")
        HTMLPage.places(places(of: step), &html)
        if let trace = step.trace {
          html.element("details", ["class": "part"]) { html in
            html.element("summary", text: "Stack trace")
            html.element("pre", text: trace)
          }
        }
      case .unfinished, .environment: if let advice = finding.advice { html.element("p", text: advice) }
      }
    }
  }

  private func miss(_ miss: EnvironmentRecord.Miss, _ html: inout HTML) {
    for nearest in miss.nearest {
      html.element("p", text: "Nearest: \(nearest.title)")
      html.element("ul") { html in
        for difference in nearest.differences.prefix(8) { html.element("li", text: difference) }
        for rule in nearest.rules.prefix(4) { html.element("li", ["class": "muted"], text: "compared by \(rule)") }
      }
    }
    if let advice = miss.advice {
      html.element("p") { html in
        html.element("b", text: "To fix it: ")
        html.text(advice)
      }
    }
    if let setting = miss.setting { HTMLPage.code(setting, "Setting for diorama.json", &html) }
    if let command = miss.command, miss.advice?.contains(command) != true {
      html.element("p", text: "To record what is missing:")
      HTMLPage.code(command, "Command that records it", &html)
    }
  }

  /// The step in the feature file, then in Swift.
  private func places(of step: StepResult) -> [String] {
    var places = ["\(entry.scenario.pickle.uri):\(step.line ?? entry.scenario.line)"]
    places += step.definitions.compactMap(\.sourceReference.place)
    if let place = step.hook?.sourceReference.place { places.append(place) }
    return places
  }

  // MARK: The steps

  // The findings of the last attempt are shown above.
  private func attempt(_ attempt: ScenarioRun.Attempt, isLast: Bool, _ html: inout HTML) {
    let steps = attempt.steps.filter { $0.step != nil }
    if steps.isEmpty { html.element("p", ["class": "muted"], text: "The scenario has no steps.") }
    html.element("ol", ["class": "steps", "aria-label": "Steps"]) { html in
      for step in steps { self.step(step, withError: !isLast, &html) }
    }
    let hooks = attempt.steps.filter { $0.step == nil }
    if !hooks.isEmpty {
      // Those with something to see are not hidden.
      let isBad = hooks.contains { $0.status.rank > ScenarioRun.Status.skipped.rank || !shown($0).isEmpty }
      html.element("details", ["class": "part", "open": isBad ? "" : nil]) { html in
        html.element("summary", text: HTMLPage.counted(hooks.count, "hook"))
        html.element("ol", ["class": "steps", "aria-label": "Hooks"]) { html in
          for hook in hooks { self.step(hook, withError: !isLast, &html) }
        }
      }
    }
    for attachment in attempt.attachments where !EnvironmentRecord.isPart(attachment) {
      HTMLAttachment(attachment, of: entry.scenario.title).append(to: &html)
    }
    for attachment in attempt.externalAttachments { external(attachment, &html) }
    if let record = EnvironmentRecord(attempt) {
      HTMLEnvironment(record, withProblems: !isLast || entry.findings.isEmpty).append(to: &html)
    }
  }

  private func shown(_ step: StepResult) -> [Message.Attachment] {
    step.attachments.filter { !EnvironmentRecord.isPart($0) }
  }

  private func external(_ attachment: Message.ExternalAttachment, _ html: inout HTML) {
    html.element("p") { HTMLPage.link(attachment.url, attachment.url, &$0) }
  }

  private func step(_ step: StepResult, withError: Bool, _ html: inout HTML) {
    html.element("li", ["class": "step \(step.status.word)"]) { html in
      Self.mark(step.status, &html)
      html.element("div", ["class": "text"]) { html in
        html.element("p") { html in
          if let pickleStep = step.step {
            html.element("b", ["class": "keyword"], text: step.keyword)
            text(pickleStep.text, step.arguments, &html)
          } else {
            html.text(step.title)
          }
        }
        argument(step.step?.argument, &html)
        if withError, step.status.rank > ScenarioRun.Status.skipped.rank {
          if let error = step.error, step.status != .undefined {
            html.element("pre", ["class": "error"], text: error)
          }
          HTMLPage.places(step.definitions.compactMap(\.sourceReference.place), &html)
        } else if step.status == .skipped, let reason = step.error {
          html.element("p", ["class": "muted"], text: reason)
        }
        for attachment in shown(step) { HTMLAttachment(attachment, of: step.title).append(to: &html) }
        for attachment in step.externalAttachments { external(attachment, &html) }
      }
      html.element("span", ["class": "time"], text: step.hasRun ? HTMLPage.time(step.seconds) : "")
    }
  }

  /// The text with its arguments marked.
  private func text(_ text: String, _ arguments: [Message.StepMatchArgument], _ html: inout HTML) {
    var rest = text.startIndex
    for argument in arguments {
      guard let range = Self.range(of: argument.group, in: text), range.lowerBound >= rest, !range.isEmpty else {
        continue
      }
      html.text(String(text[rest..<range.lowerBound]))
      html.element("mark", text: String(text[range]))
      rest = range.upperBound
    }
    html.text(String(text[rest...]))
  }

  /// The range of a group. Implementations count UTF-16 code units or Unicode scalars.
  static func range(of group: Message.Group, in text: String) -> Range<String.Index>? {
    guard let start = group.start, let value = group.value else { return nil }
    let utf16 = text.utf16.index(text.startIndex, offsetBy: start, limitedBy: text.endIndex)
    let scalar = text.unicodeScalars.index(text.startIndex, offsetBy: start, limitedBy: text.endIndex)
    for index in [utf16, scalar].compactMap({ $0 })
    where text[index...].unicodeScalars.starts(with: value.unicodeScalars) {
      return index..<text.unicodeScalars.index(index, offsetBy: value.unicodeScalars.count)
    }
    return nil
  }

  private func argument(_ argument: PickleStepArgument?, _ html: inout HTML) {
    if let docString = argument?.docString {
      html.element("pre", ["class": "doc"], text: docString.content)
    }
    if let table = argument?.dataTable {
      Self.scrolled("Table of the step", &html) { html in
        html.element("table", ["class": "data"]) { html in
          html.element("tbody") { html in
            for row in table.rows {
              html.element("tr") { html in
                for cell in row.cells { html.element("td", text: cell.value) }
              }
            }
          }
        }
      }
    }
  }

  /// Wide content in a box that can be scrolled with the keyboard.
  static func scrolled(_ label: String, _ html: inout HTML, _ content: (inout HTML) -> Void) {
    html.element("div", ["class": "scrolled", "tabindex": "0", "role": "region", "aria-label": label], content)
  }
}

extension EnvironmentRecord {
  /// Whether an attachment belongs to the environment, and is shown there.
  static func isPart(_ attachment: Message.Attachment) -> Bool {
    attachment.mediaType == journalType || attachment.mediaType == reportType
  }
}
