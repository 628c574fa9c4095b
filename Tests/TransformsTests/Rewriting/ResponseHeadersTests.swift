@testable import Transforms
import HTTPMessages
import Testing

@Suite("Response headers on the way to the app")
struct ResponseHeadersTests {
  private func rewrite(
    _ name: String, _ value: String, form: AddressMap.Form = .ownPort, upstream: Int = 0
  ) throws -> String {
    let result = try Sample.map().responseHeaders(Headers([.init(name, value)]), upstream: upstream, form: form)
    return result.fields.map(\.value).joined()
  }

  @Test(
    "refer to endpoints instead of upstreams",
    arguments: [
      ("Location", "https://dev.api1.com/x?u=https://api1.com/", "http://127.0.0.1:20013/x?u=https://api1.com/"),
      ("location", "/x", "/x"), ("Location", "x/y", "x/y"), ("Location", "//dev.api1.com/x", "//127.0.0.1:20013/x"),
      ("Location", "//other.test/x", "//other.test/x"), ("Location", "https://other.test/", "https://other.test/"),
      ("Content-Location", "https://dev.api1.com:8443/x", "http://127.0.0.1:20014/x"),
      (
        "Link", #"<https://dev.api1.com/?p=2>; rel="next", <https://other.test/>; rel=x, </y>"#,
        #"<http://127.0.0.1:20013/?p=2>; rel="next", <https://other.test/>; rel=x, </y>"#
      ),
      ("Refresh", "5; url=https://dev.api1.com/x", "5; url=http://127.0.0.1:20013/x"),
      ("Access-Control-Allow-Origin", "https://dev.api1.com", "http://127.0.0.1:20013"),
      ("Access-Control-Allow-Origin", "*", "*"), ("X-Other", "see https://api1.com/", "see http://127.0.0.1:20015/"),
      ("ETag", "\"https\"", "\"https\""),
    ])
  func ownPort(_ name: String, _ value: String, _ expected: String) throws {
    #expect(try rewrite(name, value) == expected)
  }

  @Test(
    "in the path form have root-relative targets with the path segment",
    arguments: [
      ("Location", "/x?y=/z", "/dev.api1.com/x?y=/z"), ("Location", "/", "/dev.api1.com/"),
      ("Location", "x", "x"), ("Location", "?x", "?x"), ("Location", "", ""),
      ("Location", "https://dev.api1.com/x", "http://127.0.0.1:20011/dev.api1.com/x"),
      ("Location", "//dev.api1.com/x", "//127.0.0.1:20011/dev.api1.com/x"), ("Location", "//o.test/", "//o.test/"),
      ("Content-Location", "/x", "/dev.api1.com/x"),
      (
        "Link", #"</x>; rel="a </y>", <//o.test/>, <z>, </>"#,
        #"</dev.api1.com/x>; rel="a </y>", <//o.test/>, <z>, </dev.api1.com/>"#
      ),
      ("Refresh", "0;URL='/x'", "0;URL='/dev.api1.com/x'"), ("Refresh", "3; url = /x", "3; url = /dev.api1.com/x"),
      ("Refresh", "3; url=x?url=/y", "3; url=x?url=/y"), ("Refresh", "5", "5"),
      ("Access-Control-Allow-Origin", "https://dev.api1.com", "http://127.0.0.1:20011"),
    ])
  func pathSegment(_ name: String, _ value: String, _ expected: String) throws {
    #expect(try rewrite(name, value, form: .pathSegment) == expected)
  }

