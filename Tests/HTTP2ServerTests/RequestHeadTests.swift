import CNGHTTP2
import HTTPMessages
import HTTPServer
import Testing

@testable import HTTPServer

@Suite("HTTP/2 heads")
struct HeadTests {
  private static let pseudo = [":method": "GET", ":scheme": "https", ":authority": "a.example", ":path": "/x"]

  private func head(_ fields: [(String, String)], without missing: String = "", limit: Int = 1000) -> RequestHead {
    var head = RequestHead(limit: limit)
    let first = Self.pseudo.filter { $0.key != missing }.map { ($0.key, $0.value) }
    for (name, value) in first + fields {
      Array(name.utf8).withUnsafeBytes { name in Array(value.utf8).withUnsafeBytes { head.add(name, $0) } }
    }
    return head
  }

  @Test("makes Host of :authority and keeps the order of the other fields")
  func fields() {
    let head = head([("b", "1"), ("a", "2"), ("b", "3")])
    #expect(head.method == "GET" && head.target == "/x" && head.refusal == nil)
    #expect(head.headers == Headers([.init("Host", "a.example"), .init("b", "1"), .init("a", "2"), .init("b", "3")]))
  }

  @Test("takes the host field if there is no :authority, and sends only one Host")
  func host() {
    #expect(head([("host", "b.example")], without: ":authority").headers["Host"] == "b.example")
    #expect(head([("host", "A.example:443")]).headers.all("Host") == ["a.example"])
  }

  @Test(
    "refuses a host that is not valid or differs from :authority",
    arguments: [[("host", "b.example")], [("host", "a.example:80")], [("host", "a.example"), ("host", "a.example")]])
  func otherHost(fields: [(String, String)]) {
    #expect(head(fields).refusal?.status == 400)
  }

  @Test("refuses an authority with user information, an empty one and a missing one", arguments: ["u@a", "", nil])
  func authority(text: String?) {
    #expect(head(text.map { [("host", $0)] } ?? [], without: ":authority").refusal?.status == 400)
  }

  @Test("refuses other schemes")
  func scheme() {
    #expect(head([(":scheme", "ftp")], without: ":scheme").refusal?.status == 400)
  }

  @Test("joins cookies in the place of the first")
  func cookies() {
    let headers = head([("cookie", "a=1"), ("x", "y"), ("cookie", "b=2"), ("cookie", "c=3")]).headers
    #expect(headers.fields.map(\.name) == ["Host", "cookie", "x"])
    #expect(headers["Cookie"] == "a=1; b=2; c=3")
  }

  @Test("refuses a head beyond the limit, and a target beyond it")
  func limit() {
    let used = Self.pseudo.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + 32 }
    #expect(head([], limit: used).refusal == nil)
    #expect(head([], limit: used - 1).refusal?.status == 431)
    let long = (":path", "/" + String(repeating: "x", count: 1000))
    #expect(head([long], without: ":path").refusal?.status == 414)
    // Fields beyond the limit are not kept.
    #expect(head((0..<1000).map { ("x", "\($0)") }).headers.fields.count < 30)
  }

  private func fields(of block: FieldBlock) -> [String] {
    var texts: [String] = []
    _ = block.withFields { fields, count in
      for field in UnsafeBufferPointer(start: fields, count: count) {
        let name = String(wire: UnsafeRawBufferPointer(start: field.name, count: field.namelen))
        texts.append("\(name)=\(String(wire: UnsafeRawBufferPointer(start: field.value, count: field.valuelen)))")
      }
      return 0
    }
    return texts
  }

  @Test("sends names in lower case, trimmed values and no connection-specific fields")
  func response() throws {
    let headers: Headers = [
      "X-A": " b\t", "Connection": "X-Named", "X-Named": "1", "Keep-Alive": "1", "Transfer-Encoding": "chunked",
      "Upgrade": "h2c", "Content-Length": "9", "Empty": "",
    ]
    let block = try FieldBlock(status: 200, headers: headers, contentLength: 3)
    #expect(fields(of: block) == [":status=200", "x-a=b", "empty=", "content-length=3"])
  }

  @Test(
    "rejects statuses and fields that cannot be sent",
    arguments: [(101, "A", "b"), (1000, "A", "b"), (200, "a b", "c"), (200, ":status", "c"), (200, "a", "b\nc")])
  func unsendable(status: Int, name: String, value: String) {
    #expect(throws: (any Error).self) {
      try FieldBlock(status: status, headers: Headers([.init(name, value)]), contentLength: nil)
    }
  }

  @Test("drops trailers that cannot be sent")
  func trailers() {
    let trailers: Headers = ["Grpc-Status": "0", "a": "b\r\nc", "Connection": "close"]
    #expect(fields(of: FieldBlock(trailers: trailers)) == ["grpc-status=0"])
  }
}
