import Basics
import Testing

@Suite("Base64")
struct Base64Tests {
  @Test(
    "encodes and decodes the Base64 test vectors of RFC 4648, 10",
    arguments: [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
      ("foobar", "Zm9vYmFy"),
    ])
  func base64(_ plain: String, _ coded: String) {
    #expect(Base64.encode(Array(plain.utf8)) == coded)
    #expect(Base64.decode(coded) == Array(plain.utf8))
  }

  @Test("round-trips all bytes through Base64")
  func base64Bytes() {
    let bytes = [UInt8](0...255) + [UInt8](0...255).reversed()
    for count in 500...512 {
      #expect(Base64.decode(Base64.encode(Array(bytes[..<count]))) == Array(bytes[..<count]))
    }
  }

  @Test("rejects invalid Base64", arguments: ["A", "AAAAA", "A*==", "AA=A", "\u{E9}AAA"])
  func notBase64(_ text: String) {
    #expect(Base64.decode(text) == nil)
  }

  @Test(
    "encodes for URLs without padding", arguments: [("\u{3}\u{EF}", "A8Ov"), ("?>", "Pz4"), ("~~\u{7F}?", "fn5_Pw")])
  func urls(_ text: String, _ encoded: String) {
    #expect(Base64.encode(Array(text.utf8), .url) == encoded)
  }
}
