import Basics
import EnvironmentConfiguration
import Foundation
import LaunchContract
import Testing

@testable import EnvironmentService

@Suite("The project file")
struct ProjectFileTests {
  private func project(_ text: String) throws(CodedError) -> ProjectFile {
    try ProjectFile(decoding: Data(text.utf8), path: "/shop/diorama.json")
  }

  @Test("has settings for all cassettes and for some; paths start at its folder")
  func combined() throws {
    let file = try project(
      #"""
      {"$schema": "diorama.schema.json", "cassettes": "Cassettes", "clock": {"kind": "frozen"},
       "upstreams": {"api": {"url": "https://a.test", "variable": "API_URL", "ca": "ca.pem",
                             "headers": {"X-Key": "file:key", "X-Other": "env:KEY"}}},
       "matching": {"order": "request", "rules": [{"ignore": {"query": ["_"]}}]},
       "redaction": {"json": ["$..password"]}, "toggles": {"a": 1, "b": 2},
       "credentials": [{"service": "s", "account": "a", "from": "file:secret"}],
       "overrides": [{"cassettes": "booking/*", "matching": {"order": "strict"}, "toggles": {"b": 3},
                      "redaction": {"query": ["token"]}},
                     {"cassettes": "**", "seed": "s"}]}
      """#)
    let access = try #require(file.settings.upstreams["api"]?.access)
    #expect(access.ca == "/shop/ca.pem")
    #expect(access.headers == ["X-Key": Secret("file:/shop/key"), "X-Other": Secret("env:KEY")])
    #expect(file.settings.credentials.map(\.from) == ["file:/shop/secret"])
    #expect(file.cassettes == "/shop/Cassettes")
    let booking = file.settings(for: "/shop/Cassettes/booking/one")
    #expect(booking.matching?.order == .strict && booking.matching?.rules.count == 1 && booking.seed == "s")
    #expect(booking.toggles == ["a": .int(1), "b": .int(3)])
    #expect(booking.redaction?.json == ["$..password"] && booking.redaction?.query == ["token"])
    let other = file.settings(for: "/shop/Cassettes/booking/deep/one")
    #expect(other.matching?.order == .request && other.toggles["b"] == .int(2) && other.seed == "s")
    #expect(file.settings(for: nil).seed == nil)
    #expect(other.matching?.rules.map(\.source) == ["rule 1 of diorama.json"])
    var readable = other
    readable.credentials = []
    readable.upstreams["api"]?.access.headers?["X-Key"] = nil
    readable = try readable.readingSecrets(["KEY": "k"], isContinuousIntegration: true)
    #expect(readable.redaction?.headers == ["X-Other"])
  }

  @Test(
    "is read strictly",
    arguments: [
      ("{", "/shop/diorama.json: not JSON"),
      (#"{"cassette": "a"}"#, "/shop/diorama.json: cassette: unknown member; did you mean 'cassettes'?"),
      (#"{"matching": {"order": "strickt"}}"#, "matching.order: 'strickt' is not valid; did you mean 'strict'?"),
      (#"{"overrides": [{"seed": "s"}]}"#, "overrides[0]: 'cassettes' is missing"),
      (#"{"overrides": [{"cassettes": "*", "clock": {"timeZone": "x"}}]}"#, "overrides[0].clock.timeZone: 'x' is not"),
    ])
  func strict(text: String, problem: String) {
    let error = #expect(throws: CodedError.self) { try project(text) }
    #expect(error?.problem.contains(problem) == true, "\(error?.problem ?? "")")
  }

  @Test("is the nearest one up to the root of the repository")
  func nearest() throws {
    let folder = NSTemporaryDirectory() + "diorama-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for path in ["repository/.git", "repository/a/b", "repository/c"] {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(path)", withIntermediateDirectories: true)
    }
    for path in ["", "repository/a/"] {
      try Data("{}".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(path)diorama.json"))
    }
    let path = try #require(ProjectFile.nearest(to: "\(folder)/repository/a/b"))
    #expect(path.hasSuffix("/repository/a/diorama.json"))
    #expect(try ProjectFile.read(path).settings == EnvironmentConfiguration())
    #expect(ProjectFile.nearest(to: "\(folder)/repository/c") == nil)
    // A file above a folder that is in no repository may be another user's.
    try FileManager.default.createDirectory(atPath: "\(folder)/other", withIntermediateDirectories: true)
    #expect(ProjectFile.nearest(to: "\(folder)/other") == nil)
    #expect(ProjectFile.nearest(to: folder) != nil)
    #expect(throws: CodedError.self) { try ProjectFile.read("\(folder)/none.json") }
  }
}
