import Testing

@testable import Diorama

@Suite("The environment's answers")
struct HTTPAnswerTests {
  private func parse(_ text: String, ended: Bool = false) throws -> HTTPAnswer? {
    try HTTPAnswer.parse(Array(text.utf8), ended: ended)
  }

  @Test(
    "are read whole",
    arguments: [
      ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", true),
      ("HTTP/1.1 200\r\ncontent-length:2\r\n\r\nhi and more", 200, "hi", true),
      ("HTTP/1.1 204 No Content\r\n\r\n", 204, "", true),
      ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 200, "", false),
      ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", false),
      ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 1\r\n\r\nx", 404, "x", true),
      (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nhi\r\nA\r\n0123456789\r\n0\r\n\r\n", 200,
        "hi0123456789", true
      ),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nTrailer: x\r\n\r\n", 200, "", true),
    ] as [(String, Int, String, Bool)])
  func whole(_ text: String, _ status: Int, _ body: String, _ keepsAlive: Bool) throws {
    let answer = HTTPAnswer(status: status, body: Array(body.utf8), keepsAlive: keepsAlive)
    #expect(try parse(text) == answer)
    // However the bytes come: a part of them is never taken for an answer, nor for an error.
    for length in 0..<text.utf8.count {
      let part = Array(text.utf8.prefix(length))
      let early = try HTTPAnswer.parse(part, ended: false)
      #expect(early == nil || early == answer)
    }
  }

  @Test("end with the connection where nothing else delimits them")
  func untilClose() throws {
    let text = "HTTP/1.1 200 OK\r\n\r\nhi"
    #expect(try parse(text) == nil)
    #expect(try parse(text, ended: true) == HTTPAnswer(status: 200, body: Array("hi".utf8), keepsAlive: false))
  }

  @Test(
    "are refused when they are cut or not HTTP",
    arguments: [
      "", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", "SSH-2.0-OpenSSH\r\n\r\n",
      "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhi",
    ])
  func malformed(_ text: String) {
    #expect(throws: HTTPAnswer.Malformed.self) { try parse(text, ended: true) }
  }

  @Test("are refused above eight mebibytes")
  func tooLong() {
    let bytes = [UInt8](repeating: 0x61, count: HTTPAnswer.limit + 1)
    #expect(throws: HTTPAnswer.Malformed.self) { try HTTPAnswer.parse(bytes, ended: false) }
  }
}
