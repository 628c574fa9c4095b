@testable import Transforms
import TestSupport
import Testing

@Suite("A rewritten text sent back by the app")
struct RoundTripTests {
  /// Parts of addresses and everything that can surround them. Upstreams' origins are in the one spelling that is
  /// restored.
  private static let pieces: [String] = [
    "https://dev.api1.com", "https:\\/\\/dev.api1.com", "https://dev.api1.com:8443", "https://api1.com",
    "http://files.test", "http://both.test", "https://both.test", "http://[::1]:9000", "http://127.0.0.1:5000",
    "https://other.test", "https", "http", "h", "s", "://", ":\\/\\/", ":\\\\\\/\\\\\\/", "dev.api1.com", "api1.com",
    "both.test", "/", "\\", "\\/", "\\\\", "?", "&", "&amp;", "=", "#", ":", ".", "-", "_", "@", "%", "%3A", "%2F", "8",
    "44", "a", "Z", "\n", "\r\n", " ", "\"", "'", "<", ">", "(", ")", "[", "]", "{", "}", ",", ";", "`", "|", "\\u0026",
    "\\u003c", "\\u002f", "&#x2F;", "&#47;", "%252F", "wss", "//dev.api1.com", "https%3A%2F%2Fdev.api1.com", "\\n",
    "\\\"", "é", "漢", "🙂", "\0",
  ]

  @Test("equals the upstream's text, byte for byte", arguments: 0..<3)
  func roundTrip(_ number: Int) throws {
    let form = [AddressMap.Form.ownPort, .pathSegment, .absolute][number]
    var generator = SeededGenerator(UInt64(number) + 77)
    let map = try Sample.map()
    for round in 0..<2_500 {
      let count = Int.random(in: 0...14, using: &generator)
      let text = (0..<count).compactMap { _ in Self.pieces.randomElement(using: &generator) }.joined()
      // These addresses are not restored in the same spelling: with the default port, or, for an app that uses us as
      // its proxy, as http instead of https.
      let lowered = text.lowercased()
      if lowered.contains(":443") || lowered.contains(":80") || lowered.contains(":44") { continue }
      // Nor is a name with a trailing dot.
      if lowered.contains(/\.(\\*\/|\\*u002f|&#x2f;|&#47;|%2f|%252f)/) { continue }
      // A host in brackets before an `@` is not a user name, but its endpoint may be one.
      if lowered.contains(/9000[^\/]*@/) { continue }
      let plain = lowered.replacing("\\", with: "").replacing("%3a", with: ":").replacing("%2f", with: "/")
      if form == .absolute, ["dev.api1.com", "api1.com"].contains(where: { plain.contains("http://\($0)") }) {
        continue
      }
      let bytes = Array(text.utf8)
      var rewriter = try #require(
        map.responseBodyRewriter(contentType: "text/plain", upstream: round % 8, form: form))
      var sent: [UInt8] = []
      var rest = bytes[...]
      while !rest.isEmpty {
        let chunk = rest.prefix(Int.random(in: 1...12, using: &generator))
        rest = rest.dropFirst(chunk.count)
        sent += rewriter.push(Array(chunk))
      }
      sent += rewriter.finish()
      let back = map.requestBody(sent, contentType: "text/plain", form: form) ?? sent
      guard back == bytes else {
        Issue.record(
          """
          sent \(text.debugDescription), the app saw \(String(decoding: sent, as: UTF8.self).debugDescription), back came \
          \(String(decoding: back, as: UTF8.self).debugDescription)
          """)
        return
      }
    }
  }
}
