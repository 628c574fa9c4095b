import Foundation
import LaunchContract
import Testing
import XCTest

/// How a test learns that its environment did not hold: at its own line, in the way of its library.
///
/// Each library passes over the other's failures in silence, so that the right one must be told.
enum Reporter: Sendable {
  case swiftTesting(SourceLocation)
  case xctest(file: StaticString, line: UInt)

  func fail(_ text: String) {
    switch self {
    case .swiftTesting(let location): Issue.record(Comment(rawValue: text), sourceLocation: location)
    case .xctest(let file, let line): XCTFail(text, file: file, line: line)
    }
  }

  func report(_ outcome: TestOutcome, attachingTo testCase: XCTestCase? = nil) {
    if let note = outcome.note { Self.say(note.escapedForTerminal) }
    for attachment in outcome.attachments { attach(attachment, to: testCase) }
    if let failure = outcome.failure {
      fail(failure)
    } else if !outcome.tails.isEmpty {
      // The test failed by itself; why may stand in what its applications said.
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
    }
  }

  /// A line of ours on standard error, where it does not get into what tests print.
  static func say(_ text: String) {
    let bytes = Array("diorama: \(text)\n".utf8)
    // One call: what parallel tests say does not mix. A standard error that nobody reads is no reason to fail.
    _ = bytes.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
  }
}
