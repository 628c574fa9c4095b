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
