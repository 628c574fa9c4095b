import Basics
import Foundation

/// A report as JUnit XML, in the form that Jenkins and GitLab read: one suite with a test case for the environment.
package struct JUnitReport {
  private let report: Report
  private let hasFailed: Bool

  /// - Parameters:
  ///   - report: the environment's final report.
  ///   - hasFailed: whether the program or test failed, for another reason than its environment.
  package init(_ report: Report, hasFailed: Bool = false) {
    self.report = report
    self.hasFailed = hasFailed
  }

  /// The document.
  package var document: String {
    let failure = failure
    let count = failure == nil ? 0 : 1
    let seconds = String(format: "%.3f", report.durationSeconds)
    let counts = #"name="diorama" tests="1" failures="\#(count)" errors="0" skipped="0" time="\#(seconds)""#
    let name = Self.escaped(report.environment.name)
    var lines = [
      #"<?xml version="1.0" encoding="UTF-8"?>"#,
      "<testsuites \(counts)>",
      #"<testsuite \#(counts) timestamp="\#(RFC3339.format(Date()))">"#,
      #"<testcase classname="diorama" name="\#(name)" time="\#(seconds)">"#,
    ]
    // Readers take one failure a test case, and show its text.
    let text = ReportText(report, wholeIn: ReportText.reportOption).lines().map(Self.escaped).joined(separator: "\n")
    if let failure {
      lines.append(
        #"<failure type="\#(failure.kind)" message="\#(Self.escaped(failure.message))">\#(text)</failure>"#)
    } else {
      lines.append("<system-out>\(text)</system-out>")
    }
    return (lines + ["</testcase>", "</testsuite>", "</testsuites>", ""]).joined(separator: "\n")
  }

  /// What failed first; nil for nothing.
  private var failure: (kind: String, message: String)? {
    // A run can permit requests to hosts that are not declared, and is ok then.
    if !report.ok, let miss = report.unmatched.first {
      let more = report.unmatched.count > 1 ? " and \(report.unmatched.count - 1) more" : ""
      let what = miss.refusal == nil ? "not recorded" : "refused"
      return ("unmatched", "\(what): \(miss.method) \(miss.url)\(more)")
    }
    let isOnlyIdle = report.failures.allSatisfy { $0.hasPrefix(Report.noRequestsBeginning) }
    let hasOthers =
      report.upstreamFailures?.isEmpty == false || !report.strings.missing.isEmpty
      || report.contractViolations != nil
    if let status = report.commandStatus, status != 0, isOnlyIdle, !hasOthers {
      return ("command", "the command exited with status \(status)")
    }
    if !report.ok {
      let failure =
        report.failures.first ?? report.upstreamFailures?.first.map { "failed upstream: \($0.url)" }
        ?? report.contractViolations?.first.map { "violates the contract: \($0)" }
      return ("environment", failure ?? report.strings.missing.first.map { "missing string: '\($0.key)'" } ?? "failed")
    }
    if let status = report.commandStatus, status != 0 { return ("command", "the command exited with status \(status)") }
    return hasFailed ? ("command", "the program or test failed") : nil
  }

  /// Text for XML 1.0: characters that it forbids, even as references, are replaced by U+FFFD.
  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      // In an attribute, a line break would be read as a space.
      case "\t", "\n", "\r": escaped += "&#\(scalar.value);"
      case _ where scalar.value < 0x20 || 0xFFFE...0xFFFF ~= scalar.value: escaped += "\u{FFFD}"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
