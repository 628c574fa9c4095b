import Dispatch
import CNGHTTP2
import Glibc
import HTTPMessages
import TestSupport
import Testing

@testable import HTTP2Echo
@testable import HTTPServer

/// An unnamed file with these bytes.
func memoryFile(_ bytes: [UInt8]) throws -> Int32 {
  guard let file = tmpfile() else { throw RawClient.Failure(description: "no temporary file") }
  defer { fclose(file) }
  let descriptor = fcntl(fileno(file), F_DUPFD_CLOEXEC, 0)
  guard bytes.withUnsafeBytes({ pwrite(descriptor, $0.baseAddress, $0.count, 0) }) == bytes.count else {
    throw RawClient.Failure(description: "cannot write a temporary file")
  }
  return descriptor
}

@Suite("HTTP/2 streams", .timeLimit(.minutes(5)))
struct StreamingTests {
  @Test("responds while the request is still arriving, in both directions by turns")
  func interleaved() async throws {
    let answer = try await withClient { client in
      let stream = client.request("POST", "/echo", body: nil)
      // The handler is called before any of the body has arrived.
      try client.wait { client.answers[stream]?.status == 200 }
      for round in 1...20 {
        client.send([UInt8](repeating: UInt8(round), count: 100), on: stream)
        try client.wait { client.answers[stream]?.body.count == 100 * round }
      }
      client.finish(stream)
      return try client.answer(stream)
    }
    #expect(answer.body == (1...20).flatMap { [UInt8](repeating: UInt8($0), count: 100) })
    #expect(answer.code == 0 && answer.reset == nil)
  }

  @Test("gives a handler a short body of declared length as bytes, others as a stream", arguments: [65_536, 65_537])
  func shortBody(length: Int) async throws {
    let began = DispatchSemaphore(value: 0)
    let handler = TestHandler { request in
      if case .bytes = request.body { return Response(status: 201) }
      began.signal()
      _ = try await request.body.collect(upTo: 1 << 20)
      return Response(status: 202)
    }
    let answer = try await withClient(handler) { client in
      let stream = client.request("POST", "/", [("content-length", "\(length)")], body: nil)
      client.send([UInt8](repeating: 1, count: length - 1), on: stream)
      try client.synchronize()
      // A ping may overtake the request.
      if length > 65_536 { began.wait() }
      client.send([1], on: stream)
      client.finish(stream)
      return try client.answer(stream)
    }
    #expect(answer.status == (length == 65_536 ? 201 : 202))
  }

  @Test("a handler that does not read holds up its client, and no other request")
  func slowReader() async throws {
    let mayRead = Event()
    let handler = TestHandler { request in
      if request.target == "/quick" { return Response(status: 204) }
      try await mayRead.wait()
      var count = 0
      try await request.body.forEachPiece { count += $0.count }
      return Response(status: 200, body: .bytes(Array("\(count)".utf8)))
    }
    let length = 8 << 20
    let (held, quick, slow) = try await withClient(handler) { client in
      let slow = client.request("POST", "/slow", body: [UInt8](repeating: 1, count: length))
      try client.sendAll()
      let held = client.sentBody
      let quick = try client.answer(client.request("GET", "/quick"))
      mayRead.happen()
      return try (held, quick, client.answer(slow))
    }
    #expect(held < 2 << 20)
    #expect(quick.status == 204)
    #expect(slow.text == "\(length)")
  }

  @Test("a client that does not read holds up the handler, and no other request")
  func slowClient() async throws {
    let written = Counter()
    let handler = TestHandler { request in
      if request.target == "/quick" { return Response(status: 204) }
      let pipe = BytePipe()
      Task {
        for _ in 0..<128 {
          try await pipe.write([UInt8](repeating: 1, count: 65_536))
          written.add(65_536)
        }
        pipe.finish()
      }
      return Response(status: 200, body: .stream(pipe, length: nil))
    }
    let (held, slow) = try await withClient(handler) { client in
      client.isReading = false
      let slow = client.request("GET", "/slow")
      try client.wait { client.answers[slow]?.body.count == 65_535 }
      for _ in 0..<5 { _ = try client.answer(client.request("GET", "/quick")) }
      let held = written.value
      client.isReading = true
      client.acknowledge(slow)
      return try (held, client.answer(slow))
    }
    #expect(held < 2 << 20)
    #expect(slow.body.count == 8 << 20 && slow.code == 0)
  }

