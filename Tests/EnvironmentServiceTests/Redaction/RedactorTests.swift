import Foundation
import Testing

@testable import EnvironmentService

@Suite("Known secrets in texts that are kept")
struct RedactorTests {
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

  @Test("are found in every form in which they are written")
  func forms() {
    let redactor = Redactor([Array(Self.secret.utf8)])
    for form in Self.forms {
      #expect(redactor.redact("https://a.test/?x=\(form)&y=\(form)!") == "https://a.test/?x=<secret>&y=<secret>!")
    }
  }

  @Test("are found in base64 in the middle of something else, such as a name and a password", arguments: 0..<6)
  func basic(before: Int) {
    let redactor = Redactor([Array("correct horse".utf8)])
    let name = String(repeating: "n", count: before)
    let text = Data("\(name):correct horse:more".utf8).base64EncodedString()
    #expect(redactor.redact("Basic \(text)").contains("<secret>"))
    #expect(!redactor.redact("Basic \(text)").contains(text.dropFirst(before + 4).prefix(12)))
  }

  @Test("leave everything else as it is")
  func others() {
    let redactor = Redactor([Array("s3cret-token".utf8), Array("ab".utf8), [], [0xFF, 0xFE, 0x00, 0x80]])
    for text in [
      "", "s3cret", "s3cret-toke", "%", "%7", "%%%", "ab", "\\", "\\u00", "naïve 🙂",

    ] {
      #expect(redactor.redact(text) == text)
    }
    #expect(redactor.redact("s3cret-tokens3cret-token") == "<secret><secret>")
    #expect(redactor.redact("%FF%fe%00%80") == "<secret>")
    #expect(redactor.redact("//4AgA==") == "<secret>")
  }

  @Test("that begin alike are told apart by the longest")
  func longest() {
    let redactor = Redactor([Array("token".utf8), Array("token-of-another".utf8)])
    #expect(redactor.redact("token-of-another token") == "<secret> <secret>")
  }
}
