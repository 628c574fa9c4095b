import Basics
import Foundation
import HTTPMessages
import HTTPServer
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Concurrent load", .timeLimit(.minutes(5)))
struct LoadTests {
  @Test("handles 1,000 requests that wait at the same time")
  func thousand() async throws {
    let count = Guarded(0)
    let allHere = Event()
    let handler = TestHandler(slow: { request in
      let here = count.withLock { count in
        count += 1
        return count
      }
      if here == 1000 { allHere.happen() }
      try await allHere.wait()
      return Response(status: 200, body: .bytes(Array(request.target.utf8)))
    })
    try await withServer(.init(), handler) { port in
      let texts = try await onThread {
        let clients = try (0..<1000).map { index in
          let client = try RawClient(port: port)
          try client.send(.get("/\(index)"))
          return client
        }
        return try clients.map { try $0.receiveAnswer().text }
      }
      #expect(texts == (0..<1000).map { "/\($0)" })
    }
  }

  @Test("supports 200 listeners, each with its own handler")
  func listeners() async throws {
    let server = try HTTPServer()
    let listeners = try (0..<200).map { index in
      try server.listen(handler: TestHandler.responding(Response(status: 200, body: .bytes(Array("\(index)".utf8)))))
    }
    #expect(Set(listeners.map(\.port)).count == 200)
    let texts = try await onThread { try listeners.map { try RawClient(port: $0.port).exchange(.get("/")).text } }
    #expect(texts == (0..<200).map(String.init))
    await server.stop()
  }

  @Test("sends prepared responses on many connections and threads at once")
  func prepared() async throws {
    let prepared = try PreparedResponse(status: 200, headers: ["X-A": "1"], body: Array("prepared".utf8))
    try await withServer(.init(threads: 4), TestHandler(fast: { _ in prepared })) { port in
      try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<8 {
          group.addTask {
            try await onThread {
              let client = try RawClient(port: port)
              return try (0..<500).count { _ in try client.exchange(.get("/a?b")).text == "prepared" }
            }
          }
        }
        for try await count in group { #expect(count == 500) }
      }
    }
  }
}

@Suite("Third-party clients", .timeLimit(.minutes(5)))
struct OtherClientsTests {
  /// Runs a program and returns its output.
  private func run(_ program: String, _ arguments: [String]) async throws -> String {
    // Through the shell: AddressSanitizer reports an overflow in Foundation's Process, in its search for open descriptors.
    let words = ([program] + arguments).map {
      "'"
        + $0.split(separator: "'", omittingEmptySubsequences: false)
        .joined(separator: "'\\''") + "'"
    }
    let command = words.joined(separator: " ") + " 2>/dev/null"
    return try await onThread {
      guard let stream = popen(command, "r") else { throw RawClient.Failure(description: command) }
      defer { pclose(stream) }
      var output: [UInt8] = []
      while case let byte = getc(stream), byte != EOF { output.append(UInt8(truncatingIfNeeded: byte)) }
      return String(decoding: output, as: UTF8.self)
    }
  }

  private func expect(_ expected: String, from arguments: [String]) async throws {
    let output = try await run("curl", arguments)
    #expect(output == expected)
  }

  @Test("curl: uploads with 100-continue, chunked both ways, HEAD, proxy requests")
  func curl() async throws {
    let handler = TestHandler(slow: { request in
      let body = try await request.body.collect(upTo: 1 << 24)
      let text = "\(request.method) \(request.target) \(body.count)"
      guard request.method != "HEAD" else { return Response(status: 200, headers: ["Content-Length": "5"]) }
      let pipe = BytePipe()
      Task {
        try await pipe.write(Array(text.utf8))
        pipe.finish()
      }
      return Response(status: 200, body: .stream(pipe, length: nil))
    })
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID().uuidString)")
    try Data(count: 3_000_000).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    try await withServer(.init(), handler) { port in
      let url = "http://127.0.0.1:\(port)"
      let quiet = ["-sS", "--max-time", "240", "--noproxy", ""]
      try await expect("PUT /a 3000000", from: quiet + ["\(url)/a", "-T", file.path])
      let chunked = [
        "-H", "Transfer-Encoding: chunked", "-H", "Expect: 100-continue", "--data-binary", "@\(file.path)",
      ]
      try await expect("POST /b 3000000", from: quiet + ["\(url)/b"] + chunked)
      try await expect("200", from: quiet + ["-I", "\(url)/c", "-o", "/dev/null", "-w", "%{http_code}"])
      let proxied = ["-x", url, "http://api.example.com/x?y=1"]
      try await expect("GET http://api.example.com/x?y=1 0", from: quiet + proxied)
      let two = try await run("curl", quiet + ["\(url)/1", "\(url)/2", "-w", " %{num_connects}\n"])
      #expect(two == "GET /1 0 1\nGET /2 0 0\n")
    }
  }

  @Test("Python's http.client: several requests on one connection")
  func python() async throws {
    let script = """
      import http.client, sys
      c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=240)
      for method, body in [("GET", None), ("HEAD", None), ("POST", b"x" * 70000), ("DELETE", None)]:
          c.request(method, "/p?q", body=body)
          r = c.getresponse()
          print(r.status, len(r.read()), r.headers.get_all("Set-Cookie"))
      c.request("PUT", "/chunked", body=iter([b"a" * 100, b"b" * 50000]), encode_chunked=True,
                headers={"Transfer-Encoding": "chunked"})
      print(c.getresponse().read().decode())
      """
    let handler = TestHandler(slow: { request in
      let body = try await request.body.collect(upTo: 1 << 20)
      return Response(
        status: 200, headers: ["Set-Cookie": "a=1", "set-cookie": "b=2"],
        body: .bytes(Array("\(request.method) \(body.count)".utf8)))
    })
    try await withServer(.init(), handler) { port in
      let cookies = "['a=1', 'b=2']"
      let output = try await run("python3", ["-c", script, "\(port)"])
      #expect(
        output == """
          200 5 \(cookies)
          200 0 \(cookies)
          200 10 \(cookies)
          200 8 \(cookies)
          PUT 50100

          """)
    }
  }
}
