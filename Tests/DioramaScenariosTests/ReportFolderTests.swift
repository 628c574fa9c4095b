import Basics
import Foundation
import ScenarioReports
import Testing

@testable import DioramaScenarios

@Suite struct ReportFolderTests {
  private let path = FileManager.default.temporaryDirectory.appending(path: "reports-\(UUID().uuidString)").path

  @Test("adds the messages of all processes of a run, and writes reports about those that can be read")
  func sharedFolder() throws {
    defer { try? FileManager.default.removeItem(atPath: path) }
    let message = Message.testRunStarted(.init(timestamp: .init(seconds: 1, nanos: 0), id: "1"))
    try ReportFolder(path: path).open().append(message)
    try ReportFolder(path: path).open().append(message)
    let text = try String(contentsOfFile: path + "/messages.ndjson", encoding: .utf8)
    #expect(ReportFolder.readable(text + "{\"testRun") == [message, message])
    ReportFolder(path: path).writeReports()
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

  @Test("says that a folder cannot be written")
  func unwritableFolder() {
    #expect(throws: CodedError.self) { try ReportFolder(path: "/dev/null/reports").open() }
  }
}
