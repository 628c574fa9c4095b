@testable import Transforms
import HTTPMessages
import Testing

@Suite("An app's Forwarded headers")
struct ForwardedTests {
  private static func translated(
    _ fields: [(String, String)], upstream: Int = 0, form: AddressMap.Form = .ownPort
  ) throws -> [String] {
    let headers = Headers(fields.map { .init($0.0, $0.1) })
    return try Sample.map().requestHeaders(headers, upstream: upstream, form: form).fields
      .filter { $0.name != "Host" }.map(\.value)
  }

  @Test(
    "get the upstream's address instead of an endpoint's",
    arguments: [
      (
        [("X-Forwarded-Host", "127.0.0.1:20013"), ("X-Forwarded-Port", "20013"), ("X-Forwarded-Proto", "http")],
        ["dev.api1.com", "443", "https"]
      ),
      ([("x-forwarded-host", "LocalHost:20014"), ("x-forwarded-proto", "HTTP")], ["dev.api1.com:8443", "https"]),
      ([("X-Forwarded-Host", "localhost"), ("X-Forwarded-Port", "20014")], ["dev.api1.com:8443", "8443"]),
      ([("X-Forwarded-Port", "20016"), ("X-Forwarded-Proto", "http")], ["80", "http"]),
      ([("X-Forwarded-Host", "shop.test, 127.0.0.1:20013")], ["shop.test, dev.api1.com"]),
      (
        [("Forwarded", #"for=127.0.0.1;host="127.0.0.1:20014";proto=http"#)],
        [#"for=127.0.0.1;host="dev.api1.com:8443";proto=https"#]
      ),
      (
        [("Forwarded", #"host=shop.test;proto=http, Proto=http; Host="127.0.0.1:20013""#)],
        [#"host=shop.test;proto=http, Proto=https; Host="dev.api1.com""#]
      ),
    ])
  func endpoint(_ sent: [(String, String)], _ expected: [String]) throws {
    #expect(try Self.translated(sent) == expected)
  }

  @Test("get the upstream in the path on the main port, and the upstream with that host from a proxy's client")
  func forms() throws {
    let sent = [("X-Forwarded-Host", "127.0.0.1:20011"), ("X-Forwarded-Port", "20011"), ("X-Forwarded-Proto", "http")]
    #expect(try Self.translated(sent, upstream: 1, form: .pathSegment) == ["dev.api1.com:8443", "8443", "https"])
    let proxied = [("X-Forwarded-Host", "dev.api1.com"), ("X-Forwarded-Port", "80"), ("X-Forwarded-Proto", "http")]
    #expect(try Self.translated(proxied, form: .absolute) == ["dev.api1.com", "443", "https"])
    #expect(try Self.translated(proxied) == proxied.map(\.1))
  }

  @Test("are unchanged with any other address")
  func others() throws {
    let sent = [
      ("X-Forwarded-Host", "shop.test"), ("X-Forwarded-Port", "80"), ("X-Forwarded-Proto", "http"),
      ("X-Forwarded-For", "127.0.0.1"), ("Forwarded", "for=127.0.0.1;host=shop.test;proto=http, for=\"[::1]:20013\""),
      ("X-Forwarded-Host", "127.0.0.1"), ("X-Forwarded-Host", "127.0.0.1:20012"), ("X-Forwarded-Port", "99999"),
    ]
    #expect(try Self.translated(sent) == sent.map(\.1))
  }
}
