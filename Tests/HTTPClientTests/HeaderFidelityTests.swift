import HTTPClient
import HTTPMessages
import TestSupport
import Testing

@Suite("Request header fields", .timeLimit(.minutes(5)))
struct HeaderFidelityTests {
  /// The head that an upstream receives for a request.
  private func head(of request: Request) async throws -> (head: String, authority: String) {
    let heads = Signal<String>()
    return try await withUpstream { connection in
      guard let head = try connection.readHead() else { return }
      heads.send(head)
      _ = try connection.readBody(of: head)
      try connection.write(ok())
    } _: { client, upstream in
      _ = try await client.send(request, to: upstream.origin)
      return (try await heads.next(), upstream.origin.authority)
    }
  }

  @Test("are sent in order, with case and repetitions, and only Host is added")
  func exact() async throws {
    let fields: Headers = [
      "x-lower": "1", "X-UPPER": "two words", "Cookie": "a=1", "x-repeated": "first", "Accept-Language": "de",
      "X-Repeated": "second", "Cookie": "b=2", "Authorization": "Basic Zm9vOmJhcg==", "Referer": "http://a/b",
      "Range": "bytes=0-1", "If-None-Match": "\"x\"", "X-Umlaut": "grün",
    ]
    let (head, authority) = try await head(of: Request(method: "GET", target: "/", headers: fields))
    let lines = fields.fields.map { "\($0.name): \($0.value)\r\n" }.joined()
    #expect(head == "GET / HTTP/1.1\r\nHost: \(authority)\r\n\(lines)\r\n")
  }

  @Test("consist of Host alone if the request has none, whatever the method and body")
  func none() async throws {
    let (get, authority) = try await head(of: Request(method: "GET", target: "/"))
    #expect(get == "GET / HTTP/1.1\r\nHost: \(authority)\r\n\r\n")
    let (post, authority2) = try await head(of: Request(method: "POST", target: "/", body: .bytes([65, 66])))
    #expect(post == "POST / HTTP/1.1\r\nHost: \(authority2)\r\nContent-Length: 2\r\n\r\n")
    let body = Body.bytes([UInt8](repeating: 65, count: 3_000_000))
    let (put, authority3) = try await head(of: Request(method: "PUT", target: "/", body: body))
    #expect(put == "PUT / HTTP/1.1\r\nHost: \(authority3)\r\nContent-Length: 3000000\r\n\r\n")
  }

  @Test("override fields that curl would add")
  func given() async throws {
    let fields: Headers = [
      "User-Agent": "clinic/1", "Accept": "text/html", "accept": "*/*;q=0.1", "Accept-Encoding": "gzip, br",
      "Content-Type": "text/plain", "Host": "dev.api1.com",
    ]
    let (head, _) = try await head(of: Request(method: "POST", target: "/", headers: fields, body: .bytes([65])))
    let expected = """
      POST / HTTP/1.1\r
      Host: dev.api1.com\r
      User-Agent: clinic/1\r
      Accept: text/html\r
      accept: */*;q=0.1\r
      Accept-Encoding: gzip, br\r
      Content-Type: text/plain\r
      Content-Length: 1\r
      \r

      """
    #expect(head == expected)
  }

  @Test("may have empty values")
  func empty() async throws {
    let fields: Headers = ["X-Empty": "", "Accept": "", "X-Last": "z"]
    let (head, authority) = try await head(of: Request(method: "GET", target: "/", headers: fields))
    #expect(head == "GET / HTTP/1.1\r\nHost: \(authority)\r\nX-Empty:\r\nAccept:\r\nX-Last: z\r\n\r\n")
  }

  @Test("exclude hop-by-hop fields, the length and Expect; TE: trailers is sent again")
  func hopByHop() async throws {
    let fields: Headers = [
      "Connection": "close, X-Private", "X-Private": "1", "Keep-Alive": "5", "TE": "trailers", "Upgrade": "h2c",
      "Transfer-Encoding": "chunked", "Content-Length": "77", "Expect": "100-continue", "Proxy-Connection": "close",
      "X-Kept": "1",
    ]
    let (head, authority) = try await head(of: Request(method: "GET", target: "/", headers: fields))
    #expect(head == "GET / HTTP/1.1\r\nHost: \(authority)\r\nX-Kept: 1\r\nTE: trailers\r\nConnection: TE\r\n\r\n")
  }

  @Test(
    "are rejected if the value would inject a line",
    arguments: ["a\r\nX-Other: 1", "a\nb", "a\r", "a\0b"])
  func smuggled(value: String) async throws {
    await #expect(throws: UpstreamError.self) {
      try await head(of: Request(method: "GET", target: "/", headers: ["X-A": value]))
    }
  }

  @Test("are rejected if the name is invalid", arguments: ["", "a b", "a:b", "a;", "ä", "a\r\nb"])
  func misnamed(name: String) async throws {
    await #expect(throws: UpstreamError.self) {
      try await head(of: Request(method: "GET", target: "/", headers: Headers([.init(name, "1")])))
    }
  }
}
