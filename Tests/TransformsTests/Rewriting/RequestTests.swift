@testable import Transforms
import HTTPMessages
import Testing

@Suite("Requests on the way to the upstream")
struct RequestRewritingTests {
  @Test(
    "replace an endpoint's address in the target with the upstream's, in the same encoding",
    arguments: [
      ("/cb?u=http://127.0.0.1:20013/x", "/cb?u=https://dev.api1.com/x"),
      ("/cb?u=http%3A%2F%2F127.0.0.1%3A20013%2Fx&b=1", "/cb?u=https%3A%2F%2Fdev.api1.com%2Fx&b=1"),
      ("/cb?u=http%3a%2f%2f127.0.0.1%3a20014%2fx", "/cb?u=https%3a%2f%2fdev.api1.com%3a8443%2fx"),
      ("/cb?u=http:%2F%2Flocalhost:20014", "/cb?u=https:%2F%2Fdev.api1.com:8443"),
      ("/cb?u=http%253A%252F%252F127.0.0.1%253A20014%252Fx", "/cb?u=https%253A%252F%252Fdev.api1.com%253A8443%252Fx"),
      ("/cb?u=HTTP://LOCALHOST:20016", "/cb?u=http://files.test"),
      ("/cb?u=http://[::1]:20016/", "/cb?u=http://files.test/"),
      ("/cb?u=http%3A%2F%2F%5B%3A%3A1%5D%3A20016%2F", "/cb?u=http%3A%2F%2Ffiles.test%2F"),
      ("/cb?u=http://127.0.0.1:20019/", "/cb?u=http://[::1]:9000/"),
      ("/cb?u=http%3A%2F%2F127.0.0.1%3A20019%2F", "/cb?u=http%3A%2F%2F%5B%3A%3A1%5D%3A9000%2F"),
      ("/cb?u=http://127.0.0.1:20011/dev.api1.com/x", "/cb?u=https://dev.api1.com/x"),
      ("/cb?u=http://127.0.0.1:20011/dev.api1.com", "/cb?u=https://dev.api1.com"),
      ("/cb?u=http://127.0.0.1:20011/dev.api1.com:8443/x", "/cb?u=https://dev.api1.com:8443/x"),
      (
        "/cb?u=http%3A%2F%2F127.0.0.1%3A20011%2Fdev.api1.com%3A8443%2Fx",
        "/cb?u=https%3A%2F%2Fdev.api1.com%3A8443%2Fx"
      ),
      ("/cb?u=http://127.0.0.1:20011/both.test/", "/cb?u=http://both.test/"),
      ("/cb?u=http://127.0.0.1:20011/both.test:443/", "/cb?u=https://both.test/"),
      ("/http://127.0.0.1:20013/http://127.0.0.1:20015/", "/https://dev.api1.com/https://api1.com/"),
      (
        #"/?q=%7B%22u%22:%22http:%5C/%5C/127.0.0.1:20013%5C/x%22%7D"#,
        #"/?q=%7B%22u%22:%22https:%5C/%5C/dev.api1.com%5C/x%22%7D"#
      ),
    ])
  func target(_ target: String, _ expected: String) throws {
    #expect(try Sample.map().requestTarget(target) == expected)
  }

  @Test(
    "keep other addresses",
    arguments: [
      "/", "/x?u=http://127.0.0.1:20012/", "/x?u=http://127.0.0.1:200130/", "/x?u=http://127.0.0.1:2001/",
      "/x?u=https://127.0.0.1:20013/", "/x?u=http://127.0.0.1.test:20013/", "/x?u=http://10.127.0.0.1:20013/",
      "/x?u=http://127.0.0.1:20011/", "/x?u=http://127.0.0.1:20011", "/x?u=http://127.0.0.1:20011/other.test/",
      "/x?u=http://127.0.0.1:20011/dev.api1.com.au/", "/x?u=http://127.0.0.1:20013@evil.test/",
      "/x?u=127.0.0.1:20013", "/x?u=http%3A", "/x?http%3A%2F%2F127.0.0.1%3A2001", "/x?u=http://dev.api1.com/",
    ])
  func targetStays(_ target: String) throws {
    #expect(try Sample.map().requestTarget(target) == target)
  }

