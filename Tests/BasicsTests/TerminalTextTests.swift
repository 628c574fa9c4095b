import Basics
import Foundation
import Testing

@Suite("Text for terminals")
struct TerminalTextTests {
  @Test(
    "escapes control characters and line ends as Swift does",
    arguments: [
      ("\u{1B}]0;title\u{7}", #"\u{1b}]0;title\u{7}"#), ("a\r\n::error::b", #"a\r\n::error::b"#),
      ("a\tb\0", #"a\tb\u{0}"#),
      ("\u{9B}31m\u{85}\u{7F}", #"\u{9b}31m\u{85}\u{7f}"#), ("\u{2028}\u{2029}", #"\u{2028}\u{2029}"#),
      ("\u{202A}\u{202B}\u{202C}\u{202D}\u{202E}", #"\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}"#),
      ("\u{2066}\u{2067}\u{2068}\u{2069}", #"\u{2066}\u{2067}\u{2068}\u{2069}"#),
      ("\u{200E}\u{200F}\u{61C}", #"\u{200e}\u{200f}\u{61c}"#),
      // Not a separate character: it joins the preceding one.
      ("e\u{301}\r\n\u{301}", "e\u{301}\\r\\n\u{301}"),
      (String(decoding: [0x61, 0x9B, 0x62, 0xFF], as: UTF8.self), "a\u{FFFD}b\u{FFFD}"),
    ])
  func escaped(_ text: String, _ shown: String) {
    #expect(Array(text.escapedForTerminal.utf8) == Array(shown.utf8))
    #expect(Array(shown.escapedForTerminal.utf8) == Array(shown.utf8))
  }

  @Test("keeps everything else: other scripts, emoji, and backslashes in commands to copy")
  func plain() {
    let text = #"it's 'a'\''b' C:\new {"a": "\u001b"} é 東京 שלום 👩‍👩‍👧 ﷺ"#
    #expect(Array(text.escapedForTerminal.utf8) == Array(text.utf8))
  }

  @Test("keeps the value and the lines of JSON")
  func json() throws {
    let value = ["a\u{1B}\n": "\u{9B}\u{7F}\u{202E}\u{2028}é👩‍👩‍👧\u{61C}"]
    let encoder = JSONEncoder()
    encoder.outputFormatting = .prettyPrinted
    let text = String(decoding: try encoder.encode(value), as: UTF8.self).escapedJSONForTerminal
    #expect(text == "{\n  \"a\\u001b\\n\" : \"\\u009b\\u007f\\u202e\\u2028é👩‍👩‍👧\\u061c\"\n}")
    #expect(try JSONDecoder().decode([String: String].self, from: Data(text.utf8)) == value)
  }
}
