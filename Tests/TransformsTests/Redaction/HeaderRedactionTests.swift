@testable import Transforms
import HTTPMessages
import Testing

@Suite("Redacted header fields")
struct HeaderRedactionTests {
  private static func redact(_ name: String, _ value: String, _ rules: CompiledRules = .none) -> String? {
    Redactor([], token: "0123456789abcdef", rules: rules).redact(Headers([.init(name, value)]))[name]
  }

  @Test(
    "lose secrets and keep the rest",
    arguments: [
      ("Authorization", "Bearer abc.def", "Bearer <redacted>"), ("authorization", "Basic dTpw", "Basic <redacted>"),
      ("Authorization", "abc", "<redacted>"),
      ("Authorization", #"Digest username="u", response="r""#, "Digest <redacted>"),
      ("Cookie", "a=1; b=two; c=", "a=<redacted>; b=<redacted>; c="), ("Cookie", "bare", "<redacted>"),
      ("Set-Cookie", "sid=abc==; Path=/; HttpOnly; Secure", "sid=<redacted>; Path=/; HttpOnly; Secure"),
      ("Set-Cookie", "sid=; Max-Age=0", "sid=; Max-Age=0"), ("X-API-KEY", "k", "<redacted>"),
      ("X-Amz-Security-Token", "t", "<redacted>"),
      ("Accept", "text/html", "text/html"), ("Authorization", "", ""), ("Accept", "0123456789abcdef", "<redacted>"),
      ("Location", "/a?t=0123456789abcdef", "/a?t=%3Credacted%3E"),
    ])
  func defaults(name: String, value: String, expected: String) {
    #expect(Self.redact(name, value) == expected)
    #expect(Self.redact(name, expected) == expected)
  }

  @Test("include those of the user's rules, except fields to keep")
  func rules() {
    var rules = CompiledRules.none
    rules.headers = ["x-session"]
    rules.keptHeaders = ["cookie"]
    #expect(Self.redact("X-Session", "Bearer abc", rules) == "<redacted>")
    #expect(Self.redact("Cookie", "a=1; b=0123456789abcdef", rules) == "a=1; b=<redacted>")
    #expect(Self.redact("Authorization", "Bearer abc", rules) == "Bearer <redacted>")
  }

  @Test("with a body's length or digest are updated if the body has changed")
  func framing() {
    let redactor = Redactor([], token: "0123456789abcdef")
    let headers: Headers = ["Content-Length": "5", "Content-MD5": "x", "ETag": "y"]
    #expect(redactor.redact(headers, ofChanged: true, length: 9) == ["Content-Length": "9", "ETag": "y"])
    #expect(redactor.redact(headers, ofChanged: false, length: 9) == headers)
    let coded: Headers = ["Content-Length": "5", "Content-Encoding": "gzip"]
    #expect(redactor.redact(coded, ofChanged: true, length: 9) == coded)
  }
}