  @Test("a client that stops reading from its socket costs little memory, and its connection ends after the idle time")
  func blockedSocket() async throws {
    let written = Counter()
    let abandoned = Counter()
    let areAllAbandoned = Event()
    let handler = TestHandler { _ in
      let pipe = BytePipe()
      pipe.onAbandoned { if abandoned.add(1) == 20 { areAllAbandoned.happen() } }
      Task {
        while true {
          try await pipe.write([UInt8](repeating: 1, count: 65_536))
          written.add(65_536)
        }
      }
      return Response(status: 200, body: .stream(pipe, length: nil))
    }
    try await withServer(handler, HTTP2Limits(idleSeconds: 1), sendBuffer: 65_536) { server in
      let client = try RawClient(port: server.port, receiveBuffer: 65_536)
      try await onThread {
        // A window of 2 GiB for each of 20 streams and for the connection.
        try client.send(Frames.preface + Frames.settings([(4, 0x7FFF_FFFF)]) + Frames.windowUpdate(0, 0x7FFF_0000))
        for stream in 0..<20 { try client.send(Frames.get(UInt32(2 * stream + 1))) }
      }
      try await areAllAbandoned.wait()
      client.close()
    }
    #expect(20 * 65_536...8 << 20 ~= written.value)
  }

  @Test("answers a hundred requests at the same time, in the order in which they become ready")
  func parallel() async throws {
    let gates = (0..<100).map { _ in Event() }
    let handler = TestHandler { request in
      let number = Int(request.target.dropFirst()) ?? 0
      if number < 99 { try await gates[number + 1].wait() }
      gates[number].happen()
      return Response(status: 200, body: .bytes(Array("\(number)".utf8)))
    }
    let texts = try await withClient(handler) { client in
      let streams = (0..<100).map { client.request("GET", "/\($0)") }
      return try streams.map { try client.answer($0).text }
    }
    #expect(texts == (0..<100).map { "\($0)" })
  }

  @Test("transfers many large bodies at the same time", arguments: [true, false])
  func largeBodies(isBrief: Bool) async throws {
    let echo = EchoHandler()
    let handler = TestHandler(isBrief: isBrief) { try await echo.respond(to: $0) }
    let body = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    let answers = try await withClient(handler) { client in
      let streams = (0..<20).map { _ in client.request("POST", "/echo", body: body) }
      return try streams.map { try client.answer($0) }
    }
    #expect(answers.allSatisfy { $0.body == body && $0.code == 0 })
  }

  @Test("a response ends with its declared length, even if its stream stays open", arguments: [0, 3])
  func declaredLength(length: Int) async throws {
    let handler = TestHandler { _ in
      let pipe = BytePipe()
      try await pipe.write([1, 2, 3])
      return Response(status: 200, body: .stream(pipe, length: length))
    }
    let answer = try await withClient(handler) { try $0.answer($0.request()) }
    #expect(answer.body == Array([1, 2, 3].prefix(length)) && answer.code == 0 && answer.reset == nil)
  }

  @Test("resets the stream if the response fails or ends before its declared length", arguments: [nil, 10])
  func failingResponse(length: Int?) async throws {
    struct Broken: Error {}
    let handler = TestHandler { _ in
      let pipe = BytePipe()
      try await pipe.write([1, 2, 3])
      if length == nil { pipe.fail(Broken()) } else { pipe.finish() }
      return Response(status: 200, body: .stream(pipe, length: length))
    }
    let answer = try await withClient(handler) { try $0.answer($0.request()) }
    #expect(answer.status == 200 && answer.body == [1, 2, 3])
    #expect(answer.reset == NGHTTP2_INTERNAL_ERROR.rawValue)
  }

  @Test("a response that ends early ends the upload without an error for the client")
  func earlyResponse() async throws {
    let cut = Event()
    let handler = TestHandler { request in
      guard case .stream(let upload, _) = request.body else { return Response(status: 500) }
      Task {
        await #expect(throws: UploadCut.self) { while try await upload.read() != nil {} }
        cut.happen()
      }
      return Response(status: 200, body: .stream(BytePipe(holding: [7]), length: nil))
    }
    try await withServer(handler) { server in
      let port = server.port
      let answer = try await onThread {
        let client = try TestClient(port: port)
        let stream = client.request("POST", "/", body: nil)
        client.send([1], on: stream)
        return try client.answer(stream)
      }
      #expect(answer.body == [7] && answer.reset == NGHTTP2_NO_ERROR.rawValue)
      try await cut.wait()
    }
  }

  @Test("a handler that returns bytes without reading the body does not wait for the rest")
  func unreadBody() async throws {
    let answer = try await withClient(TestHandler.responding(Response(status: 403, body: .bytes([1])))) { client in
      try client.answer(client.request("POST", "/", body: [UInt8](repeating: 1, count: 4 << 20)))
    }
    #expect(answer.status == 403 && answer.body == [1] && answer.code == 0)
  }
}