  @Test("in absolute form may use http for an upstream that is https only")
  func absoluteTarget() throws {
    let map = try Sample.map()
    #expect(map.requestTarget("/?u=http://dev.api1.com/x", form: .absolute) == "/?u=https://dev.api1.com/x")
    #expect(
      map.requestTarget("/?u=http%3A%2F%2Fdev.api1.com%3A8443", form: .absolute)
        == "/?u=https%3A%2F%2Fdev.api1.com%3A8443")
    #expect(map.requestTarget("/?u=http://files.test/", form: .absolute) == "/?u=http://files.test/")
    #expect(map.requestTarget("/?u=http://both.test/", form: .absolute) == "/?u=http://both.test/")
    #expect(map.requestTarget("/?u=http://both.test:443/", form: .absolute) == "/?u=https://both.test/")
    #expect(map.requestTarget("/?u=http://127.0.0.1:20013/", form: .absolute) == "/?u=https://dev.api1.com/")
  }

  @Test("have the upstream's Host, and no endpoints in Referer and other fields")
  func headers() throws {
    let map = try Sample.map()
    let headers = Headers([
      .init("host", "127.0.0.1:20014"), .init("Referer", "http://127.0.0.1:20014/a"),
      .init("Origin", "http://127.0.0.1:20013"), .init("Accept", "*/*"), .init("X-U", "a=http://localhost:20016/;b"),
      .init("Cookie", "next=http%3A%2F%2F127.0.0.1%3A20013%2F"),
    ])
    let expected = Headers([
      .init("host", "dev.api1.com:8443"), .init("Referer", "https://dev.api1.com:8443/a"),
      .init("Origin", "https://dev.api1.com"), .init("Accept", "*/*"), .init("X-U", "a=http://files.test/;b"),
      .init("Cookie", "next=https%3A%2F%2Fdev.api1.com%2F"),
    ])
    #expect(map.requestHeaders(headers, upstream: 1, form: .ownPort) == expected)
  }

  @Test("replace the main port's origin with the current upstream's if the path names it")
  func mainOrigin() throws {
    let map = try Sample.map()
    for host in ["127.0.0.1", "localhost", "[::1]"] {
      let headers: Headers = ["Host": "\(host):20011", "Origin": "http://\(host):20011"]
      let result = map.requestHeaders(headers, upstream: 1, form: .pathSegment)
      #expect(result["Origin"] == "https://dev.api1.com:8443")
      #expect(map.requestHeaders(headers, upstream: 1, form: .ownPort)["Origin"] == "http://\(host):20011")
    }
    let referer: Headers = ["Host": "h", "Referer": "http://127.0.0.1:20011/dev.api1.com/p"]
    #expect(map.requestHeaders(referer, upstream: 0, form: .pathSegment)["Referer"] == "https://dev.api1.com/p")
  }

  @Test("have unchanged headers if there is no endpoint in them, except for Host")
  func headersStay() throws {
    let headers: Headers = ["Host": "dev.api1.com", "User-Agent": "x/1:20013", "Origin": "null"]
    #expect(try Sample.map().requestHeaders(headers, upstream: 0, form: .ownPort) == headers)
  }

  @Test(
    "have rewritten bodies if they are JSON, forms, text, multipart forms or untyped",
    arguments: [
      (#"{"u":"http://127.0.0.1:20013/x"}"#, #"{"u":"https://dev.api1.com/x"}"#, "application/json"),
      (#"{"u":"http:\/\/127.0.0.1:20014\/x"}"#, #"{"u":"https:\/\/dev.api1.com:8443\/x"}"#, "application/json"),
      (
        #"{"u":"http:\/\/127.0.0.1:20011\/dev.api1.com\/x"}"#, #"{"u":"https:\/\/dev.api1.com\/x"}"#, "application/json"
      ),
      ("u=http%3A%2F%2F127.0.0.1%3A20013", "u=https%3A%2F%2Fdev.api1.com", "application/x-www-form-urlencoded"),
      (
        "--b\r\n\r\nhttp://127.0.0.1:20013\r\n", "--b\r\n\r\nhttps://dev.api1.com\r\n",
        "multipart/form-data; boundary=b"
      ),
      ("http://localhost:20013", "https://dev.api1.com", nil),
    ] as [(String, String, String?)])
  func body(_ body: String, _ expected: String, _ type: String?) throws {
    #expect(try Sample.toUpstream(body, type: type) == expected)
  }

  @Test("have nil for an unchanged or binary body")
  func bodyStays() throws {
    let map = try Sample.map()
    #expect(map.requestBody([], contentType: nil) == nil)
    #expect(map.requestBody(Array("http://127.0.0.1:9999".utf8), contentType: nil) == nil)
    #expect(map.requestBody(Array("http://127.0.0.1:20013".utf8), contentType: "application/x-protobuf") == nil)
  }

  @Test("are checked fast for every spelling of our ports, and no other port")
  func fastCheck() throws {
    let map = try Sample.map()
    func check(_ text: String, form: AddressMap.Form = .ownPort) -> Bool {
      Array(text.utf8).withUnsafeBytes { map.mayContainEndpoint($0, form: form) }
    }
    for found in [
      "http://127.0.0.1:20013", "http://LOCALHOST:20011/x", "http%3A%2F%2F127.0.0.1%3A20013",
      "http%253a%252f%252flocalhost%253a20014", #"http\u003a\/\/127.0.0.1\u003a20013"#, "http://127.0.0.1&#58;20013",
      "http%3A%26%2347%3B%26%2347%3B127.0.0.1%26%2358%3B20013", "http://localhost.:20013",
      "http://[::1]:20013", "http%3A%2F%2F%5B%3A%3A1%5D%3A20016",
    ] {
      #expect(check(found), "\(found)")
    }
    for other in ["", "20013", "a:1", #"{"a":20013}"#, "http://127.0.0.1:200130", "http://127.0.0.1:2001", "3A20013"] {
      #expect(!check(other), "\(other)")
    }
    #expect(check("http://dev.api1.com", form: .absolute))
  }

  @Test("find the upstream of an authority in any case, with or without the default port")
  func authorities() throws {
    let map = try Sample.map()
    #expect(map.upstream(authority: "dev.api1.com") == 0)
    #expect(map.upstream(authority: "Dev.Api1.com:443") == 0)
    #expect(map.upstream(authority: "dev.api1.com:8443") == 1)
    #expect(map.upstream(authority: "both.test") == 4)
    #expect(map.upstream(authority: "both.test:80") == 4)
    #expect(map.upstream(authority: "both.test:443") == 5)
    #expect(map.upstream(authority: "both.test", scheme: "https") == 5)
    #expect(map.upstream(authority: "both.test", scheme: "http") == 4)
    // An app that uses a proxy says http where the backend has https.
    #expect(map.upstream(authority: "dev.api1.com", scheme: "http") == 0)
    #expect(map.upstream(authority: map.upstreams[1].name.uppercased()) == 1)
    #expect(map.upstream(authority: "dev.api1.com:80") == nil)
    #expect(map.upstream(authority: "other.test") == nil)
  }
}
