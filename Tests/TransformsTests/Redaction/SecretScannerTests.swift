@testable import Transforms
import Foundation
import Testing

@Suite("Known secrets")
struct SecretScannerTests {
  private static let secret = "pä s\"/w$rd+1%2"

  private static var forms: [String] {
    let unreserved = CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")
    let encoded = secret.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    let query = secret.addingPercentEncoding(withAllowedCharacters: .urlQueryAllowed) ?? ""
    let base64 = Data(secret.utf8).base64EncodedString()
    return [
      secret, encoded, query, encoded.lowercased(), encoded.replacingOccurrences(of: "%20", with: "+"),
      #"pä s\"/w$rd+1%2"#, #"pä s\"\/w$rd+1%2"#, #"p\u00e4 s\u0022/w$rd+1%2"#, #"p\u00E4\u0020s\"\/w$rd+1%2"#,
      base64, base64.replacingOccurrences(of: "=", with: "%3D").replacingOccurrences(of: "+", with: "%2B"),
      base64.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_"),
    ]
  }

  @Test("are found in every encoding")
  func forms() {
    let redactor = SecretScanner([(Array(Self.secret.utf8), .plain)])
    for form in Self.forms {
      #expect(redactor.redact("https://a.test/?x=\(form)&y=\(form)!") == "https://a.test/?x=<redacted>&y=<redacted>!")
    }
  }

  @Test("are found within a base64 text, such as a name and a password", arguments: 0..<6)
  func basic(before: Int) {
    let redactor = SecretScanner([(Array("correct horse".utf8), .plain)])
    let name = String(repeating: "n", count: before)
    let text = Data("\(name):correct horse:more".utf8).base64EncodedString()
    #expect(redactor.redact("Basic \(text)").contains("<redacted>"))
    #expect(!redactor.redact("Basic \(text)").contains(text.dropFirst(before + 4).prefix(12)))
  }

  @Test("are found if the encoding is encoded again, and between entities")
  func nested() {
    let redactor = SecretScanner([(Array("a/b\"c&d".utf8), .plain)])
    for form in [
      "a%252Fb%2522c%2526d", #"a\\u002fb\\\"c\\u0026d"#, "a/b&quot;c&amp;d", "a/b&#34;c&amp;d", "a&#x2F;b&#x22;c&#38;d",
      "a&#47;b&#034;c&#x26;d",
    ] {
      #expect(redactor.redact("x\(form)y") == "x<redacted>y", "\(form)")
    }
  }

  @Test("are found however often they are percent-encoded, including the percent signs")
  func manifold() {
    let secret = #"a/%"ü <"#
    let scanner = SecretScanner([(Array(secret.utf8), .plain)])
    var form = secret
    for _ in 0...3 {
      form = FormItem.encode(form)
      #expect(scanner.redact("x=\(form)&y") == "x=<redacted>&y", "\(form)")
    }
  }

  @Test("are replaced once: marks stay unchanged, even if a secret occurs in them")
  func marks() {
    let redactor = SecretScanner([
      (Array("redacted".utf8), RedactionMark("clinic/redacted")), (Array("clinic".utf8), .plain),
    ])
    let once = redactor.redact("redacted clinic")
    #expect(once == "<redacted:clinic/redacted> <redacted>")
    #expect(redactor.redact(once) == once)
    for spelling in [RedactionMark.Spelling.percent, .markup] {
      let once = redactor.redact("redacted", spelling)
      #expect(redactor.redact(once, spelling) == once)
    }
  }

  @Test(
    "are found wherever a stream is cut",
    arguments: ["correct horse", "Y29ycmVjdCBob3JzZQ==", #"\u0063orrect\u0020horse"#])
  func cut(form: String) {
    let scanner = SecretScanner([(Array("correct horse".utf8), .plain)])
    let text = Array("before \(form) and \(form) after".utf8)
    for cut in 0...text.count {
      var stream = SecretStream(scanner, .plain)
      var output = stream.push(Array(text[..<cut])) + stream.push(Array(text[cut...]))
      output += stream.push([], isLast: true)
      #expect(String(decoding: output, as: UTF8.self) == "before <redacted> and <redacted> after", "cut at \(cut)")
    }
    var single = SecretStream(scanner, .plain)
    var output: [UInt8] = []
    for byte in text { output += single.push([byte]) }
    output += single.push([], isLast: true)
    #expect(String(decoding: output, as: UTF8.self) == "before <redacted> and <redacted> after")
    #expect(single.hasFound)
  }

  @Test("are the only thing that changes")
  func others() {
    let redactor = SecretScanner(
      [Array("s3cret-token".utf8), Array("ab".utf8), [], [0xFF, 0xFE, 0x00, 0x80]].map { ($0, .plain) })
    for text in [
      "", "s3cret", "s3cret-toke", "%", "%7", "%%%", "ab", "\\", "\\u00", "naïve 🙂",

    ] {
      #expect(redactor.redact(text) == text)
    }
    #expect(redactor.redact("s3cret-tokens3cret-token") == "<redacted><redacted>")
    #expect(redactor.redact("%FF%fe%00%80") == "<redacted>")
    #expect(redactor.redact("//4AgA==") == "<redacted>")
  }

  @Test("with a common beginning are matched by the longest")
  func longest() {
    let redactor = SecretScanner([
      (Array("token".utf8), .plain), (Array("token-of-another".utf8), RedactionMark("b/c d")),
    ])
    #expect(redactor.redact("token-of-another token") == "<redacted:b/c_d> <redacted>")
  }
}
