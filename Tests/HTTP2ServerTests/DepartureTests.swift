import CNGHTTP2
import HTTPMessages
import HTTPServer
import TestSupport
import Testing

@testable import HTTP2Echo

@Suite("HTTP/2 clients that cancel or disconnect", .timeLimit(.minutes(5)))
struct DepartureTests {
  @Test(
    "cancels a handler, brief or not, when its stream is reset or the connection ends", arguments: [true, false],
    [true, false])
  func whileHandlerRuns(isReset: Bool, isBrief: Bool) async throws {
    let started = Event()
    let cancelled = Event()
    let handler = TestHandler(isBrief: isBrief) { request in
      guard request.target == "/slow" else { return Response(status: 204) }
      started.happen()
      await #expect(throws: CancellationError.self) { try await waitForCancellation() }
      cancelled.happen()
      throw CancellationError()
    }
    try await withServer(handler) { server in
      let client = try TestClient(port: server.port)
      let stream = try await onThread {
        let stream = client.request("GET", "/slow")
        try client.synchronize()
        return stream
      }
      try await started.wait()
      try await onThread {
        if isReset { client.reset(stream) } else { return client.leave() }
        // Other requests are still served.
        let status = try client.answer(client.request()).status
        #expect(status == 204)
      }
      try await cancelled.wait()
    }
  }

  @Test("fails the request's body when the client resets the stream during the upload")
  func whileUploading() async throws {
    let started = Event()
    let failed = Event()
    let handler = TestHandler { request in
      guard case .stream(let pipe, _) = request.body else { return Response(status: 500) }
      started.happen()
      // Read in a separate task, which the cancellation of the handler's task does not reach.
      let reading = Task { while try await pipe.read() != nil {} }
      await #expect(throws: ClientGone.self) { try await reading.value }
      failed.happen()
      return Response(status: 200)
    }
    try await withServer(handler) { server in
      let client = try TestClient(port: server.port)
      let stream = try await onThread {
        let stream = client.request("POST", "/", body: nil)
        client.send([1, 2, 3], on: stream)
        try client.synchronize()
        return stream
      }
      try await started.wait()
      try await onThread {
        client.reset(stream)
        try client.synchronize()
      }
      try await failed.wait()
    }
  }

  @Test("abandons the response's stream when the client resets it", arguments: [true, false])
  func whileDownloading(streamIsSilent: Bool) async throws {
    let abandoned = Event()
    let handler = TestHandler { _ in
      let pipe = BytePipe()
      pipe.onAbandoned { abandoned.happen() }
      Task {
        try await pipe.write([1])
        while !streamIsSilent { try await pipe.write([UInt8](repeating: 1, count: 65_536)) }
      }
      return Response(status: 200, body: .stream(pipe, length: nil))
    }
    try await withServer(handler) { server in
      let port = server.port
      try await onThread {
        let client = try TestClient(port: port)
        let stream = client.request()
        try client.wait { client.answers[stream]?.body.isEmpty == false }
        client.reset(stream)
        try client.synchronize()
      }
      try await abandoned.wait()
    }
  }

  @Test("abandons a stream that is returned after the client has gone")
  func beforeTheAnswer() async throws {
    let started = Event()
    let abandoned = Event()
    let handler = TestHandler { _ in
      started.happen()
      try? await waitForCancellation()
      let pipe = BytePipe()
      pipe.onAbandoned { abandoned.happen() }
      return Response(status: 200, body: .stream(pipe, length: nil))
    }
    try await withServer(handler) { server in
      let client = try TestClient(port: server.port)
      try await onThread {
        client.request()
        try client.synchronize()
      }
      try await started.wait()
      try await onThread { client.leave() }
      try await abandoned.wait()
    }
  }

  @Test("a body that has arrived can be read after the response has ended")
  func lateReader() async throws {
    let arrived = Event()
    let answered = Event()
    let read = Counter()
    let over = Event()
    let handler = TestHandler { request in
      guard case .stream(let upload, _) = request.body else { return Response(status: 500) }
      Task {
        await #expect(throws: Never.self) {
          try await answered.wait()
          while let bytes = try await upload.read() { read.add(bytes.count) }
        }
        over.happen()
      }
      let pipe = BytePipe()
      Task {
        try await arrived.wait()
        pipe.finish()
      }
      return Response(status: 200, body: .stream(pipe, length: nil))
    }
    let length = 250_000
    try await withServer(handler) { server in
      let port = server.port
      try await onThread {
        let client = try TestClient(port: port)
        let stream = client.request("POST", "/", body: nil)
        // A body that arrives at the same time as its head is not streamed.
        try client.wait { client.answers[stream]?.status == 200 }
        client.send([UInt8](repeating: 1, count: length), on: stream)
        client.finish(stream)
        try client.sendAll()
        arrived.happen()
        _ = try client.answer(stream)
      }
      answered.happen()
      try await over.wait()
    }
    #expect(read.value == length)
  }

  @Test("reports each closed connection once, with the token of its requests")
  func closed() async throws {
    let handler = ClosingHandler()
    try await withServer(handler) { server in
      let port = server.port
      try await onThread {
        let client = try TestClient(port: port)
        #expect(try client.answer(client.request()).status == 204)
        client.leave()
      }
      try await handler.isClosed.wait()
    }
    #expect(handler.tokens.value == 1)
  }

  private final class ClosingHandler: RequestHandler {
    let tokens = Counter()
    let isClosed = Event()

    func respond(to request: Request) async throws -> Response {
      #expect(request.connection == 1)
      return Response(status: 204)
    }

    func closed(_ connection: UInt64) {
      tokens.add(Int(connection))
      isClosed.happen()
    }
  }
}
