import Basics
@testable import Transforms
import Foundation
import HTTPMessages
import Testing

@testable import Cassettes

@Suite("JSON Web Tokens")
struct TokenShiftTests {
  static func encode(_ text: String) -> String {
    Data(text.utf8).base64EncodedString().replacing("=", with: "").replacing("+", with: "-").replacing("/", with: "_")
  }

  static func token(_ claims: String, header: String = #"{"alg":"HS256","kid":"k"}"#, signature: String = "AAAA")
    -> String
  {
    "\(encode(header)).\(encode(claims)).\(signature)"
  }

  /// Signs with the length of the input and a counter, so that no two signatures are equal.
  static func shifter(knows algorithm: String = "HS256") -> DateShifter {
    let count = Guarded(0)
    return DateShifter(
      eightYears,
      signer: TokenSigner { sought, _, message in
        guard sought == algorithm else { return nil }
        let number = count.withLock { count in
          count += 1
          return count
        }
        return Array("\(message.count)-\(number)".utf8)
      })
  }

  static let claims = #"{"sub":"ann", "iat":1538989200,"exp": 1538992800.5,"nbf":1538989200,"n":{"exp":1538989200}}"#
  static let movedClaims =
    #"{"sub":"ann", "iat":1795375800,"exp": 1795379400.5,"nbf":1795375800,"n":{"exp":1538989200}}"#

  @Test("have their times moved and everything else unchanged, in any place and wherever chunks end")
  func moved() {
    let token = Self.token(Self.claims)
    let shifter = Self.shifter()
    let text = #"{"access_token": "\#(token)", "again": "\#(token)."}"#
    let bytes = Array(text.utf8)
    var body = shifter.body(.json)
    var output: [UInt8] = []
    for byte in bytes { output += body.push([byte]) }
    output += body.finish()
    let message = "\(Self.encode(#"{"alg":"HS256","kid":"k"}"#)).\(Self.encode(Self.movedClaims))"
    let moved = "\(message).\(Self.encode("\(message.utf8.count)-1"))"
    #expect(String(decoding: output, as: UTF8.self) == #"{"access_token": "\#(moved)", "again": "\#(moved)."}"#)
    #expect(!body.keepsLength)
    #expect(shifter.headers(["Set-Cookie": "t=\(token); Path=/"])["Set-Cookie"] == "t=\(moved); Path=/")
    // The recorded token is restored, although no two signatures are equal.
    #expect(shifter.reversed.headers(["Authorization": "Bearer \(moved)"])["Authorization"] == "Bearer \(token)")
    #expect(shifter.reversed.target("/a?t=\(moved)") == "/a?t=\(token)")
  }

  @Test("stay unchanged without a key or times, and if they are invalid")
  func stay() {
    let shifter = Self.shifter()
    for text in [
      Self.token(Self.claims, header: #"{"alg":"RS256"}"#), Self.token(#"{"sub":"ann"}"#), Self.token("[1538989200]"),
      Self.token(Self.claims) + ".a.b", "eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjE1Mzg5OTI4MDB9.", "eyJ", "eyJ..", "eyJhb.eyJ.",
      "x" + Self.token(Self.claims), String(repeating: "eyJ", count: 20_000) + ".a.a",
    ] {
      #expect(String(decoding: shifter.body(Array(text.utf8), .text), as: UTF8.self) == text)
    }
    let token = Self.token(Self.claims)
    #expect(DateShifter(eightYears).headers(["Authorization": token])["Authorization"] == token)
  }
}
