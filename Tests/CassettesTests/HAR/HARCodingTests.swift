import HTTPMessages
import LaunchContract
import Testing

@testable import Cassettes

@Suite("HAR odds and ends")
struct HARCodingTests {
  @Test(
    "codes Base64 as RFC 4648, 10, has it",
    arguments: [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
      ("foobar", "Zm9vYmFy"),
    ])
  func base64(_ plain: String, _ coded: String) {
    #expect(HAR.Base64.encode(Array(plain.utf8)) == coded)
    #expect(HAR.Base64.decode(coded) == Array(plain.utf8))
  }

  @Test("brings all bytes through Base64")
  func base64Bytes() {
    let bytes = [UInt8](0...255) + [UInt8](0...255).reversed()
    for count in 500...512 {
      #expect(HAR.Base64.decode(HAR.Base64.encode(Array(bytes[..<count]))) == Array(bytes[..<count]))
    }
  }

  @Test("refuses what is not Base64", arguments: ["A", "AAAAA", "A*==", "AA=A", "\u{E9}AAA"])
  func notBase64(_ text: String) {
    #expect(HAR.Base64.decode(text) == nil)
  }

  @Test(
    "takes queries apart",
    arguments: [
      ("http://h/", []), ("http://h/?", []), ("http://h/?a", [["a", ""]]),
      ("http://h/?a=1&a=2", [["a", "1"], ["a", "2"]]),
      ("http://h/?a=b=c&=x&&", [["a", "b=c"], ["", "x"]]), ("http://h/?a?b=%3f#c?d", [["a?b", "?"]]),
      ("http://h/#?a=1", []), ("http://h/?%C3%BC=%2B+%20", [["\u{FC}", "+  "]]),
      ("http://h/?a=%FF&b=%zz&c=%4", [["a", "%FF"], ["b", "%zz"], ["c", "%4"]]),
    ] as [(String, [[String]])])
  func queries(_ url: String, _ pairs: [[String]]) {
    #expect((HAR.FormText.query(ofURL: url).map(HAR.FormText.pairs) ?? []).map { [$0.name, $0.value] } == pairs)
  }

  @Test("reads back the forms that it writes", arguments: 0..<50 as Range<UInt64>)
  func forms(_ seed: UInt64) {
    var random = SeededGenerator(seed)
    let pairs = (0..<5).map { _ in (name: "n" + random.text(upTo: 8), value: random.text(upTo: 20)) }
    let form = String(decoding: HAR.FormText.encode(pairs), as: UTF8.self)
    #expect(HAR.FormText.pairs(form[...]).map { [$0.name, $0.value] } == pairs.map { [$0.name, $0.value] })
  }

  @Test("lists the cookies of all Cookie fields")
  func requestCookies() throws {
    let json = HAR.requestCookies(Headers([.init("Cookie", "a=1;  b=x=y ;c"), .init("cookie", "d=")]))
    let expected =
      #"[{"name":"a","value":"1"},{"name":"b","value":"x=y"},{"name":"c","value":""},{"name":"d","value":""}]"#
    #expect(try json == JSON.parse(Array(expected.utf8)))
  }

  @Test("lists the cookies that a response sets, each with its attributes once")
  func responseCookies() throws {
    let json = HAR.responseCookies([
      "Set-Cookie": "a=1; PATH=/x; path=/y; Expires=never; SameSite=Lax; Max-Age=1", "set-cookie": "b",
      "Set-Cookie": "",
    ])
    let expected = #"[{"name":"a","value":"1","path":"/y"},{"name":"b","value":""},{"name":"","value":""}]"#
    #expect(try json == JSON.parse(Array(expected.utf8)))
  }
}
