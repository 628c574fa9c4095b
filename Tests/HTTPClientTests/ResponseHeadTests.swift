import Glibc
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

@Suite("Raw responses")
struct RawResponseTests {
  /// Lines for building heads, valid and invalid.
  private static let lines = [
    "HTTP/1.1 200 OK\r\n", "HTTP/1.1 404 Not Found\r\n", "HTTP/1.1 103 Early Hints\r\n", "HTTP/1.1 299\r\n",
    "A: b\r\n", "A:c \r\n", "Empty:\r\n", "Content-Length: 12\r\n", "content-length: 7\r\n", "Content-Length: +1\r\n",
    "Content-Length: 1234, 1234\r\n", "Content-Length: 0x1000000\r\n",
    "Content-Length: 99999999999999999999\r\n", "Transfer-Encoding: chunked\r\n",
    "Long: \(String(repeating: "x", count: 1500))\r\n", " folded\r\n", "\t folded  more\r\n", "no colon\r\n",
    ": nameless\r\n",
    "Two words : x\r\n", "Umlaut: \u{E4}\r\n", "Date: Mon, 08 Oct 2018 09:00:00 GMT\n", "\r\n",
  ]

  @Test("are equal to heads parsed the other way, field by field", arguments: 0..<200)
  func sameAsHead(seed: UInt64) {
    var random = Numbers(state: seed)
    let raw = RawResponse()
    // Once for each use of the same memory.
    for _ in 0..<5 {
      var head = ResponseHead()
      var lines = ["HTTP/1.1 200 OK\r\n"]
      for _ in 0..<Int(random.next() % 12) { lines.append(Self.lines[Int(random.next() % UInt64(Self.lines.count))]) }
      lines += ["\r\n", "HTTP/1.1 200 OK\r\n", "\r\n"]
      for line in lines where !head.isComplete {
        let bytes = [UInt8](line.utf8)
        let isEnd = bytes.withUnsafeBytes { raw.take($0) }
        #expect(isEnd == bytes.withUnsafeBytes { head.take($0) })
      }
      let response = raw.response
      #expect(raw.isComplete == head.isComplete)
      #expect(response.status == head.status)
      #expect(response.reason == head.reason)
      #expect(response.headers == head.headers, "\(lines)")
      if !raw.isOdd, !raw.isCoded { #expect(raw.length == head.length) }
      raw.reset()
    }
  }

  @Test("are marked if they need full parsing")
  func odd() {
    for line in Self.lines[5...] {
      let raw = RawResponse()
      for line in ["HTTP/1.1 200 OK\r\n", "B: c\r\n", line, "\r\n"] {
        _ = [UInt8](line.utf8).withUnsafeBytes { raw.take($0) }
      }
      let isPlain = ["A:", "Empty", "content", "Content-Length: 12\r\n", "Transfer", "Long", "Date", "\r\n"].contains(
        where: line.hasPrefix)
      #expect(raw.isOdd == !isPlain, "\(line)")
    }
  }

  @Test("detect a transfer coding, whatever the declared length")
  func coded() {
    for lines in [["Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n"], ["transfer-encoding: gzip\r\n"], []] {
      let raw = RawResponse()
      for line in ["HTTP/1.1 200 OK\r\n"] + lines + ["\r\n"] {
        _ = [UInt8](line.utf8).withUnsafeBytes { raw.take($0) }
      }
      #expect(raw.isCoded == !lines.isEmpty)
    }
  }

  @Test("transfer ownership of the body once")
  func body() {
    let raw = RawResponse()
    for piece in ["hello, ", "world"] { #expect([UInt8](piece.utf8).withUnsafeBytes { raw.takeBody($0) }) }
    #expect(String(decoding: raw.bytes, as: UTF8.self) == "hello, world")
    let body = raw.takeBody()
    #expect(body != nil && raw.bytes.isEmpty && raw.takeBody() == nil)
    free(body)
  }
}

/// A random number generator with reproducible results.
private struct Numbers {
  var state: UInt64

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state >> 33
  }
}
