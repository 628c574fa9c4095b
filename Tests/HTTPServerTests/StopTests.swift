import Basics
import HTTPMessages
import HTTPServer
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Stopping a server", .timeLimit(.minutes(5)))
struct StopTests {
  /// Returns once the server accepts no more listeners.
  private func hasBegunStopping(_ server: HTTPServer) async {
    while let extra = try? server.listen(handler: TestHandler.mirror) {
      extra.close()
      await Task.yield()
    }
  }

  @Test("lets a running request finish and announces the end of the connection")
  func finishesRunning() async throws {
    let started = Event()
    let release = Event()
    let handler = TestHandler(slow: { _ in
      started.happen()
      try await release.wait()
      return Response(status: 200, body: .bytes(Array("done".utf8)))
    })
    let server = try HTTPServer()
    let listener = try server.listen(handler: handler)
    let client = try RawClient(port: listener.port)
    try client.send(.get("/"))
    try await started.wait()
    async let stopped: Void = server.stop(grace: .seconds(30))
    await hasBegunStopping(server)
    release.happen()
    let answer = try await onThread { try client.receiveAnswer() }
    #expect(answer.text == "done" && answer.headers["Connection"] == "close")
    await stopped
    #expect(try await onThread { try client.receiveAll() }.isEmpty)
  }

  @Test("lets a running upload and a running stream finish")
  func finishesStreams() async throws {
    let reading = Event()
    let pipe = BytePipe()
    let handler = TestHandler(slow: { request in
      guard case .stream(let upload, _) = request.body else {
        return Response(status: 200, body: .stream(pipe, length: nil))
      }
      var count = 0
      while let bytes = try await upload.read() {
        reading.happen()
        count += bytes.count
      }
      return Response(status: 200, body: .bytes(Array("\(count)".utf8)))
    })
    let server = try HTTPServer()
    let listener = try server.listen(handler: handler)
    let up = try RawClient(port: listener.port)
    let down = try RawClient(port: listener.port)
    try up.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n12345")
    try down.send(.get("/"))
    _ = try await onThread { try down.receiveHead() }
    try await reading.wait()
    async let stopped: Void = server.stop(grace: .seconds(30))
    await hasBegunStopping(server)
    let answer = try await onThread {
      try up.send([UInt8](repeating: 1, count: 99_995))
      return try up.receiveAnswer()
    }
    #expect(answer.text == "100000")
    try await pipe.write([65])
    pipe.finish()
    #expect(try await onThread { try down.receiveAll() } == Array("1\r\nA\r\n0\r\n\r\n".utf8))
    await stopped
  }

  @Test("cancels and cuts requests that outlast the grace period")
  func cutsHanging() async throws {
    let started = Event()
    let cancelled = Event()
    let handler = TestHandler(slow: { _ in
      started.happen()
      defer { cancelled.happen() }
      try await waitForCancellation()
      return Response(status: 200)
    })
    let server = try HTTPServer()
    let listener = try server.listen(handler: handler)
    let client = try RawClient(port: listener.port)
    try client.send(.get("/"))
    try await started.wait()
    await server.stop(grace: .milliseconds(50))
    try await cancelled.wait()
    #expect(try await onThread { try client.receiveAll() }.isEmpty)
  }

  // Waiting for the grace period would exceed the time limit.
  @Test("closes idle connections and incomplete heads at once", .timeLimit(.minutes(5)))
  func endsIdle() async throws {
    let server = try HTTPServer()
    let listener = try server.listen(handler: TestHandler.responding(Response(status: 200)))
    let (idle, half, fresh) = try await onThread {
      let idle = try RawClient(port: listener.port)
      _ = try idle.exchange(.get("/"))
      let half = try RawClient(port: listener.port)
      try half.send("GET / HT")
      return (idle, half, try RawClient(port: listener.port))
    }
    await server.stop(grace: .seconds(3_600))
    for client in [idle, half, fresh] { #expect((try? await onThread { try client.receiveAll() }) ?? [] == []) }
  }

  @Test("can be repeated, even concurrently, and ends listening")
  func twice() async throws {
    let server = try HTTPServer()
    let listener = try server.listen(handler: TestHandler.mirror)
    async let first: Void = server.stop()
    async let second: Void = server.stop()
    _ = await (first, second)
    await server.stop()
    listener.close()
    #expect(throws: CodedError.self) { try server.listen(handler: TestHandler.mirror) }
  }

  @Test("a closed listener frees its port, and its connections stay open")
  func closedListener() async throws {
    let server = try HTTPServer()
    let handler = TestHandler.responding(Response(status: 200, body: .bytes(Array("closedListener".utf8))))
    let listener = try server.listen(handler: handler)
    let texts = try await onThread {
      let client = try RawClient(port: listener.port)
      let before = try client.exchange(.get("/")).text
      listener.close()
      // Another process may have taken the port.
      let other = try? RawClient(port: listener.port).exchange(.get("/")).text
      return [before, other ?? "refused", try client.exchange(.get("/")).text]
    }
    #expect(texts[0] == "closedListener" && texts[1] != "closedListener" && texts[2] == "closedListener")
    await server.stop()
  }

  @Test("refuses new clients while running requests finish")
  func refusesWhileStopping() async throws {
    let started = Event()
    let release = Event()
    let handler = TestHandler(slow: { request in
      started.happen()
      try await release.wait()
      return Response(status: 200, body: .bytes(Array("refusesWhileStopping".utf8)))
    })
    let server = try HTTPServer()
    let listener = try server.listen(handler: handler)
    let client = try RawClient(port: listener.port)
    try client.send(.get("/"))
    try await started.wait()
    async let stopped: Void = server.stop(grace: .seconds(30))
    await hasBegunStopping(server)
    let late = Task { try? await ask(listener.port, .get("/")).text }
    release.happen()
    #expect(await late.value != "refusesWhileStopping")
    #expect(try await onThread { try client.receiveAnswer().text } == "refusesWhileStopping")
    await stopped
  }

  @Test("an error names the port in use and what to do")
  func takenPort() async throws {
    let server = try HTTPServer()
    let listener = try server.listen(handler: TestHandler.mirror)
    let error = #expect(throws: CodedError.self) {
      try server.listen(on: listener.port, handler: TestHandler.mirror)
    }
    #expect(error?.description.contains("port \(listener.port)") == true)
    #expect(error?.problem.contains("choose another port") == true)
    await server.stop()
  }

