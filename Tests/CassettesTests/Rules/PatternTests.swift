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
    #expect(try Pattern(pattern).removed(from: text, PatternBudget()) == rest)
  }

  @Test("that would take for ever are given up, with an error that names them")
  func tooSlow() throws {
    let pattern = try Pattern("(a|aa)+$")
    #expect {
      _ = try pattern.removed(from: String(repeating: "a", count: 80) + "b", PatternBudget())
    } throws: { "\($0)".contains("the pattern '(a|aa)+$' takes too long") }
  }

  @Test("may take long in one request once, not in each of its texts")
  func budget() throws {
    // Some tenths of a second each, so that one alone passes on any machine.
    let text = String(repeating: "a", count: 29) + "b"
    let texts = Array(repeating: "\"\(text)\"", count: 10_000).joined(separator: ",")
    let rules = #"{"rules": [{"ignore": {"pattern": ["(a|aa)+$"]}}]}"#
    _ = try Sent("POST", "/", type: "application/json", "\"a\"").keys(rules)
    #expect {
      _ = try Sent("POST", "/", type: "application/json", "[\(texts)]").keys(rules)
    } throws: { "\($0)".contains("takes too long") }
  }

  @Test("leave bytes alone that are no text")
  func binary() throws {
    #expect(try [try Pattern("a")].removed(from: [0xFF, 0x61] as [UInt8], PatternBudget()) == nil)
    #expect(try [try Pattern("a")].removed(from: [0x62, 0x61] as [UInt8], PatternBudget()) == [0x62] as [UInt8])
  }
}