  @Test("with the upstream's own URL are unchanged, except for former origins")
  func ownURL() throws {
    for (name, value) in [
      ("Location", "https://dev.api1.com/x"), ("Location", "//dev.api1.com/x"), ("Location", "/x"),
      ("Set-Cookie", "a=1; Domain=dev.api1.com; Secure; SameSite=None"),
    ] {
      #expect(try rewrite(name, value, form: .ownURL) == value)
    }
    let map = AddressMap(
      upstreams: [
        .init(
          name: "api", origin: try Origin(parsing: "https://dev.api1.com"), port: 20013,
          formerOrigins: [try Origin(parsing: "http://old.test"), try Origin(parsing: "https://old.test")])
      ], mainPort: 20011)
    func translated(_ value: String) -> String? {
      map.responseHeaders(["Location": value], upstream: 0, form: .ownURL)["Location"]
    }
    #expect(translated("http://old.test/x") == "https://dev.api1.com/x")
    #expect(translated("wss://old.test/x") == "wss://dev.api1.com/x")
    #expect(translated(#"ws:\/\/old.test\/x"#) == #"wss:\/\/dev.api1.com\/x"#)
    #expect(translated("http%3A%2F%2Fold.test%2F") == "https%3A%2F%2Fdev.api1.com%2F")
    #expect(translated("//old.test/x") == "//dev.api1.com/x")
  }

  @Test("in absolute form have only their schemes changed")
  func absolute() throws {
    #expect(try rewrite("Location", "https://dev.api1.com/x", form: .absolute) == "http://dev.api1.com/x")
    #expect(try rewrite("Location", "/x", form: .absolute) == "/x")
    #expect(try rewrite("Location", "http://files.test/x", form: .absolute) == "http://files.test/x")
  }

  @Test(
    "have cookies for the endpoint's host",
    arguments: [
      ("a=1", "a=1"), ("a=1; Path=/", "a=1; Path=/"), ("a=b; Domain=dev.api1.com; Path=/x", "a=b; Path=/x"),
      ("a=b; domain=.API1.com; HttpOnly", "a=b; HttpOnly"), ("a=b;Domain=other.test", "a=b;Domain=other.test"),
      ("a=b; Domain=pi1.com", "a=b; Domain=pi1.com"), ("a=b; Secure; SameSite=None", "a=b"),
      ("a=b; secure;samesite=Lax", "a=b;samesite=Lax"), ("Domain=dev.api1.com; Path=/", "Domain=dev.api1.com; Path=/"),
      ("a=https://dev.api1.com/", "a=https://dev.api1.com/"), ("__Secure-a=1; Secure", "__Secure-a=1; Secure"),
      ("a=b; Expires=Wed, 21 Oct 2026 07:28:00 GMT;;", "a=b; Expires=Wed, 21 Oct 2026 07:28:00 GMT;;"), ("", ""),
    ])
  func cookies(_ value: String, _ expected: String) throws {
    #expect(try rewrite("Set-Cookie", value) == expected)
  }

  @Test(
    "in the path form have cookie paths with the path segment",
    arguments: [
      ("a=1; Path=/x", "a=1; Path=/dev.api1.com/x"), ("a=1; path= /", "a=1; path= /dev.api1.com/"),
      ("a=1; Path=", "a=1; Path="), ("a=1", "a=1"), ("__Host-a=1; Path=/; Secure", "__Host-a=1; Path=/; Secure"),
    ])
  func cookiePaths(_ value: String, _ expected: String) throws {
    #expect(try rewrite("Set-Cookie", value, form: .pathSegment) == expected)
  }

  @Test("keep Secure for an http upstream, and Domain in absolute form, where the host is the upstream's")
  func cookieExceptions() throws {
    #expect(try rewrite("Set-Cookie", "a=1; Secure; SameSite=None", upstream: 3) == "a=1; Secure; SameSite=None")
    #expect(
      try rewrite("Set-Cookie", "a=1; Domain=api1.com; Secure", form: .absolute) == "a=1; Domain=api1.com")
  }

  @Test("keep the order, repetition and case of all fields, and are unchanged without an address")
  func order() throws {
    let headers = Headers([
      .init("SET-cookie", "a=1; Path=/"), .init("Date", "x"), .init("Set-Cookie", "b=2"), .init("date", "y"),
      .init("Content-Type", "text/html"), .init("Location", "/x"),
    ])
    #expect(try Sample.map().responseHeaders(headers, upstream: 0, form: .ownPort) == headers)
  }
}
