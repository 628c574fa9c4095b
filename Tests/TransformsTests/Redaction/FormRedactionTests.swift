import Basics
@testable import Transforms
import Cassettes
import Testing

@Suite("Redacted forms and queries")
struct FormRedactionTests {
  @Test(
    "lose the values of named items, and matches of patterns in decoded values",
    arguments: [
      ("a=1&token=secret&b=2", "a=1&token=%3Credacted%3E&b=2"),
      ("Token=x&TOKEN=y", "Token=%3Credacted%3E&TOKEN=%3Credacted%3E"),
      ("tok%65n=x", "tok%65n=%3Credacted%3E"), ("token&token=", "token&token="), ("", ""), ("&&", "&&"),
      ("mail=joe%40example.com&x=1", "mail=%3Credacted%3E&x=1"), ("m=to+joe@example.com", "m=to%20%3Credacted%3E"),
      ("token=%3Credacted%3E", "token=%3Credacted%3E"),
    ])
  func items(form: String, expected: String) throws {
    let patterns = try PatternScanner(patterns: ["[a-z]+@example\\.com"])
    let bytes = Array(form.utf8)
    for cut in 0...bytes.count {
      var stream = FormStream(fields: .init(names: ["token"]), patterns: patterns)
      let output = stream.push(Array(bytes[..<cut])) + stream.push(Array(bytes[cut...]), isLast: true)
      #expect(String(decoding: output, as: UTF8.self) == expected, "cut at \(cut)")
    }
  }

  @Test("are streamed even if an item is long")
  func long() {
    let long = String(repeating: "v", count: 300_000)
    var stream = FormStream(fields: .init(names: ["token"]), patterns: .none)
    let output = stream.push(Array("token=\(long)&b=\(long)&c=1".utf8), isLast: true)
    #expect(String(decoding: output, as: UTF8.self) == "token=%3Credacted%3E&b=\(long)&c=1")
  }

  private static let parts =
    "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--B\r\nContent-Disposition: form-data; name=\"PIN\"; "
    + "filename=\"f\"\r\nContent-Type: text/plain\r\n\r\nsec\r\nret--B\r\n--B\r\n"
    + "Content-Disposition: form-data; name=\"b\"\r\n\r\n--\r\n--B--\r\nend"

  @Test("lose what JSON paths match in multipart parts, labelled as JSON or not, wherever chunks end")
  func jsonParts() throws {
    func body(_ secret: String) -> String {
      let parts = [
        "Content-Type: application/json\r\n\r\n{\"ssn\":\"\(secret)\",\"a\":1.0}",
        "content-disposition: form-data; name=\"meta\"\r\n\r\n \n[{\"ssn\": \"\(secret)\"}]",
        "Content-Type: text/csv\r\n\r\n{\"ssn\":1}", "Content-Type: text/plain\r\n\r\nssn {\"ssn\":2}", "\r\n",
        "\r\n  ",
      ]
      return parts.map { "--B\r\n\($0)\r\n" }.joined() + "--B--\r\n"
    }
    let bytes = Array(body("canary").utf8)
    for cut in 0...bytes.count {
      let json = JSONStream(paths: [try JSONPath("$..ssn")], patterns: .none)
      var stream = try #require(
        MultipartStream(contentType: "multipart/mixed; boundary=B", fields: .init(), json: json))
      let output = stream.push(Array(bytes[..<cut])) + stream.push(Array(bytes[cut...]), isLast: true)
      #expect(String(decoding: output, as: UTF8.self) == body("<redacted>"), "cut at \(cut)")
      #expect(!stream.found.isEmpty)
    }
  }

  @Test("lose the contents of named multipart parts, wherever chunks end")
  func multipart() throws {
    let bytes = Array(Self.parts.utf8)
    let expected = Self.parts.replacing("sec\r\nret--B\r\n", with: "<redacted>\r\n")
    for cut in 0...bytes.count {
      var stream = try #require(
        MultipartStream(contentType: "multipart/form-data; boundary=\"B\"", fields: .init(names: ["pin"])))
      let output = stream.push(Array(bytes[..<cut])) + stream.push(Array(bytes[cut...]), isLast: true)
      #expect(String(decoding: output, as: UTF8.self) == expected, "cut at \(cut)")
      #expect(!stream.found.isEmpty)
    }
  }

  @Test("stay unchanged if no item is named, or there is no boundary")
  func others() throws {
    var stream = try #require(
      MultipartStream(contentType: "multipart/form-data; boundary=B", fields: .init(names: ["x"])))
    #expect(stream.push(Array(Self.parts.utf8), isLast: true) == Array(Self.parts.utf8))
    #expect(stream.found.isEmpty)
    #expect(MultipartStream(contentType: "multipart/form-data", fields: .init(names: ["x"])) == nil)
    for text in ["", "--", "--B", "x", "--B\r\n", "--B\r\nContent-Disposition: form-data; name=x"] {
      var stream = try #require(
        MultipartStream(contentType: "multipart/form-data; boundary=B", fields: .init(names: ["x"])))
      #expect(stream.push(Array(text.utf8), isLast: true) == Array(text.utf8))
    }
  }
}
