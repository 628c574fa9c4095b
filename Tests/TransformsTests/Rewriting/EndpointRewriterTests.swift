@testable import Transforms
import HTTPMessages
import TestSupport
import Testing

@Suite("A request body rewritten as a stream")
struct EndpointRewriterTests {
  private static let texts = [
    "", "no address", #"{"cb": "http://127.0.0.1:20013/x", "n": "http:\/\/localhost:20014\/y"}"#,
    "u=http%3A%2F%2F127.0.0.1%3A20013%2Fx&v=http%253A%252F%252F127.0.0.1%253A20014",
    "http://127.0.0.1:20011/dev.api1.com/x http://127.0.0.1:200130/ xhttp://dev.api1.com/ http://dev.api1.com/",
    "http://127.0.0.1:20013", "a\nhttp://127.0.0.1:2001",
    String(repeating: "h", count: 9000) + "http://127.0.0.1:20013/",
    String(repeating: "h", count: 9000) + "https%26%23x003A%3B//127.0.0.1:20013/ http://u:p@127.0.0.1:20013/",
    "u=http%3A%5C%2F%5C%2F127.0.0.1%3A20013%5C%2F&v=http%26%2358%3B%26sol%3B%26sol%3B127.0.0.1%26%2358%3B20014",
  ]

  @Test(
    "has the same result wherever chunks end", arguments: [AddressMap.Form.ownPort, .pathSegment, .absolute])
  func cut(_ form: AddressMap.Form) throws {
    let map = try Sample.map()
    var generator = SeededGenerator(1)
    for text in Self.texts {
      let bytes = Array(text.utf8)
      let whole = map.requestBody(bytes, contentType: nil, form: form) ?? bytes
      for size in [1, 2, 5, 64, 5000] {
        var rewriter = try #require(map.requestBodyRewriter(contentType: nil, form: form))
        var output: [UInt8] = []
        var rest = bytes[...]
        while !rest.isEmpty {
          let piece = rest.prefix(size == 64 ? Int.random(in: 1...64, using: &generator) : size)
          output += rewriter.push(Array(piece))
          rest = rest.dropFirst(piece.count)
        }
        output += rewriter.finish()
        #expect(output == whole, "\(text.prefix(60)) by \(size)")
      }
    }
  }

  @Test("is passed on up to a blank, line break or quote, and otherwise held back only a little")
  func flows() throws {
    let map = try Sample.map()
    var rewriter = try #require(map.requestBodyRewriter(contentType: "application/json"))
    #expect(rewriter.push(Array("{\"a\": 1}\nhttp".utf8)) == Array("{\"a\": 1}\n".utf8))
    #expect(rewriter.push(Array("://127.0.0.1:20013/x\n".utf8)) == Array("https://dev.api1.com/x\n".utf8))
    var passed = 0
    for _ in 0..<100 { passed += rewriter.push([UInt8](repeating: 0x61, count: 1000)).count }
    #expect(passed > 95_000)
    #expect(map.requestBodyRewriter(contentType: "image/png") == nil)
  }
}
