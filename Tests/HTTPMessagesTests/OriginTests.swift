import Basics
import HTTPMessages
import Testing

@Suite("Origins")
struct OriginTests {
  @Test(
    "reads scheme, host and port",
    arguments: [
      ("http://example.com", "http", "example.com", 80, "http://example.com"),
      ("HTTPS://Dev.API1.com/", "https", "dev.api1.com", 443, "https://dev.api1.com"),
      ("https://example.com:443", "https", "example.com", 443, "https://example.com"),
      ("http://example.com:443", "http", "example.com", 443, "http://example.com:443"),
      ("http://[::1]", "http", "[::1]", 80, "http://[::1]"),
      ("http://[2001:DB8::1]:8080/", "http", "[2001:db8::1]", 8080, "http://[2001:db8::1]:8080"),
      ("http://my_host-1:65535", "http", "my_host-1", 65535, "http://my_host-1:65535"),
      ("http://127.0.0.1:08", "http", "127.0.0.1", 8, "http://127.0.0.1:8"),
    ])
  func valid(text: String, scheme: String, host: String, port: Int, description: String) throws {
    let origin = try Origin(parsing: text)
    #expect(origin == Origin(scheme: scheme, host: host, port: port))
    #expect(origin.description == description)
    #expect(try Origin(parsing: description) == origin)
  }

  @Test(
    "rejects anything but a plain origin",
    arguments: [
      "", "example.com", "ftp://example.com", "http:/example.com", "http://", "http:///", "http://:80",
      "http://example.com/a", "http://example.com//", "http://example.com?", "http://example.com#a",
      "http://user@example.com", "http://example.com:", "http://example.com:0", "http://example.com:65536",
      "http://example.com:+80", "http://example.com:8a", "http://::1", "http://[::1", "http://[]", "http://[name]",
      "http://[::1]x", "http://a b", "http://a\r\n", "http://example.com:99999999999999999999",
    ])
  func invalid(text: String) {
    let error = #expect(throws: CodedError.self) { try Origin(parsing: text) }
    #expect(
      error?.problem.hasPrefix("'\(text.escapedForTerminal)' is not an origin: ") == true
        && error?.problem.hasSuffix("as in https://api.example.com") == true)
  }

  @Test("splits an authority into host and port")
  func authority() throws {
    let both = try #require(Origin.split(authority: "API.example.com:8443"))
    #expect(both.host == "api.example.com" && both.port == 8443)
    let host = try #require(Origin.split(authority: "[::1]"))
    #expect(host.host == "[::1]" && host.port == nil)
    #expect(Origin.split(authority: "a:b:1") == nil)
  }
}
