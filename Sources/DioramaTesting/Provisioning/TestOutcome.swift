import EnvironmentService
import Foundation

/// What an environment comes to for its test.
struct TestOutcome {
  /// Something to keep with a failed test.
  struct Attachment {
    var name: String
    var bytes: [UInt8]
  }

  /// Why the test fails; nil when the environment held.
  var failure: String?
  /// A line for the person who runs the tests, where something was recorded.
  var note: String?
  /// What the applications wrote last, for a test that failed by itself; empty where that stands in the failure.
  var tails = ""
  /// The applications' output and the report; empty when all is well.
  var attachments: [Attachment] = []

  /// - Parameters:
  ///   - report: what the environment came to, or why nobody knows.
  ///   - applications: what was launched in it.
  ///   - name: the environment's.
  ///   - hasFailed: whether the test failed already.
  init(
    _ report: Result<Report, EnvironmentError>, _ applications: [TestApplication], name: String, hasFailed: Bool
  ) {
    let crashed = applications.filter { $0.state.isCrash && $0.process?.isExpected == false }
    let apps = applications.map { "\n\($0.name): \($0.state.text)\($0.process?.tail() ?? "")" }.joined()
    switch report {
    case .failure(let error): failure = "the environment of \(name) has no report: \(error.message)" + apps
    case .success(let report) where !report.ok:
      failure = ReportText(report).lines().joined(separator: "\n  ") + apps
    case .success where !crashed.isEmpty:
      failure = crashed.map { "\($0.name) did not end by itself: \($0.state.text)\($0.process?.tail() ?? "")" }
        .joined(separator: "\n")
    case .success(let report) where report.requests.recorded + report.strings.recorded > 0:
      note = "\(name): \(ReportText(report).lines().first ?? "")"
    case .success: break
    }
    guard failure != nil || hasFailed else { return }
    if failure == nil { tails = apps }
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
