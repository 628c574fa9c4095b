import HTTPMessages
import HTTPServer
import TestSupport
import Testing

@Suite("Disconnecting clients", .timeLimit(.minutes(5)))
struct DepartureTests {
  @Test(
    "cancels a handler, brief or not, when the client closes or resets the connection", arguments: [true, false],
    [true, false])
  func whileHandlerRuns(isReset: Bool, isBrief: Bool) async throws {
    let started = Event()
    let cancelled = Event()
    let handler = TestHandler(
      isBrief: isBrief,
      slow: { _ in
        started.happen()
        await #expect(throws: CancellationError.self) { try await waitForCancellation() }
        // The connection is gone, so the rest of a brief handler runs elsewhere.
        await waitForAnotherThread()
        cancelled.happen()
        throw CancellationError()
      })
    try await withServer(.init(), handler) { port in
      let client = try RawClient(port: port)
      try client.send(.get("/"))
      try await started.wait()
      if isReset { client.reset() } else { client.close() }
      try await cancelled.wait()
    }
  }

  @Test("fails the request's body when the client disconnects during the upload", arguments: [true, false])
  func whileUploading(handlerIsReading: Bool) async throws {
    let started = Event()
    let failed = Event()
    let handler = TestHandler(slow: { request in
      guard case .stream(let pipe, _) = request.body else { return Response(status: 500) }
      started.happen()
      if !handlerIsReading { try? await waitForCancellation() }
      // Read in a separate task, which the cancellation of the handler's task does not reach.
      let reading = Task { while try await pipe.read() != nil {} }
      await #expect(throws: ClientGone.self) { try await reading.value }
      failed.happen()
      return Response(status: 200)
    })
    try await withServer(.init(), handler) { port in
      let client = try RawClient(port: port)
      try await onThread {
        try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000\r\n\r\n")
        if handlerIsReading { return try client.send([UInt8](repeating: 1, count: 200_000)) }
        while client.sendSome([UInt8](repeating: 1, count: 65_536)) > 0 {}
      }
      try await started.wait()
      // A FIN waits behind the unread bytes, so the server cannot see it; a reset overtakes them.
      if handlerIsReading { client.close() } else { client.reset() }
      try await failed.wait()
    }
  }

  @Test("abandons the response's stream when the client disconnects", arguments: [true, false])
  func whileDownloading(streamIsSilent: Bool) async throws {
    let abandoned = Event()
    let handler = TestHandler(slow: { _ in
      let pipe = BytePipe()
      pipe.onAbandoned { abandoned.happen() }
      Task {
        try await pipe.write([1])
        while !streamIsSilent { try await pipe.write([UInt8](repeating: 1, count: 65_536)) }
      }
      return Response(status: 200, body: .stream(pipe, length: nil))
    })
    try await withServer(.init(), handler) { port in
      let client = try RawClient(port: port)
      _ = try await onThread {
        try client.send(.get("/"))
        return try client.receiveHead()
      }
      client.close()
      try await abandoned.wait()
    }
  }

  @Test("abandons a stream returned after the client has disconnected")
  func beforeTheAnswer() async throws {
    let started = Event()
    let abandoned = Event()
    let handler = TestHandler(slow: { _ in
      started.happen()
      try? await waitForCancellation()
      let pipe = BytePipe()
      pipe.onAbandoned { abandoned.happen() }
      return Response(status: 200, body: .stream(pipe, length: nil))
    })
    try await withServer(.init(), handler) { port in
      let client = try RawClient(port: port)
      try client.send(.get("/"))
      try await started.wait()
      client.close()
      try await abandoned.wait()
    }
  }

  @Test("keeps serving other clients while hundreds disconnect at random", arguments: [true, false])
  func churn(isBrief: Bool) async throws {
    let handler = TestHandler(
      isBrief: isBrief,
      slow: { request in
        if request.target == "/hang" { try await waitForCancellation() }
        await waitForAnotherThread()
        await Task.yield()
        return Response(status: 200, body: .bytes([UInt8](repeating: 1, count: 10_000)))
      })
    try await withServer(.init(), handler) { port in
      let statuses = try await onThread {
        let patient = try RawClient(port: port)
        var statuses: [Int] = []
        for index in 0..<400 {
          let client = try RawClient(port: port)
          try client.send(.get(index % 2 == 0 ? "/hang" : "/quick"))
          if index % 3 == 0 { client.reset() } else { client.close() }
          if index % 10 == 0 { statuses.append(try patient.exchange(.get("/")).status) }
        }
        return statuses
      }
      #expect(statuses == Array(repeating: 200, count: 40))
    }
  }
}
