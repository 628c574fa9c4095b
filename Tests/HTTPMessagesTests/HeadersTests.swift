import HTTPMessages
import Testing

@Suite("Header fields")
struct HeadersTests {
  private let headers = Headers([
    .init("Set-Cookie", "a=1"), .init("Content-Type", "text/plain"), .init("set-cookie", "b=2"), .init("X-Empty", ""),
  ])

  @Test("looks up fields case-insensitively, in order")
  func lookUp() {
    #expect(headers["CONTENT-TYPE"] == "text/plain")
    #expect(headers["set-cookie"] == "a=1")
    #expect(headers["X-Empty"] == "" && headers["X-None"] == nil)
    #expect(headers.all("SET-cookie") == ["a=1", "b=2"])
    #expect(headers.all("none") == [])
  }

  @Test("appends at the end and never joins values")
  func append() {
    var headers = headers
    headers.append("Set-Cookie", "c=3")
    #expect(headers.fields.count == 5 && headers.all("Set-Cookie") == ["a=1", "b=2", "c=3"])
  }

  @Test("replaces the first field in place, keeps its name as sent, and drops the others")
  func set() {
    var headers = headers
    headers.set("SET-COOKIE", "z=9")
    #expect(headers.fields.map(\.name) == ["Set-Cookie", "Content-Type", "X-Empty"])
    #expect(headers["Set-Cookie"] == "z=9")
    headers.set("X-New", "1")
    #expect(headers.fields.last == .init("X-New", "1"))
  }

  @Test("removes all fields with a name")
  func remove() {
    var headers = headers
    headers.remove("SET-COOKIE")
    headers.remove("none")
    #expect(headers.fields.map(\.name) == ["Content-Type", "X-Empty"])
  }

  @Test("removes hop-by-hop fields and those that Connection names")
  func hopByHop() {
    var headers: Headers = [
      "Connection": "close,\tX-One , x-two", "X-One": "1", "X-Two": "2", "Keep-Alive": "timeout=5", "TE": "trailers",
      "transfer-encoding": "chunked", "Upgrade": "h2c", "Proxy-Connection": "close", "X-Three": "3",
      "Connection-Id": "4",
    ]
    headers.removeHopByHop()
    #expect(headers == ["X-Three": "3", "Connection-Id": "4"])
  }

  @Test("handles an empty Connection header")
  func emptyConnection() {
    var headers: Headers = ["Connection": " , ,", "A": "1"]
    headers.removeHopByHop()
    #expect(headers == ["A": "1"])
  }

  @Test("ignores case for A to Z only", arguments: [("@", "`"), ("[", "{"), ("Ä", "ä"), ("K", "\u{212A}")])
  func asciiCase(one: String, other: String) {
    #expect(!one.equalsIgnoringASCIICase(other))
    #expect("aZ-\(one)".equalsIgnoringASCIICase("Az-\(one)"))
  }

  @Test("lowercases every byte as ASCII does")
  func lowerCase() {
    for byte in UInt8.min...UInt8.max {
      let expected = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte + 32 : byte
      #expect(byte.asciiLowercased == expected)
    }
  }
}
