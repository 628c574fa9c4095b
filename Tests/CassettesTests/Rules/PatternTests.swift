import Basics
import LaunchContract
import Testing

@testable import Cassettes

@Suite("Patterns")
struct PatternTests {
  @Test(
    "remove every match",
    arguments: [
      (#"\d+"#, "a1b22c", "abc"), ("x", "", ""), ("x", "abc", "abc"), (#"(?i)TOKEN=\w+"#, "é token=abc 🙂", "é  🙂"),
      ("x*", "axb", "ab"), (#"^\d{10}$"#, "1700000000", ""),
    ])
  func removes(pattern: String, from text: String, rest: String) throws {
    #expect(try [Pattern(pattern)].removed(from: text, PatternBudget()) == rest)
  }

  @Test("stop with an error if a search takes too long")
  func tooSlow() throws {
    let pattern = try Pattern("(a|aa)+$")
    #expect {
      _ = try [pattern].removed(from: String(repeating: "a", count: 80) + "b", PatternBudget())
    } throws: { "\($0)".contains("the pattern '(a|aa)+$' takes too long") }
  }

  @Test(
    "read Unicode, escapes, line ends and groups as ICU does",
    arguments: [
      (#"\w+"#, "naïve 漢 ١", "  "), (#"\d"#, "1١x", "x"), (#"a\u00e9\U0001F642"#, "aé🙂b", "b"),
      (#"\\u00e9"#, #"\u00e9é"#, "é"),
      ("(?m)^b.$", "a\r\nbc\u{2028}bd\nb", "a\r\n\u{2028}\nb"), ("a.b", "a\u{85}b", "a\u{85}b"),
      (#"[[:alpha:]\[&-]+"#, "a[&-1", "1"), (#"\Q[a&&b\E."#, "[a&&bc", ""), (#"(?<q>["']).*?\k<q>"#, #"'a"b'c"#, "c"),
      (#"(?<=id=)\d+(?=;)"#, "id=12; id=3", "id=; id=3"), ("(?i)É", "éÉe", "e"), (#"\p{Greek}\p{Lu}"#, "αA", ""),
    ])
  func asICU(pattern: String, from text: String, rest: String) throws {
    #expect(try [Pattern(pattern)].removed(from: text, PatternBudget()) == rest)
  }

  @Test(
    "reject what PCRE2 cannot read, or reads in another way than ICU",
    arguments: [
      "[a-z&&[^x]]", "[a[bc]]", "[a-z--[x]]", "[[:alpha:]&&[a-c]]", #"\C"#, #"\uD83D"#, "(?<=a+)b", "a{70000}", "[",
    ])
  func rejects(pattern: String) {
    #expect(throws: CodedError.self) { try Pattern(pattern) }
  }

  @Test(
    "stop after the same steps, wherever the time goes",
    arguments: [
      ("(a|aa)+[0-9]", 100, true), ("[a-z]+[0-9]", 200_000, true), (#"(?:a|b)*c"#, 200_000, false),
      (#"(a*)\1c|x"#, 100_000, true), (#"(a)(.*?)\1(?=b|a)"#, 1_000_000, false), (#"(?<g>a*)\k<g>c|x"#, 100_000, true),
      ("[a-z]{20000}[0-9]", 200_000, true), ("(?:.|x)*y?", 10_000_000, true), ("(?R)?a|(?1)()b", 100_000, true),
      ("(?i)a", 500_000, false), ("a", 500_000, false), (#"\w+"#, 500_000, false), (".*?b", 500_000, false),
    ])
  func steps(pattern: String, length: Int, isOver: Bool) throws {
    let text = [UInt8](repeating: UInt8(ascii: "a"), count: length)
    let pattern = try Pattern(pattern)
    let found = try? pattern.matches(in: text, PatternBudget())
    #expect((found == nil) == isOver)
    #expect(found == (try? pattern.matches(in: text, PatternBudget())))
  }

  @Test("share one budget per request")
  func budget() throws {
    // One alone is within the budget.
    let text = String(repeating: "a", count: 22) + "b"
    let texts = Array(repeating: "\"\(text)\"", count: 100).joined(separator: ",")
    let rules = #"{"rules": [{"ignore": {"pattern": ["(a|aa)+$"]}}]}"#
    _ = try Sent("POST", "/", type: "application/json", "\"\(text)\"").keys(rules)
    #expect {
      _ = try Sent("POST", "/", type: "application/json", "[\(texts)]").keys(rules)
    } throws: { "\($0)".contains("takes too long") }
  }

  @Test("leave bytes that are not text unchanged")
  func binary() throws {
    #expect(try [try Pattern("a")].removed(from: [0xFF, 0x61] as [UInt8], PatternBudget()) == nil)
    #expect(try [try Pattern("a")].removed(from: [0x62, 0x61] as [UInt8], PatternBudget()) == [0x62] as [UInt8])
  }
}
