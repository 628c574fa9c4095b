import Basics
import EnvironmentService
import Foundation
import ScenarioReports

/// `diorama features report`: makes reports of Cucumber messages.
enum FeaturesReport {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let html = options.value("--html")
    let junit = options.value("--junit")
    guard html != nil || junit != nil else {
      throw CodedError(.usage, "no report requested; add --html FILE, --junit FILE, or both")
    }
    let paths = options.operands + (options.rest ?? [])
    guard !paths.isEmpty else { throw CodedError(.usage, "missing MESSAGES; name a file such as messages.ndjson") }
    var messages: [Message] = []
    for path in paths {
      guard let text = try FeatureFiles.text(path) else {
        throw CodedError(.broken, "\(path): not UTF-8; name a file of Cucumber messages, such as messages.ndjson")
      }
      messages += try Message.read(text, source: path)
    }
    var files: [(String, [UInt8])] = []
    if let html { files.append((html, Array(HTMLReport.html(messages, title: options.value("--title")).utf8))) }
    if let junit { files.append((junit, Array(JUnitReport.xml(messages).utf8))) }
    try WholeFiles.write(files, isReplacing: true)
    return 0
  }

  static let command = Command(
    "features report", "make an HTML or JUnit report of Cucumber messages",
    usage: ["features report [--html FILE] [--junit FILE] MESSAGES …"],
    about: """
      MESSAGES is a file of Cucumber messages (NDJSON), as tests write it with
      DIORAMA_SCENARIO_REPORTS; those of several processes become one report.
      """,
    options: [
      .init("--html", "FILE", "write one self-contained HTML file"),
      .init("--junit", "FILE", "write JUnit XML"),
      .init("--title", "TEXT", "title of the HTML report (default: the outcome)"),
    ],
    notes: "Exit status: 0 written; 65 a file has no valid messages; 66 no such file.", operands: .files, run: run)
}
