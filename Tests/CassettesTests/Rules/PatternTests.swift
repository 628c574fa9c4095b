import LaunchContract
import Testing

@testable import Cassettes

@Suite("Patterns")
struct PatternTests {
  @Test(
    "take out every match",
    arguments: [
      (#"\d+"#, "a1b22c", "abc"), ("x", "", ""), ("x", "abc", "abc"), (#"(?i)TOKEN=\w+"#, "é token=abc 🙂", "é  🙂"),
      ("x*", "axb", "ab"), (#"^\d{10}$"#, "1700000000", ""),
    ])
  func removes(pattern: String, from text: String, rest: String) throws {
    #expect(try Pattern(pattern).removed(from: text) == rest)
  }

  @Test("that would take for ever are given up, with an error that names them")
  func tooSlow() throws {
    let pattern = try Pattern("(a|aa)+$")
    #expect {
      _ = try pattern.removed(from: String(repeating: "a", count: 80) + "b")
    } throws: { "\($0)".contains("the pattern '(a|aa)+$' takes too long") }
  }

  @Test("leave bytes alone that are no text")
  func binary() throws {
    #expect(try [try Pattern("a")].removed(from: [0xFF, 0x61] as [UInt8]) == nil)
    #expect(try [try Pattern("a")].removed(from: [0x62, 0x61] as [UInt8]) == [0x62] as [UInt8])
  }
}
