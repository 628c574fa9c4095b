import Basics
import Cassettes
import Foundation
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("A cassette of several megabytes")
struct LargeCassetteTests {
  /// The lines of a HAR with nine megabytes before the last entry.
  private static func lines(last: String) -> String {
    let request = #"{"method":"GET","url":"http://a.test/X"}"#
    let entry = #"{"request":\#(request),"response":{"status":200,"content":{"text":"Y"}}}"#
    let long = entry.replacingOccurrences(of: "Y", with: String(repeating: "y", count: 1 << 20))
    var lines = #"{"log":{"version":"1.2","entries":["#
    for index in 0..<9 { lines += "\n" + long.replacingOccurrences(of: "X", with: "\(index)") + "," }
    return lines + "\n" + last + "]}}\n"
  }

  @Test("has all its interactions")
  func whole() async throws {
    try await withService { fixture in
      let last = #"{"request":{"method":"GET","url":"http://a.test/last"},"response":{"status":204}}"#
      try fixture.write(Self.lines(last: last), to: "c.har")
      let cassette = try CassetteReader.read(fixture.location()).cassette
      #expect(cassette.interactions.count == 10)
      #expect(cassette.interactions[9].request.url == "http://a.test/last")
      for (index, interaction) in cassette.interactions.dropLast().enumerated() {
        #expect(interaction.request.url == "http://a.test/\(index)")
        #expect(interaction.response.body == .bytes([UInt8](repeating: UInt8(ascii: "y"), count: 1 << 20)))
      }
    }
  }

  @Test(
    "reports errors at the same position as a small one",
    arguments: [#"{"request":, "#, #"{"request":{"method":"GET","url":"http://a.test/"}}"#])
  func broken(_ last: String) async throws {
    try await withService { fixture in
      let text = Self.lines(last: last)
      try fixture.write(text, to: "c.har")
      let expected = #expect(throws: CodedError.self) {
        try HAR.read(Array(text.utf8), name: fixture.location().har)
      }
      let found = #expect(throws: CodedError.self) { try CassetteReader.read(fixture.location()) }
      #expect(found.map { "\($0)" }?.contains(try #require(expected).description) == true)
    }
  }

  @Test("is released while it is read, and the rest stays unchanged")
  func givenBack() async throws {
    try await withService { fixture in
      let text = String(repeating: "0123456789abcdef", count: 9 << 16)
      try fixture.write(text, to: "c.txt")
      let file = try ConsumedFile("\(fixture.folder)/c.txt")
      #expect(file.bytes.elementsEqual(text.utf8))
      file.giveBack(0..<5 << 20)
      #expect(file.bytes[0] == 0)
      #expect(file.bytes[(5 << 20)...].elementsEqual(text.utf8.dropFirst(5 << 20)))
    }
  }

  @Test("that cannot be read is refused with the system's reason")
  func unreadable() {
    let error = #expect(throws: CodedError.self) { _ = try ConsumedFile("/nowhere/c.har") }
    #expect(error?.isMissing == true && error?.systemReason == "No such file or directory")
  }
}
