@testable import Transforms
import HTTPMessages
import TestSupport
import Testing

@Suite("Response bodies on the way to the app")
struct ResponseBodyTests {
  @Test(
    "have the endpoint's address instead of an upstream's",
    arguments: [
      (#"{"u":"https://dev.api1.com/x?y=1"}"#, #"{"u":"http://127.0.0.1:20013/x?y=1"}"#),
      ("https://dev.api1.com", "http://127.0.0.1:20013"),
      ("HTTPS://Dev.API1.com/x", "http://127.0.0.1:20013/x"),
      ("https://dev.api1.com:443/x", "http://127.0.0.1:20013/x"),
      ("https://dev.api1.com:8443/x", "http://127.0.0.1:20014/x"),
      ("https://api1.com/x https://dev.api1.com/y", "http://127.0.0.1:20015/x http://127.0.0.1:20013/y"),
      ("http://files.test:80/", "http://127.0.0.1:20016/"),
      ("http://both.test/ https://both.test/", "http://127.0.0.1:20017/ http://127.0.0.1:20018/"),
      ("http://[::1]:9000/x", "http://127.0.0.1:20019/x"),
      ("http://127.0.0.1:5000/x", "http://127.0.0.1:20020/x"),
      (#"{"u":"https:\/\/dev.api1.com\/x"}"#, #"{"u":"http:\/\/127.0.0.1:20013\/x"}"#),
      (
        #"{"u":"{\"v\":\"https:\\\/\\\/dev.api1.com\\\/x\"}"}"#,
        #"{"u":"{\"v\":\"http:\\\/\\\/127.0.0.1:20013\\\/x\"}"}"#
      ),
      ("See https://dev.api1.com.", "See http://127.0.0.1:20013."),
      ("See https://dev.api1.com: it is up", "See http://127.0.0.1:20013: it is up"),
      (#"<a href="https://dev.api1.com">"#, #"<a href="http://127.0.0.1:20013">"#),
      (#"{"text":"see\nhttps://dev.api1.com/"}"#, #"{"text":"see\nhttp://127.0.0.1:20013/"}"#),
      (#"{"h":"\u003chttps://dev.api1.com\u003e"}"#, #"{"h":"\u003chttp://127.0.0.1:20013\u003e"}"#),
      ("src=https://dev.api1.com,https://api1.com", "src=http://127.0.0.1:20013,http://127.0.0.1:20015"),
    ])
  func replaces(_ text: String, _ expected: String) throws {
    #expect(try Sample.toApp(text) == expected)
  }

  @Test("have the endpoint for a reference without a scheme, even if the recorded scheme differed")
  func formerScheme() throws {
    let upstream = AddressMap.Upstream(
      name: "api", origin: try Origin(parsing: "https://staging.test"), port: 20_013,
      formerOrigins: [try Origin(parsing: "http://127.0.0.1:5000")])
    let map = AddressMap(upstreams: [upstream], mainPort: 20_000)
    var rewriter = try #require(map.responseBodyRewriter(contentType: "text/html", upstream: 0, form: .ownPort))
    let body =
      rewriter.push(Array(#"<a href="//127.0.0.1:5000/x"><a href="//staging.test/y">"#.utf8)) + rewriter.finish()
    #expect(
      String(decoding: body, as: UTF8.self) == #"<a href="//127.0.0.1:20013/x"><a href="//127.0.0.1:20013/y">"#)
  }

  @Test(
    "keep other hosts, and addresses in another URL's query",
    arguments: [
      "https://dev.api1.com.au/x", "https://dev.api1.community/", "https://dev.api1.com-x/", "https://dev.api1.com_/",
      "https://dev.api1.com:8080/", "https://dev.api1.com:4430/", "https://dev.api1.com@evil.test/",
      "http://dev.api1.com/", "https://files.test/", "https://www.dev.api1.com/", "xhttps://dev.api1.com/",
      "https:/dev.api1.com", #"https:\/dev.api1.com"#, #"https:/\/dev.api1.com"#, "dev.api1.com",
      "https://login.test/?next=https://dev.api1.com/x", #""https:\/\/login.test\/?next=https:\/\/dev.api1.com\/x""#,
      "<a href='https://login.test/?a=1&amp;next=https://dev.api1.com/x'>",
      "<a href='https://login.test/?a=1&#x26;next=https://dev.api1.com/x'>",
      #"{"u":"https://login.test/?a=1\u0026next\u003dhttps://dev.api1.com/x"}"#,
      "/?a?https://dev.api1.com/", "https:", "http", "h", "https://", "https://dev.api1.co",
    ])
  func leavesAlone(_ text: String) throws {
    #expect(try Sample.toApp(text) == text)
  }

  @Test(
    "end a query with its token",
    arguments: [
      "?x https://dev.api1.com/", "?x\"https://dev.api1.com/", "?x'https://dev.api1.com/", "?x<https://dev.api1.com/",
      "?x)https://dev.api1.com/", "?x]https://dev.api1.com/", "?x}https://dev.api1.com/", "?x,https://dev.api1.com/",
      "?x;https://dev.api1.com/", "?x`https://dev.api1.com/", "?x|https://dev.api1.com/", "?x\nhttps://dev.api1.com/",
      #"?x\nhttps://dev.api1.com/"#, #"?x\"https://dev.api1.com/"#, #"?x\u0022https://dev.api1.com/"#,
      "?x&quot;https://dev.api1.com/",
    ])
  func queryEnds(_ text: String) throws {
    let expected = text.split(separator: "https://dev.api1.com/", omittingEmptySubsequences: false)
      .joined(separator: "http://127.0.0.1:20013/")
    #expect(try Sample.toApp(text) == expected)
  }

  @Test("keep an address within an address's own query, but rewrite the address itself")
  func nested() throws {
    #expect(
      try Sample.toApp("https://dev.api1.com/?u=https://api1.com/")
        == "http://127.0.0.1:20013/?u=https://api1.com/")
  }

  @Test("have the host after the main port in the path form")
  func pathSegment() throws {
    #expect(
      try Sample.toApp(#"https://dev.api1.com/x "https:\/\/dev.api1.com:8443""#, form: .pathSegment)
        == #"http://127.0.0.1:20011/dev.api1.com/x "http:\/\/127.0.0.1:20011\/dev.api1.com:8443""#)
    #expect(
      try Sample.toApp("http://both.test/ https://both.test/", form: .pathSegment)
        == "http://127.0.0.1:20011/both.test/ http://127.0.0.1:20011/both.test:443/")
  }

  @Test("have http for https in absolute form, which returns through the proxy, and keep http")
  func absolute() throws {
    #expect(
      try Sample.toApp(
        "https://dev.api1.com/x http://files.test/ https://dev.api1.com:8443/ https://other.test/", form: .absolute)
        == "http://dev.api1.com/x http://files.test/ http://dev.api1.com:8443/ https://other.test/")
    #expect(
      try Sample.toApp("http://both.test/ https://both.test/", form: .absolute)
        == "http://both.test/ http://both.test:443/")
  }

  @Test("have the answering upstream's endpoint if two upstreams share an origin")
  func sameOrigin() throws {
    let origin = try Origin(parsing: "https://a.test")
    let map = AddressMap(
      upstreams: [.init(name: "one", origin: origin, port: 1001), .init(name: "two", origin: origin, port: 1002)],
      mainPort: 1000)
    for (index, port) in [1001, 1002].enumerated() {
      var rewriter = try #require(map.responseBodyRewriter(contentType: "text/plain", upstream: index, form: .ownPort))
      let result = rewriter.push(Array("https://a.test".utf8)) + rewriter.finish()
      #expect(String(decoding: result, as: UTF8.self) == "http://127.0.0.1:\(port)")
    }
  }

  @Test(
    "are rewritten only if they are text",
    arguments: [
      ("text/html; charset=utf-8", true), ("application/json", true), ("APPLICATION/JSON", true), ("text/css", true),
      ("application/problem+json", true), ("image/svg+xml", true), ("application/xml", true),
      ("application/javascript", true), ("application/x-www-form-urlencoded", true), ("image/png", false),
      ("application/octet-stream", false), ("application/zip", false), ("multipart/mixed", false), ("", false),
      ("json", false),
    ])
  func types(_ type: String, _ isText: Bool) throws {
    #expect((try Sample.map().responseBodyRewriter(contentType: type, upstream: 0, form: .ownPort) != nil) == isText)
  }

  @Test("are unchanged without a type, and in absolute form without an https upstream")
  func noRewriter() throws {
    #expect(try Sample.map().responseBodyRewriter(contentType: nil, upstream: 0, form: .ownPort) == nil)
    let map = AddressMap(
      upstreams: [.init(name: "a", origin: try Origin(parsing: "http://a.test"), port: 1001)], mainPort: 1000)
    #expect(map.responseBodyRewriter(contentType: "text/html", upstream: 0, form: .absolute) == nil)
  }

  @Test("have the same result wherever chunks end")
  func cuts() throws {
    let text =
      Array(
        #"{"a":"https://dev.api1.com/x","b":"https:\/\/dev.api1.com:8443\/?u=https://api1.com\u0026x=https://api1.com","#
          .utf8)
      + Array(#"c":"\nhttps://api1.com. https://dev.api1.com.au &amp;?x&amp;https://api1.com;https://api1.com"#.utf8)
    for form in [AddressMap.Form.ownPort, .pathSegment, .absolute] {
      let map = try Sample.map()
      let fresh = try #require(map.responseBodyRewriter(contentType: "text/plain", upstream: 0, form: form))
      var whole = fresh
      let expected = whole.push(text) + whole.finish()
      for first in 0...text.count {
        for second in stride(from: first, through: text.count, by: 19) {
          var rewriter = fresh
          var result = rewriter.push(Array(text[..<first]))
          result += rewriter.push(Array(text[first..<second]))
          result += rewriter.push(Array(text[second...]))
          result += rewriter.finish()
          guard result == expected else {
            Issue.record("cut at \(first) and \(second): \(String(decoding: result, as: UTF8.self))")
            return
          }
        }
      }
    }
  }

  @Test("are held back by at most the length of an address")
  func heldBack() throws {
    let map = try Sample.map()
    var rewriter = try #require(map.responseBodyRewriter(contentType: "text/plain", upstream: 0, form: .ownPort))
    var generator = SeededGenerator(5)
    let pieces = ["https:", "/", "\\", "dev.api1.com", ":", "8", "http", " ", "?", "h"].map { Array($0.utf8) }
    var pushed = 0
    var passed = 0
    for _ in 0..<20_000 {
      let piece = pieces.randomElement(using: &generator) ?? []
      pushed += piece.count
      passed += rewriter.push(piece).count
      // An endpoint's address may be longer than the upstream's, but never much shorter.
      #expect(pushed - passed < 64 + pushed / 4)
    }
    pushed = 0
    passed = 0
    for _ in 0..<20_000 {
      let piece = Array("https:/".utf8)
      pushed += piece.count
      passed += rewriter.push(piece).count
      #expect(pushed - passed < 64)
    }
  }
}
