import Testing

@testable import DioramaTesting

@Suite("Captured output")
struct CapturedOutputTests {
  private func append(_ text: String, to captured: inout CapturedOutput) {
    var text = text
    text.withUTF8 { captured.append(UnsafeRawBufferPointer($0)) }
  }

  @Test("is complete within the limits of memory and file")
  func whole() {
    var captured = CapturedOutput(memoryLimit: 10, fileLimit: 1000)
    var expected = ""
    for number in 0..<100 {
      append("\(number) ", to: &captured)
      expected += "\(number) "
      #expect(String(decoding: captured.bytes, as: UTF8.self) == expected)
    }
  }

  @Test("keeps the beginning and the end beyond the limits, and counts the omitted bytes")
  func bounded() {
    var captured = CapturedOutput(memoryLimit: 10, fileLimit: 30)
    for number in 0..<50 { append("\(number % 10)", to: &captured) }
    let text = String(decoding: captured.bytes, as: UTF8.self)
    #expect(text.hasPrefix("012345678901234567890123456789"))
    #expect(text.contains("bytes omitted"))
    #expect(text.hasSuffix("0123456789"))
    #expect(captured.count == 50)
  }

  @Test("is searched only after the last match")
  func search() {
    var captured = CapturedOutput(memoryLimit: 10, fileLimit: 1000)
    var scanned = 0
    append("abab", to: &captured)
    #expect(captured.take(Array("ab".utf8), scanned: &scanned))
    #expect(captured.take(Array("ab".utf8), scanned: &scanned))
    #expect(!captured.take(Array("ab".utf8), scanned: &scanned))
    append("ababab0123456789012345678", to: &captured)
    // The first letters are no longer in memory.
    #expect(!captured.take(Array("ab".utf8), scanned: &scanned))
    scanned = 0
    #expect(captured.take(/\d{3}/) == "901" || captured.take(Array("678".utf8), scanned: &scanned))
  }

  @Test("shows its last lines without leading and trailing empty lines")
  func tail() {
    var captured = CapturedOutput()
    #expect(captured.tail(lines: 3) == [])
    append("\none\r\ntwo\n\nfour\n\n", to: &captured)
    #expect(captured.tail(lines: 3) == ["two", "", "four"])
    #expect(captured.tail(lines: 9) == ["one", "two", "", "four"])
  }
}
