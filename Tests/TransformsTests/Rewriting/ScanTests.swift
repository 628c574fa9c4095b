@testable import Transforms
import HTTPMessages
import TestSupport
import Testing

/// The rewriter skips from one candidate to the next. It must find what a check of every byte finds.
@Suite("The scan for addresses")
struct ScanTests {
  /// Checks every byte in turn, for every spelling of an address.
  private static func rewrite(_ text: [UInt8], with matcher: UpstreamURLMatcher) -> [UInt8] {
    var output: [UInt8] = []
    var tracker = TokenTracker()
    text.withUnsafeBufferPointer { text in
      var index = 0
      while index < text.count {
        var found = AddressLook<UpstreamURLMatcher.Found>.none
        if "hHwW".utf8.contains(text[index]), tracker.mayBegin(with: text[index]) {
          found = matcher.look(at: index, in: text, isWhole: true)
        } else if "/\\%&".utf8.contains(text[index]), tracker.mayBeginReference {
          found = matcher.lookForReference(at: index, in: text, isWhole: true)
        }
        if case .found(let found) = found {
          matcher.write(found, in: text, to: &output)
          index = found.end
          tracker.passedHost()
        } else {
          output.append(text[index])
          tracker.pass(text[index])
          index += 1
        }
      }
    }
    return output
  }

  private static let schemes = ["http", "https", "HTTPS", "ws", "WSS", "", "h", "ftp"]
  private static let colons = [":", "%3A", "%253A", "\\u003a", "&#58;", "&colon;", "%26colon%3B", ""]
  private static let slashes = [
    "/", "\\/", "\\\\\\/", "%2F", "%252f", "\\u002f", "\\x2f", "&#47;", "&sol;", "%5C%2F", "%5Cu002f", "%26%2347%3B",
  ]
  private static let users = ["", "", "u@", "u:p@", "%75@", "u%40x:p@", "u&#64;", "dev.api1.com:pw@", "[::1]@"]
  private static let hosts = [
    "dev.api1.com", "DEV.api1.COM", "api1.com", "files.test", "both.test", "[::1]", "%5B::1%5D", "127.0.0.1",
    "dev%2Eapi1.com", "dev.api1.com.", "api1.com.au", "xapi1.com", "dev\\u002eapi1.com",
  ]
  private static let ports = [
    "", ":8443", "%3A8443", ":443", ":80", ":9000", ":5000", "\\u003a9000", ".:8443", ":", ":x",
  ]
  private static let ends = [
    "/", "\"", "", "?y=1", ".", ". ", "-", "@", "%2F", "\\/", "&amp;", " ", "\\n", "\\\"", "é",
  ]
  private static let fillers = [
    "\"", "'", " ", "\\n", "\\\"", "\\u003c", "%22", "%3D", "=", "?", "#", "&", ";", "&amp;", "a", "h", "w", "htt",
    "://",
    "%3A%2F%2F", "<", "(", "[", "]", "{", "|", ",", "\\", "\\\\", "\\u", "\\u00", "%", "%2", "é", "u=", "?next=",
    "%3Fnext%3D", "9000", "127", "files", "%255C", "//", "\\/\\/", "\0", "\u{7f}", "api1", "words without an address",
  ]

  private static func text(_ generator: inout SeededGenerator) -> [UInt8] {
    func one(of texts: [String]) -> String { texts.randomElement(using: &generator) ?? "" }
    var text: [UInt8] = []
    for _ in 0..<Int.random(in: 0..<12, using: &generator) {
      if Bool.random(using: &generator) {
        text += one(of: fillers).utf8
      } else {
        let isPlain = Bool.random(using: &generator)
        let slash = isPlain ? "/" : one(of: slashes)
        text += (one(of: schemes) + (isPlain ? ":" : one(of: colons)) + slash + slash).utf8
        text += (one(of: users) + one(of: hosts) + one(of: ports) + one(of: ends)).utf8
      }
    }
    if let place = text.indices.randomElement(using: &generator), Bool.random(using: &generator) {
      text[place] = UInt8.random(in: 0...255, using: &generator)
    }
    return text
  }

  @Test("finds what a check of every byte finds, wherever chunks end", arguments: 0..<8 as Range<UInt64>)
  func everyByte(seed: UInt64) throws {
    var generator = SeededGenerator(seed)
    let map = try Sample.map()
    for round in 0..<150 {
      let form = [AddressMap.Form.ownPort, .pathSegment, .absolute][round % 3]
      let upstream = Int.random(in: map.upstreams.indices, using: &generator)
      guard let fresh = map.responseBodyRewriter(contentType: "text/plain", upstream: upstream, form: form) else {
        continue
      }
      let text = Self.text(&generator)
      let expected = Self.rewrite(text, with: map.matcher(upstream: upstream, form: form))
      for cut in 0...text.count {
        var rewriter = fresh
        let result = rewriter.push(Array(text[..<cut])) + rewriter.push(Array(text[cut...])) + rewriter.finish()
        #expect(result == expected, "cut at \(cut): \(String(decoding: text, as: UTF8.self))")
      }
      var rewriter = fresh
      var result: [UInt8] = []
      for byte in text { result += rewriter.push([byte]) }
      #expect(result + rewriter.finish() == expected, "byte by byte: \(String(decoding: text, as: UTF8.self))")
    }
  }

  @Test("finds a host without ASCII letters")
  func noWord() throws {
    let map = AddressMap(
      upstreams: [.init(name: "x", origin: try Origin(parsing: "https://é.ü"), port: 20013)], mainPort: 20011)
    var rewriter = try #require(map.responseBodyRewriter(contentType: "text/plain", upstream: 0, form: .ownPort))
    let result = rewriter.push(Array("see https://é.ü/x".utf8)) + rewriter.finish()
    #expect(String(decoding: result, as: UTF8.self) == "see http://127.0.0.1:20013/x")
  }

  @Test("finds a word at every position, in any case")
  func words() {
    for word in ["a", "ab", "example", "127", "abcdefghijklmnop"] {
      let searched = AddressWord(Array(word.utf8))
      for before in 0..<40 {
        for after in 0..<20 {
          let text = [UInt8](repeating: UInt8(ascii: "."), count: before) + word.uppercased().utf8
          let whole = text + [UInt8](repeating: UInt8(ascii: "-"), count: after)
          whole.withUnsafeBytes { whole in
            #expect(searched.first(in: whole, from: 0) == before)
            #expect(searched.first(in: whole, from: before) == before)
            #expect(searched.first(in: whole, from: before + 1) == nil)
          }
        }
      }
    }
  }
}