  @Test("leaves no threads and descriptors behind, and all its descriptors are close-on-exec")
  func leavesNothing() async {
    // In a separate process, in which nothing else runs.
    await #expect(processExitsWith: .success) {
      try await Self.useServer()  // the runtime's own descriptors exist from now on
      let before = try Self.serverDescriptors()
      for _ in 0..<3 { try await Self.useServer() }
      let after = try Self.serverDescriptors()
      guard before == after else { exit(1) }
      // A joined thread remains visible for a moment.
      let start = ContinuousClock.now
      while try Self.serverThreads() > 0 {
        guard ContinuousClock.now - start < .seconds(10) else { exit(3) }
        await Task.yield()
      }
      exit(0)
    }
  }

  private static func useServer() async throws {
    let server = try HTTPServer(.init(threads: 4))
    let handler = TestHandler(slow: { request in
      if request.target == "/hang" { try await waitForCancellation() }
      return Response(status: 200)
    })
    let ports = try (0..<10).map { _ in try server.listen(handler: handler).port }
    let clients = try await onThread {
      try ports.flatMap { port in
        let quick = try RawClient(port: port)
        _ = try quick.exchange(.get("/"))
        let hanging = try RawClient(port: port)
        try hanging.send(.get("/hang"))
        return [quick, hanging]
      }
    }
    for descriptor in 3..<200 where clients.allSatisfy({ $0.descriptor != Int32(descriptor) }) {
      let flags = fcntl(Int32(descriptor), F_GETFD)
      if flags >= 0, flags & FD_CLOEXEC == 0, !inherited.contains(Int32(descriptor)), isServers("\(descriptor)") {
        print("descriptor \(descriptor) is not close-on-exec")
        exit(2)
      }
    }
    guard try serverThreads() >= 5 else { exit(4) }
    await server.stop(grace: .milliseconds(20))
    clients.forEach { $0.close() }
  }

  private static let inherited = Set((0..<200).map(Int32.init).filter { fcntl($0, F_GETFD) & FD_CLOEXEC == 0 })

  /// The number of sockets, epolls and the like; the runtime's timers come and go.
  private static func serverDescriptors() throws -> Int {
    try entries("/proc/self/fd").count(where: isServers)
  }

  private static func isServers(_ descriptor: String) -> Bool {
    var link = [CChar](repeating: 0, count: 256)
    let count = readlink("/proc/self/fd/\(descriptor)", &link, link.count)
    let target = String(decoding: link.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return target.hasPrefix("socket:")
      || ["anon_inode:[eventpoll]", "anon_inode:[eventfd]", "/dev/null"].contains(target)
  }

  private static func serverThreads() throws -> Int {
    try entries("/proc/self/task").count { thread in
      guard let file = fopen("/proc/self/task/\(thread)/comm", "r") else { return false }
      defer { fclose(file) }
      var name = [CChar](repeating: 0, count: 32)
      guard fgets(&name, 31, file) != nil else { return false }
      let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      return text.hasPrefix("http-server") || text.hasPrefix("http-accept")
    }
  }

  private static func entries(_ path: String) throws -> [String] {
    guard let folder = opendir(path) else { throw RawClient.Failure(description: path) }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      // The name starts inside the entry and may extend beyond the tuple that Swift imports.
      let start = UnsafeRawPointer(entry) + (MemoryLayout<dirent>.offset(of: \.d_name) ?? 0)
      names.append(String(cString: start.assumingMemoryBound(to: CChar.self)))
    }
    return names
  }

  @Test("survives SIGPIPE when clients disconnect during responses")
  func brokenPipes() async {
    await #expect(processExitsWith: .success) {
      signal(SIGPIPE, SIG_DFL)
      let body = [UInt8](repeating: 1, count: 4 << 20)
      try await withServer(.init(), TestHandler.responding(Response(status: 200, body: .bytes(body)))) { port in
        try await onThread {
          for _ in 0..<50 {
            let client = try RawClient(port: port)
            try client.send(.get("/"))
            _ = try client.receive(10)
            client.reset()
          }
        }
        let answer = try await ask(port, .get("/"))
        exit(answer.body.count == 4 << 20 ? 0 : 1)
      }
    }
  }

  @Test("a dropped server ends by itself")
  func dropped() async throws {
    let client: RawClient
    do {
      let server = try HTTPServer()
      let listener = try server.listen(handler: TestHandler.mirror)
      client = try RawClient(port: listener.port)
      _ = try await onThread { try client.exchange(.get("/")) }
      withExtendedLifetime(server) {}
    }
    #expect(try await onThread { try client.receiveAll() }.isEmpty)
  }
}
