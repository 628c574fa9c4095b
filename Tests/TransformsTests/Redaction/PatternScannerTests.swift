@testable import Transforms
import Basics
import Foundation
import Testing

@Suite("Redaction patterns")
struct PatternScannerTests {
  private static func stream(_ scanner: PatternScanner, _ text: [UInt8], chunk: Int) -> String {
    var stream = PatternStream(scanner, .plain)
    var output: [UInt8] = []
    var start = 0
    while start < text.count {
      output += stream.push(Array(text[start..<min(start + chunk, text.count)]))
      start += chunk
    }
    output += stream.push([], isLast: true)
    return String(decoding: output, as: UTF8.self)
  }

  @Test("match in texts, once, and leave marks unchanged")
  func texts() throws {
    let scanner = try PatternScanner(patterns: ["sk_live_[A-Za-z0-9]+", "live_[a-z]+", "[a-z]{8}"])
    #expect(scanner.redact("a sk_live_Ab1! naïve 🙂 sk_live_x") == "a <redacted>! naïve 🙂 <redacted>")
    #expect(scanner.redact("<redacted> <redacted:a/b> %3Credacted%3E") == nil)
    #expect(scanner.redact("nothing") == nil)
  }

  @Test(
    "for query items match URLs in a text",
    arguments: [
      ("see https://a.test/x?a=1&token=abc&b=2#f", "see https://a.test/x?a=1&token=<redacted>&b=2#f"),
      (#"<a href="/x?token=abc&amp;b=2">"#, #"<a href="/x?token=<redacted>&amp;b=2">"#),
      (#"{"next": "\/x?a=1\u0026token=abc"}"#, #"{"next": "\/x?a=1\u0026token=<redacted>"}"#),
      ("to=https%3A%2F%2Fa%3Ftoken%3Dabc%26b%3D1", "to=https%3A%2F%2Fa%3Ftoken%3D<redacted>%26b%3D1"),
      ("?token=", "?token="), ("mytoken=abc", "mytoken=abc"),
    ])
  func query(text: String, expected: String) throws {
    let scanner = try PatternScanner(patterns: [], query: ["token"])
    #expect((scanner.redact(text) ?? text) == expected)
  }

  @Test("match in streams, wherever chunks end, and in binary data", arguments: [1000, 65_536, 300_000])
  func streams(chunk: Int) throws {
    let scanner = try PatternScanner(patterns: ["sk_live_[A-Za-z0-9]+"])
    let filler = String(repeating: "naïve 🙂 ", count: 20_000)
    let long = "sk_live_" + String(repeating: "x", count: 20_000)
    let text = filler + "sk_live_A1 " + filler + long + " " + filler + "sk_live_Z"
    let expected = filler + "<redacted> " + filler + "<redacted> " + filler + "<redacted>"
    #expect(Self.stream(scanner, Array(text.utf8), chunk: chunk) == expected)
    var stream = PatternStream(scanner, .plain)
    let output = stream.push([0xFF, 0xFE] + Array("sk_live_A".utf8) + [0xFF], isLast: true)
    #expect(output == [0xFF, 0xFE] + Array("<redacted>".utf8) + [0xFF])
    var latin = PatternStream(try PatternScanner(patterns: ["name=[^&]+"]), .plain)
    let name = Array("name=J".utf8) + [0xFC] + Array("rgen".utf8)
    let found = latin.push([0xE9] + name + Array("&é".utf8), isLast: true)
    #expect(found == [0xE9] + Array("<redacted>&é".utf8))
  }

  @Test("match in base64 text at every alignment, but not in binary data", arguments: 0..<6)
  func base64(before: Int) throws {
    let scanner = try PatternScanner(patterns: ["sk_live_[A-Za-z0-9]+", "[0-9]{3}"])
    for isURL in [false, true] {
      let text = Data(
        "\(String(repeating: "ü", count: before / 2))\(String(repeating: "?", count: before % 2)):sk_live_Ab9:more".utf8
      )
      var base64 = text.base64EncodedString()
      if isURL { base64 = base64.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "") }
      let redacted = try #require(scanner.redact(#"{"a": "\#(base64)", "b": 1}"#))
      #expect(redacted.contains("<redacted>") && redacted.hasSuffix(#"", "b": 1}"#))
      for hidden in ["c2tfbGl2ZV", "NrX2xpdmVf", "za19saXZlX"] { #expect(!redacted.contains(hidden)) }
    }
    let random = Data((0..<300).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ before) }).base64EncodedString()
      .replacing(/[0-9]/, with: "x")
    #expect(scanner.redact(random) == nil)
  }

  @Test("for any number of items of a query are found")
  func manyItems() throws {
    let names = (0..<1000).map { "name-of-a-field-\($0)" }
    let scanner = try PatternScanner(patterns: [], query: names + [#"a\Eb.c"#])
    #expect(
      scanner.redact(#"/?a=1&name-of-a-field-999=2&NAME-OF-A-FIELD-0=3&a\Eb.c=4&axbxc=5"#)
        == #"/?a=1&name-of-a-field-999=<redacted>&NAME-OF-A-FIELD-0=<redacted>&a\Eb.c=<redacted>&axbxc=5"#)
  }

  @Test("that are invalid are reported by name")
  func invalid() {
    #expect(throws: CodedError.self) { try PatternScanner(patterns: ["a", "("]) }
    #expect(throws: CodedError.self) { try PatternScanner(patterns: ["a*"]) }
  }

  @Test("that would never finish are given up, and the text is dropped")
  func tooSlow() throws {
    let slow = "secret " + String(repeating: "a", count: 80) + "b"
    let scanner = try PatternScanner(patterns: ["(a|aa)+$"])
    #expect(scanner.redact("quick aaa") == "quick <redacted>")
    #expect(scanner.givenUp.isEmpty)
    #expect(scanner.redact(slow) == "<redacted>")
    #expect(scanner.redact(slow, .percent) == "%3Credacted%3E")
    #expect(scanner.givenUp == ["(a|aa)+$"])
    let long = slow + String(repeating: " and so on", count: 100_000)
    #expect(Self.stream(scanner, Array(long.utf8), chunk: 65_536) == "<redacted>")
    #expect(scanner.redact("quick aaa") == "quick <redacted>")
  }
}
