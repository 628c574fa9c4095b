import HTTPMessages
import Testing

@testable import HTTPClient

@Suite("Response heads")
struct ResponseHeadTests {
  private func head(_ lines: String...) -> ResponseHead {
    var head = ResponseHead()
    for line in lines {
      _ = [UInt8](line.utf8).withUnsafeBytes { head.take($0) }
    }
    return head
  }

  @Test("are complete after the empty line that follows the final status")
  func complete() {
    #expect(!head("HTTP/1.1 200 OK\r\n", "A: b\r\n").isComplete)
    #expect(head("HTTP/1.1 200 OK\r\n", "A: b\r\n", "\r\n").isComplete)
    #expect(head("HTTP/1.1 200 OK\n", "A: b\n", "\n").isComplete)
    #expect(!head("HTTP/1.1 100 Continue\r\n", "\r\n").isComplete)
  }

  @Test("restart after an interim response, and end once")
  func interim() {
    let head = head(
      "HTTP/1.1 103 Early Hints\r\n", "Link: </a>\r\n", "\r\n", "HTTP/1.1 404 Not Found\r\n", "A: b\r\n", "\r\n",
      "X-Trailer: 1\r\n", "\r\n")
    #expect(head.status == 404)
    #expect(head.reason == "Not Found")
    #expect(head.headers == ["A": "b"])
  }

  @Test("have a length only if it determines the body")
  func length() {
    #expect(head("HTTP/1.1 200 OK\r\n", "content-length: 12\r\n", "\r\n").length == 12)
    #expect(head("HTTP/1.1 200 OK\r\n", "Content-Length: +12\r\n", "\r\n").length == nil)
    #expect(head("HTTP/1.1 200 OK\r\n", "\r\n").length == nil)
    #expect(
      head("HTTP/1.1 200 OK\r\n", "Content-Length: 1\r\n", "Transfer-Encoding: chunked\r\n", "\r\n").length == nil)
  }

  @Test("ignore malformed lines")
  func nonsense() {
    let head = head(
      "\r\n", " folded\r\n", "no colon\r\n", "HTTP/\r\n", "HTTP/1.1 2\r\n", "HTTP/1.1 200\r\n", ": x\r\n", "\r\n")
    #expect(head.status == 200)
    #expect(head.headers == ["": "x"])
  }
}
