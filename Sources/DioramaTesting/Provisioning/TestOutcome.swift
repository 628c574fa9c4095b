package import ControlAPI
import Basics
import Foundation
import LaunchContract
import Testing
import XCTest

/// The outcome of a test's environment: whether it fails the test, and what to print and attach.
package struct TestOutcome {
  /// A file to attach to a failed test.
  package struct Attachment {
    package var name: String
    package var bytes: [UInt8]
  }

  /// The reason why the test fails, if any.
  package var failure: String?
  /// A line for the user if something was recorded.
  var note: String?
  /// The last output of the applications if the test failed for another reason.
  var tails = ""
  /// The applications' output and the report, for a failed test.
  package var attachments: [Attachment] = []
  /// The environment's report; nil if it is not available.
  var report: Report?
  /// What happened in the environment, if it was to be kept.
  package var journal: [JournalPage.Entry] = []

  /// - Parameters:
  ///   - report: the environment's report, or the error that prevented it.
  ///   - applications: the applications launched in the environment.
  ///   - name: the environment's name.
  ///   - hasFailed: whether the test has already failed.
  ///   - keepsAttachments: whether a test that succeeded has attachments, too.
  init(
    _ report: Result<Report, CodedError>, _ applications: [TestApplication], name: String, hasFailed: Bool,
    keepsAttachments: Bool = false
  ) {
    let crashed = applications.filter { $0.state.isCrash && $0.process?.isExpected == false }
    let apps = applications.map { "\n\($0.name): \($0.state.text)\($0.process?.tail() ?? "")" }.joined()
    self.report = try? report.get()
    switch report {
    case .failure(let error): failure = "no report of the environment of \(name): \(error.message)" + apps
    case .success(let report) where !report.ok:
      failure = ReportText(report).lines().joined(separator: "\n  ") + apps
    case .success where !crashed.isEmpty:
      failure = crashed.map { "\($0.name) ended unexpectedly: \($0.state.text)\($0.process?.tail() ?? "")" }
        .joined(separator: "\n")
    case .success(let report) where report.requests.recorded + report.strings.recorded > 0:
      note = "\(name): \(ReportText(report).lines().first ?? "")"
    case .success: break
    }
    if failure == nil, hasFailed { tails = apps }
    guard failure != nil || hasFailed || keepsAttachments else { return }
    var names = Set<String>()
    for application in applications {
      for (stream, word) in [(LaunchedProcess.Stream.output, "output"), (.errors, "error")] {
        guard let bytes = application.process?.bytes(stream), !bytes.isEmpty else { continue }
        var name = "\(application.name).\(word).txt"
        var number = 2
        while !names.insert(name).inserted {
          name = "\(application.name)-\(number).\(word).txt"
          number += 1
        }
        attachments.append(.init(name: name, bytes: bytes))
      }
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    if let report = try? report.get(), let data = try? encoder.encode(report) {
      attachments.append(.init(name: "report.json", bytes: Array(data)))
    }
  }
}

/// Reports a failed environment at the test's line, to the test library that runs the test.
///
/// Each library silently ignores failures reported to the other.
enum Reporter: Sendable {
  case swiftTesting(SourceLocation)
  case xctest(file: StaticString, line: UInt)
  /// A scenario, whose runner reports at the place, or without one at the scenario.
  case scenario(@Sendable (String, SourceLocation?) -> Void)

  func fail(_ text: String) {
    switch self {
    case .swiftTesting(let location): Issue.record(Comment(rawValue: text), sourceLocation: location)
    case .xctest(let file, let line): XCTFail(text, file: file, line: line)
    case .scenario(let fail): fail(text, nil)
    }
  }

  /// Fails the test at a line.
  func fail(_ text: String, at location: SourceLocation) {
    switch self {
    case .swiftTesting: Issue.record(Comment(rawValue: text), sourceLocation: location)
    case .xctest:
      #if canImport(Darwin)
        XCTFail(text)
      #else
        XCTFail("\(location.fileID):\(location.line): \(text)")
      #endif
    case .scenario(let fail): fail(text, location)
    }
  }

  func report(_ outcome: TestOutcome, attachingTo testCase: XCTestCase? = nil) {
    if let note = outcome.note { Self.say(note.escapedForTerminal) }
    for attachment in outcome.attachments { attach(attachment, to: testCase) }
    if let failure = outcome.failure {
      fail(failure)
    } else if !outcome.tails.isEmpty {
      // The test failed for another reason, which the output of its applications may explain.
      Self.say("a test failed\(outcome.tails)")
    }
  }

  private func attach(_ attachment: TestOutcome.Attachment, to testCase: XCTestCase?) {
    switch self {
    case .swiftTesting(let location):
      Attachment.record(attachment.bytes, named: attachment.name, sourceLocation: location)
    case .xctest:
      #if !os(Linux)
        let kept = XCTAttachment(data: Data(attachment.bytes), uniformTypeIdentifier: "public.plain-text")
        kept.name = attachment.name
        testCase?.add(kept)
      #endif
    // The scenario's runner attaches.
    case .scenario: break
    }
  }

  /// Writes a line to standard error, apart from the tests' output.
  static func say(_ text: String) {
    let bytes = Array("diorama: \(text)\n".utf8)
    // In one call, so that lines of parallel tests do not mix. A closed standard error is not an error here.
    _ = bytes.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
  }
}
