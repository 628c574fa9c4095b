@testable import Transforms
import HTTPMessages
import Testing

/// Every spelling of an address is found, rewritten in the same spelling, and restored.
@Suite("A spelling of an address")
struct SpellingTests {
  static let spellings: [(upstream: String, app: String)] = [
    // JSON and scripts.
    (#""https:\/\/dev.api1.com\/x""#, #""http:\/\/127.0.0.1:20013\/x""#),
    (#""https:\u002f\u002fdev.api1.com\u002fx""#, #""http:\u002f\u002f127.0.0.1:20013\u002fx""#),
    (#""https:\u002F\u002Fdev.api1.com\u002Fx""#, #""http:\u002F\u002F127.0.0.1:20013\u002Fx""#),
    (#""https\u003a\u002f\u002fdev.api1.com""#, #""http\u003a\u002f\u002f127.0.0.1:20013""#),
    (#""{\"v\":\"https:\\u002f\\u002fdev.api1.com\"}""#, #""{\"v\":\"http:\\u002f\\u002f127.0.0.1:20013\"}""#),
    (#"'https:\x2f\x2fdev.api1.com'"#, #"'http:\x2f\x2f127.0.0.1:20013'"#),
    (#""https:\u002f\u002fdev.api1.com:8443""#, #""http:\u002f\u002f127.0.0.1:20014""#),
    // HTML.
    ("<a href='https:&#x2F;&#x2F;dev.api1.com&#x2F;x'>", "<a href='http:&#x2F;&#x2F;127.0.0.1:20013&#x2F;x'>"),
    ("<a href='https:&#x2f;&#x2f;dev.api1.com'>", "<a href='http:&#x2f;&#x2f;127.0.0.1:20013'>"),
    ("<a href='https:&#47;&#47;dev.api1.com'>", "<a href='http:&#47;&#47;127.0.0.1:20013'>"),
    ("<a href='https&#58;&#047;&#047;dev.api1.com'>", "<a href='http&#58;&#047;&#047;127.0.0.1:20013'>"),
    ("<a href='https&colon;&sol;&sol;dev.api1.com'>", "<a href='http&colon;&sol;&sol;127.0.0.1:20013'>"),
    ("<a href='https://dev.api1.com/?a=1&amp;b=2'>", "<a href='http://127.0.0.1:20013/?a=1&amp;b=2'>"),
    ("&quot;https://dev.api1.com&quot;", "&quot;http://127.0.0.1:20013&quot;"),
    // Percent-encoded in upper and lower case, once or more often.
    ("next=https%3A%2F%2Fdev.api1.com%2Fx&a=1", "next=http%3A%2F%2F127.0.0.1%3A20013%2Fx&a=1"),
    ("next=https%3a%2f%2fdev.api1.com%2fx", "next=http%3a%2f%2f127.0.0.1%3a20013%2fx"),
    ("next=https%253A%252F%252Fdev.api1.com%252Fx", "next=http%253A%252F%252F127.0.0.1%253A20013%252Fx"),
    ("next=https%3A%2F%2Fdev.api1.com%3A8443%2Fx", "next=http%3A%2F%2F127.0.0.1%3A20014%2Fx"),
    ("next=https:%2F%2Fdev.api1.com%2Fx", "next=http:%2F%2F127.0.0.1:20013%2Fx"),
    ("data=%7B%22u%22%3A%22https%3A%2F%2Fdev.api1.com%22", "data=%7B%22u%22%3A%22http%3A%2F%2F127.0.0.1%3A20013%22"),
    ("data=u%3Dhttps%3A%2F%2Fdev.api1.com", "data=u%3Dhttp%3A%2F%2F127.0.0.1%3A20013"),
    // JSON and HTML within a query item.
    (#"u=https%3A%5C%2F%5C%2Fdev.api1.com%5C%2F"#, #"u=http%3A%5C%2F%5C%2F127.0.0.1%3A20013%5C%2F"#),
    (#"u=https:%5C/%5C/dev.api1.com:8443"#, #"u=http:%5C/%5C/127.0.0.1:20014"#),
    (
      #"u=https%253A%255C%252F%255C%252Fdev.api1.com%255C%252F"#,
      #"u=http%253A%255C%252F%255C%252F127.0.0.1%253A20013%255C%252F"#
    ),
    (#"u=https%3A%5Cu002F%5Cu002Fdev.api1.com"#, #"u=http%3A%5Cu002F%5Cu002F127.0.0.1%3A20013"#),
    (#"u=https%5Cu003a%5Cu002f%5Cu002fdev.api1.com:8443"#, #"u=http%5Cu003a%5Cu002f%5Cu002f127.0.0.1:20014"#),
    ("u=https%3A%26%23x2F%3B%26%23x2F%3Bdev.api1.com", "u=http%3A%26%23x2F%3B%26%23x2F%3B127.0.0.1%3A20013"),
    (
      "u=https%26%2358%3B%26%2347%3B%26%2347%3Bdev.api1.com",
      "u=http%26%2358%3B%26%2347%3B%26%2347%3B127.0.0.1%26%2358%3B20013"
    ),
    ("u=https%3A%26sol%3B%26sol%3Bdev.api1.com", "u=http%3A%26sol%3B%26sol%3B127.0.0.1%3A20013"),
    (#"u=%5C%2F%5C%2Fdev.api1.com%5C%2F"#, #"u=%5C%2F%5C%2F127.0.0.1%3A20013%5C%2F"#),
    // With a user and a password.
    ("https://user:pw@dev.api1.com/x", "http://user:pw@127.0.0.1:20013/x"),
    ("https://user@dev.api1.com:8443/x", "http://user@127.0.0.1:20014/x"),
    ("https://a%40b.c:p%2Fw@dev.api1.com", "http://a%40b.c:p%2Fw@127.0.0.1:20013"),
    (#""https:\/\/user:pw@dev.api1.com\/x""#, #""http:\/\/user:pw@127.0.0.1:20013\/x""#),
    (
      "<a href='https:&#x2F;&#x2F;user&#58;pw&#64;dev.api1.com'>",
      "<a href='http:&#x2F;&#x2F;user&#58;pw&#64;127.0.0.1:20013'>"
    ),
    ("u=https%3A%2F%2Fuser%3Apw%40dev.api1.com%2Fx", "u=http%3A%2F%2Fuser%3Apw%40127.0.0.1%3A20013%2Fx"),
    ("u=https%3A%2F%2Fuser%3Ap%252Fw%40dev.api1.com", "u=http%3A%2F%2Fuser%3Ap%252Fw%40127.0.0.1%3A20013"),
    ("u=https%253A%252F%252Fuser%253Apw%2540dev.api1.com", "u=http%253A%252F%252Fuser%253Apw%2540127.0.0.1%253A20013"),
    ("wss://user:pw@dev.api1.com/live", "ws://user:pw@127.0.0.1:20013/live"),
    ("<img src=//user@dev.api1.com/x>", "<img src=//user@127.0.0.1:20013/x>"),
    ("https://dev.api1.com:pw@api1.com/x", "http://dev.api1.com:pw@127.0.0.1:20015/x"),
    // At the end of a sentence.
    ("It is https://dev.api1.com. Or so", "It is http://127.0.0.1:20013. Or so"),
    // Without a scheme.
    ("//dev.api1.com/x", "//127.0.0.1:20013/x"),
    ("<script src=\"//dev.api1.com/x.js\">", "<script src=\"//127.0.0.1:20013/x.js\">"),
    ("<img src=//dev.api1.com/x>", "<img src=//127.0.0.1:20013/x>"),
    ("url(//dev.api1.com:8443/x)", "url(//127.0.0.1:20014/x)"),
    ("srcset='//dev.api1.com/1 1x, //api1.com/2 2x'", "srcset='//127.0.0.1:20013/1 1x, //127.0.0.1:20015/2 2x'"),
    (#""\/\/dev.api1.com\/x""#, #""\/\/127.0.0.1:20013\/x""#),
    (#""\u002f\u002fdev.api1.com""#, #""\u002f\u002f127.0.0.1:20013""#),
    ("<a href='&#x2F;&#x2F;dev.api1.com'>", "<a href='&#x2F;&#x2F;127.0.0.1:20013'>"),
    ("next=%2F%2Fdev.api1.com%2Fx", "next=%2F%2F127.0.0.1%3A20013%2Fx"),
    // WebSockets.
    ("wss://dev.api1.com/live", "ws://127.0.0.1:20013/live"), ("ws://files.test/live", "ws://127.0.0.1:20016/live"),
    (#""wss:\/\/dev.api1.com\/live""#, #""ws:\/\/127.0.0.1:20013\/live""#),
    ("u=wss%3A%2F%2Fdev.api1.com%3A8443%2F", "u=ws%3A%2F%2F127.0.0.1%3A20014%2F"),
    // Ports.
    ("https://dev.api1.com:8443/", "http://127.0.0.1:20014/"), ("http://[::1]:9000/", "http://127.0.0.1:20019/"),
  ]

  @Test("is found and kept when rewritten", arguments: spellings)
  func toApp(_ upstream: String, _ app: String) throws {
    #expect(try Sample.toApp(upstream) == app)
  }

  @Test("is restored in a request", arguments: spellings)
  func back(_ upstream: String, _ app: String) throws {
    #expect(try Sample.toUpstream(app) == upstream)
  }

  @Test("is found wherever a chunk ends", arguments: spellings)
  func cut(_ upstream: String, _ app: String) throws {
    let text = Array(upstream.utf8)
    let fresh = try #require(
      try Sample.map().responseBodyRewriter(contentType: "text/plain", upstream: 0, form: .ownPort))
    for cut in 0...text.count {
      var rewriter = fresh
      var result = rewriter.push(Array(text[..<cut]))
      result += rewriter.push(Array(text[cut...]))
      result += rewriter.finish()
      #expect(String(decoding: result, as: UTF8.self) == app, "cut at \(cut)")
    }
  }

  @Test(
    "is not found in another host's name, a word, or another URL's query",
    arguments: [
      "//dev.api1.com.au/", "//xdev.api1.com/", "x//dev.api1.com/", "http://dev.api1.com/", "https:///dev.api1.com",
      "https%3A%2F%2Fdev.api1.com%3A8080%2F", "https%3A%2F%2Fdev.api1.com.au", "wss://dev.api1.com:8080/",
      "ws://dev.api1.com/", "wss://files.test/", "news://dev.api1.com/", "//files.test/",
      "https:&#x2F;/dev.api1.com", #"https:\u002f/dev.api1.com"#, #"https:\u002e\u002edev"#,
      "https:&#x2F;&#x2F;dev.api1.com&#58;8080/", #"https:\u002f\u002fdev.api1.com\u003a8080"#,
      "?u=//dev.api1.com/", "?u=https%3A%2F%2Fdev.api1.com", "https://login.test/?u=%2F%2Fdev.api1.com",
      "u=https%3A%2F%2Flogin.test%2F%3Fu%3Dhttps%3A%2F%2Fdev.api1.com",
      "u=https%3A%2F%2Flogin.test%2Fhttps%3A%2F%2Fdev.api1.com",
      "https://dev.api1.com@evil.test/", "https://dev.api1.com:443@evil.test/", "https://dev.api1.com:pw@evil.test/",
      "https%3A%2F%2Fdev.api1.com%3Apw%40evil.test", "https://x@y@dev.api1.com/", "https://evil.test/@dev.api1.com/",
      "https://evil.test?@dev.api1.com/", "https%3A%2F%2Fevil.test%2F%40dev.api1.com", "https://@dev.api1.com.au/",
      "https%3A%2F%2Fevil.test%3Fmail%3Da%40dev.api1.com", "https://evil.test,a@dev.api1.com",
      "https://dev.api1.com.:8080/", "https%26%2359%3B//dev.api1.com", "u=%5C%5C%5C%5C%2F%5C%2Fdev.api1.com",
      "https%3A%2F%2F", "&#x2F;&#x2F;", "&", "%", "\\", "//", "w", "ws", "wss:", "&#x2F;&#x2", "&#9999999999;//x",
    ])
  func leavesAlone(_ text: String) throws {
    #expect(try Sample.toApp(text) == text)
  }

  @Test(
    "is found with a trailing dot, which the app's address does not have",
    arguments: [
      ("https://dev.api1.com./x", "http://127.0.0.1:20013/x"),
      ("https://dev.api1.com.:443/", "http://127.0.0.1:20013/"),
      ("https://dev.api1.com.:8443/x", "http://127.0.0.1:20014/x"),
      (#""https:\/\/dev.api1.com.\/x""#, #""http:\/\/127.0.0.1:20013\/x""#),
      ("u=https%3A%2F%2Fdev.api1.com.%2Fx", "u=http%3A%2F%2F127.0.0.1%3A20013%2Fx"),
      ("//user@dev.api1.com./x", "//user@127.0.0.1:20013/x"),
    ])
  func finalDot(_ upstream: String, _ app: String) throws {
    #expect(try Sample.toApp(upstream) == app)
    try cut(upstream, app)
    #expect(try Sample.map().upstream(authority: "Dev.Api1.com.") == 0)
    #expect(try Sample.map().upstream(authority: "dev.api1.com.:8443") == 1)
    #expect(
      try Sample.toUpstream("http://localhost.:20013/x http://127.0.0.1:20013./y")
        == "https://dev.api1.com/x https://dev.api1.com/y")
  }

  @Test(
    "is restored even if the app escapes the colon before its port",
    arguments: [
      (#"{"u":"http\u003a\/\/127.0.0.1\u003a20014\/x"}"#, #"{"u":"https\u003a\/\/dev.api1.com\u003a8443\/x"}"#),
      ("<a href='http&#58;//127.0.0.1&#58;20013/x'>", "<a href='https&#58;//dev.api1.com/x'>"),
      ("<a href='http&colon;//127.0.0.1&colon;20014/x'>", "<a href='https&colon;//dev.api1.com&colon;8443/x'>"),
      ("http://localhost&#x3A;20013/x", "https://dev.api1.com/x"),
      (#"http:\/\/[::1]\u003a20014\/x"#, #"https:\/\/dev.api1.com\u003a8443\/x"#),
      (#"http\u003a//127.0.0.1\u003a1/x"#, #"http\u003a//127.0.0.1\u003a1/x"#),
    ])
  func escapedPort(_ app: String, _ upstream: String) throws {
    #expect(try Sample.toUpstream(app) == upstream)
  }

  @Test("ends with its form item: the next item is no longer part of the URL")
  func formItems() throws {
    #expect(
      try Sample.toApp("a=https%3A%2F%2Flogin.test%2F%3Fx&b=https%3A%2F%2Fdev.api1.com")
        == "a=https%3A%2F%2Flogin.test%2F%3Fx&b=http%3A%2F%2F127.0.0.1%3A20013")
  }

  @Test("may have no scheme in a request, but is not matched in the path of its target")
  func requests() throws {
    let map = try Sample.map()
    #expect(map.requestTarget("//127.0.0.1:20013/x") == "//127.0.0.1:20013/x")
    #expect(map.requestTarget("/?u=//127.0.0.1:20013/x") == "/?u=//dev.api1.com/x")
    #expect(map.requestTarget("/?u=https://127.0.0.1:20013/x") == "/?u=https://127.0.0.1:20013/x")
    #expect(map.requestTarget("/?u=https%3A%2F%2F127.0.0.1%3A20013") == "/?u=https%3A%2F%2F127.0.0.1%3A20013")
    #expect(map.requestTarget("/?u=ws://127.0.0.1:20013/x") == "/?u=wss://dev.api1.com/x")
    #expect(map.requestTarget("/?u=ws://127.0.0.1:20016/x") == "/?u=ws://files.test/x")
    #expect(map.requestTarget("/?u=wss://127.0.0.1:20013/x") == "/?u=wss://127.0.0.1:20013/x")
  }

  @Test("is found in the path and proxy forms for WebSockets and without a scheme")
  func forms() throws {
    #expect(
      try Sample.toApp("wss://dev.api1.com/x '//dev.api1.com/y'", form: .pathSegment)
        == "ws://127.0.0.1:20011/dev.api1.com/x '//127.0.0.1:20011/dev.api1.com/y'")
    #expect(
      try Sample.toUpstream("ws://127.0.0.1:20011/dev.api1.com/x '//127.0.0.1:20011/dev.api1.com/y'")
        == "wss://dev.api1.com/x '//dev.api1.com/y'")
    #expect(
      try Sample.toApp("wss://dev.api1.com/x '//dev.api1.com/y'", form: .absolute)
        == "ws://dev.api1.com/x '//dev.api1.com/y'")
    #expect(try Sample.toUpstream("ws://dev.api1.com/x", form: .absolute) == "wss://dev.api1.com/x")
    #expect(
      try Sample.toApp("https://user:pw@dev.api1.com/x", form: .pathSegment)
        == "http://user:pw@127.0.0.1:20011/dev.api1.com/x")
    #expect(
      try Sample.toUpstream("http://user:pw@127.0.0.1:20011/dev.api1.com/x") == "https://user:pw@dev.api1.com/x")
    #expect(try Sample.toUpstream("http://user:pw@dev.api1.com/x", form: .absolute) == "https://user:pw@dev.api1.com/x")
  }

  @Test(
    "is rewritten in headers",
    arguments: [
      ("Location", "/login?next=x//y", "/login?next=x//y"),
      ("Location", "//dev.api1.com/x", "//127.0.0.1:20013/x"),
      ("Content-Location", "https://dev.api1.com/x", "http://127.0.0.1:20013/x"),
      ("Link", "<//dev.api1.com/x>; rel=preload", "<//127.0.0.1:20013/x>; rel=preload"),
      ("Refresh", "0; url=https://dev.api1.com/x", "0; url=http://127.0.0.1:20013/x"),
      (
        "Content-Security-Policy", "connect-src https://dev.api1.com wss://dev.api1.com",
        "connect-src http://127.0.0.1:20013 ws://127.0.0.1:20013"
      ),
      ("Access-Control-Allow-Origin", "https://api1.com", "http://127.0.0.1:20015"),
      ("X-Config", #"{"u":"https:\/\/dev.api1.com"}"#, #"{"u":"http:\/\/127.0.0.1:20013"}"#),
      ("X-Next", "https%3A%2F%2Fdev.api1.com", "http%3A%2F%2F127.0.0.1%3A20013"),
      ("Set-Cookie", "a=1; SameSite=None; Secure; Partitioned; Path=/", "a=1; Path=/"),
      ("Date", "Mon, 08 Oct 2018 09:00:00 GMT", "Mon, 08 Oct 2018 09:00:00 GMT"),
    ])
  func headers(_ name: String, _ value: String, _ expected: String) throws {
    let result = try Sample.map().responseHeaders(Headers([.init(name, value)]), upstream: 0, form: .ownPort)
    #expect(result.fields == [.init(name, expected)])
  }

  @Test("belongs to the right upstream if names contain each other", arguments: ["https", "http"])
  func names(_ scheme: String) throws {
    let hosts = ["example.com", "api.example.com", "example.com.au", "example.co", "my-example.com"]
    let map = AddressMap(
      upstreams: try hosts.enumerated().map {
        .init(name: $1, origin: try Origin(parsing: "\(scheme)://\($1)"), port: UInt16(1001 + $0))
      }, mainPort: 1000)
    var text = ""
    var expected = ""
    for (index, host) in hosts.enumerated() {
      for delimiter in ["//", #"\/\/"#, "&#x2F;&#x2F;"] {
        text += "\"\(scheme):\(delimiter)\(host)\" "
        expected += "\"http:\(delimiter)127.0.0.1:\(1001 + index)\" "
      }
      text += "\(scheme)%3A%2F%2F\(host)%2Fx "
      expected += "http%3A%2F%2F127.0.0.1%3A\(1001 + index)%2Fx "
    }
    text += "\(scheme)://an.example.com/ \(scheme)://example.company/ \(scheme)://ample.com/"
    expected += "\(scheme)://an.example.com/ \(scheme)://example.company/ \(scheme)://ample.com/"
    var rewriter = try #require(map.responseBodyRewriter(contentType: "text/plain", upstream: 0, form: .ownPort))
    let result = rewriter.push(Array(text.utf8)) + rewriter.finish()
    #expect(String(decoding: result, as: UTF8.self) == expected)
  }
}
