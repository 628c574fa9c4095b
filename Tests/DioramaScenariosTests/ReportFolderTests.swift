import Basics
import Foundation
import Gherkin
import ScenarioReports
import Testing

@testable import DioramaScenarios

@Suite struct ReportFolderTests {
  private let path = FileManager.default.temporaryDirectory.appending(path: "reports-\(UUID().uuidString)").path

  @Test("adds the messages of all processes of a run, and writes reports about those that can be read")
  func sharedFolder() throws {
    defer { try? FileManager.default.removeItem(atPath: path) }
    let message = Message.testRunStarted(.init(timestamp: .init(seconds: 1, nanos: 0), id: "1"))
    let first = try ReportFolder(path: path).open()
    first.messages.append(message)
    let last = try ReportFolder(path: path).open()
    last.messages.append(message)
    let text = try String(contentsOfFile: path + "/messages.ndjson", encoding: .utf8)
    #expect(ReportFolder.readable(text + "{\"testRun") == [message, message])
    ReportFolder(path: path).writeReports(at: first.presence)
    #expect(try String(contentsOfFile: path + "/junit.xml", encoding: .utf8).contains("<testsuites"))
    ReportFolder(path: path).writeReports(at: last.presence)
    #expect(try String(contentsOfFile: path + "/junit.xml", encoding: .utf8).contains("<testsuites"))
  }

  @Test("replaces the messages of another run")
  func otherRun() throws {
    defer { try? FileManager.default.removeItem(atPath: path) }
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try "another run\n".write(toFile: path + "/.run", atomically: true, encoding: .utf8)
    try "old\n".write(toFile: path + "/messages.ndjson", atomically: true, encoding: .utf8)
    _ = try ReportFolder(path: path).open()
    #expect(try String(contentsOfFile: path + "/messages.ndjson", encoding: .utf8) == "")
  }

  @Test("leaves recent reports of many processes to one that is still running, or to the next one")
  func manyProcesses() async throws {
    defer { try? FileManager.default.removeItem(atPath: path) }
    let folder = ReportFolder(path: path)
    let processes = try (1...5).map { _ in try folder.open() }
    func size() throws -> Int { try String(contentsOfFile: path + "/report.html", encoding: .utf8).utf8.count }
    folder.writeReports(at: processes[0].presence)
    let first = try size()
    processes[1].messages.append(.testRunFinished(.init(success: false, timestamp: .init(seconds: 1, nanos: 0))))
    folder.writeReports(at: processes[1].presence)
    #expect(try size() == first, "others are running")
    for process in processes.dropFirst(2) { folder.writeReports(at: process.presence) }
    #expect(try size() != first, "the last one has written the reports")
  }

  @Test("contains a feature file once, however many processes run its scenarios")
  func featureOnce() async throws {
    defer { try? FileManager.default.removeItem(atPath: path) }
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let feature = "Feature: Booking\n  Scenario: a visit\n    Given a slot\n"
    try feature.write(toFile: path + "/booking.feature", atomically: true, encoding: .utf8)
    let folder = ReportFolder(path: path + "/reports")
    // As in processes of their own.
    for process in 1...3 {
      let writer = try folder.open().messages
      let observer = ReportObserver(ids: IDGenerator(from: process << 24)) {
        writer.append($0)
      } once: {
        folder.once($0, $1)
      }
      let run = try await FeatureRun(
        feature, path: path + "/booking.feature", observers: [observer], Steps { Given("a slot") {} })
      #expect(run.statuses == [.passed])
    }
    let messages = ReportFolder.readable(try String(contentsOfFile: path + "/reports/messages.ndjson", encoding: .utf8))
    var pickles: [String] = []
    var cases: [String] = []
    var sources = 0
    for message in messages {
      switch message {
      case .pickle(let pickle): pickles.append(pickle.id)
      case .testCase(let testCase): cases.append(testCase.pickleId)
      case .source: sources += 1
      default: break
      }
    }
    #expect(sources == 1 && pickles.count == 1)
    #expect(cases == [pickles[0], pickles[0], pickles[0]])
  }

  @Test("says that a folder cannot be written")
  func unwritableFolder() {
    #expect(throws: CodedError.self) { try ReportFolder(path: "/dev/null/reports").open() }
  }
}
