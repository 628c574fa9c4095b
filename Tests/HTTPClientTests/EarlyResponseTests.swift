import HTTPClient
import HTTPMessages
import TestSupport
import Testing

@Suite("Responses before the end of the upload", .timeLimit(.minutes(5)))
struct EarlyResponseTests {
  @Test(
    "are delivered while the upload continues",
    arguments: ["Content-Length: 5\r\n\r\nearly", "Transfer-Encoding: chunked\r\n\r\n5\r\nearly\r\n"])
  func success(rest: String) async throws {
    let bodies = Signal<String>()
    try await withUpstream { connection in
      let head = try connection.readHead() ?? ""
      try connection.write("HTTP/1.1 200 OK\r\n" + rest)
      bodies.send(try connection.readBody(of: head))
      if rest.contains("chunked") { try connection.write("0\r\n\r\n") }
      _ = connection.readToEnd()
    } _: { client, upstream in
      let pipe = BytePipe()
      let response = try await client.send(
        Request(method: "POST", target: "/", body: .stream(pipe, length: nil)), to: upstream.origin)
      #expect(response.status == 200)
      if case .stream(let down, _) = response.body {
        #expect(try await down.read() == [UInt8]("early".utf8))
      } else {
        #expect(try await response.body.collect(upTo: 5) == [UInt8]("early".utf8))
      }
      try await pipe.write([UInt8]("late".utf8))
      pipe.finish()
      #expect(try await bodies.next() == "late")
    }
  }

  @Test(
    "end the upload and notify its writer if they reject the request",
    arguments: ["Content-Length: 3\r\n", "Content-Length: 3\r\nConnection: close\r\n", "Connection: close\r\n"],
    [true, false])
  func refusal(fields: String, isWaiting: Bool) async throws {
    try await withUpstream { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 413 Too Large\r\n\(fields)\r\nbig")
      connection.endWriting()
      _ = connection.readToEnd()
    } _: { client, upstream in
      let pipe = BytePipe()
      // Either curl waits for our bytes when the response arrives, or it is sending them.
      let writer = Task {
        if isWaiting { return }
        while true { try await pipe.write([UInt8](repeating: 1, count: 65_536)) }
      }
      let response = try await client.send(
        Request(method: "POST", target: "/", body: .stream(pipe, length: 1 << 40)), to: upstream.origin)
      #expect(response.status == 413)
      #expect(try await response.body.collect(upTo: 9) == [UInt8]("big".utf8))
      await #expect(throws: BytePipe.ReaderGone.self) {
        try await writer.value
        try await pipe.write([1])
      }
    }
  }

  @Test("notify the writer of a rejection before they end")
  func refusalBeforeEnd() async throws {
    let isTold = Gate()
    try await withUpstream { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 413 Too Large\r\nContent-Length: 6\r\n\r\nbig")
      isTold.wait()
      try connection.write("ger")
    } _: { client, upstream in
      let pipe = BytePipe()
      let response = try await client.send(
        Request(method: "POST", target: "/", body: .stream(pipe, length: nil)), to: upstream.origin)
      await #expect(throws: BytePipe.ReaderGone.self) { try await pipe.write([1]) }
      isTold.open()
      #expect(try await response.body.collect(upTo: 9) == [UInt8]("bigger".utf8))
    }
  }

  @Test("end at their declared length although the upload continues")
  func endsByLength() async throws {
    let isDelivered = Gate()
    let bodies = Signal<String>()
    try await withUpstream { connection in
      let head = try connection.readHead() ?? ""
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
      isDelivered.wait()
      try connection.write("early")
      bodies.send(try connection.readBody(of: head))
    } _: { client, upstream in
      let up = BytePipe()
      let response = try await client.send(
        Request(method: "POST", target: "/", body: .stream(up, length: 4)), to: upstream.origin)
      isDelivered.open()
      #expect(try await response.body.collect(upTo: 9) == [UInt8]("early".utf8))
      try await up.write([UInt8]("late".utf8))
      #expect(try await bodies.next() == "late")
    }
  }

  @Test("end with their connection although the upload continues", arguments: ["", "Connection: close\r\n"])
  func endsWithConnection(fields: String) async throws {
    try await withUpstream(.init(stallSeconds: 0.4, environment: [:])) { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\n\(fields)\r\nearly")
    } _: { client, upstream in
      let up = BytePipe()
      let response = try await client.send(
        Request(method: "POST", target: "/", body: .stream(up, length: nil)), to: upstream.origin)
      #expect(try await response.body.collect(upTo: 9) == [UInt8]("early".utf8))
      await #expect(throws: BytePipe.ReaderGone.self) { while true { try await up.write([1]) } }
    }
  }
}
