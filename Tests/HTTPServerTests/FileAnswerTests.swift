import Foundation
import HTTPMessages
import HTTPServer
import TestSupport
import Testing

@Suite("File responses", .timeLimit(.minutes(5)))
struct FileAnswerTests {
  /// A file in the temporary folder, removed at the end.
  private func withFile(_ size: Int, _ body: (String, [UInt8]) async throws -> Void) async throws {
    let path = NSTemporaryDirectory() + "diorama-\(UUID().uuidString)"
    let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    try await body(path, bytes)
  }

  private static func open(_ path: String, length: Int) -> Response {
    let file = FileBody(owning: Foundation.open(path, O_RDONLY | O_CLOEXEC), length: length)
    return Response(status: 200, headers: ["Content-Type": "image/png"], body: .file(file))
  }

  @Test("sends length and bytes, and the same head for HEAD", arguments: [0, 1, 1_000_000])
  func whole(size: Int) async throws {
    try await withFile(size) { path, bytes in
      let handler = TestHandler(slow: { _ in Self.open(path, length: size) })
      try await withServer(.init(), handler) { port in
        try await onThread {
          let client = try RawClient(port: port)
          for _ in 0..<2 {
            let answer = try client.exchange(.get("/"))
            #expect(answer.body == bytes)
            #expect(answer.headers["Content-Length"] == "\(size)" && answer.headers["Transfer-Encoding"] == nil)
          }
          try client.send(.get("/", "HEAD"))
          let head = try client.receiveAnswer(toHead: true)
          if size > 0 { #expect(head.headers["Content-Length"] == "\(size)") }
          let old = try RawClient(port: port).exchange("GET / HTTP/1.0\r\n\r\n")
          #expect(old.body == bytes)
        }
      }
    }
  }

  @Test("sends one file to many clients at once")
  func shared() async throws {
    try await withFile(3_000_000) { path, bytes in
      let response = Self.open(path, length: bytes.count)
      try await withServer(.init(), TestHandler.responding(response)) { port in
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
          for _ in 0..<8 { group.addTask { try await ask(port, .get("/")).body } }
          for try await body in group { #expect(body == bytes) }
        }
      }
    }
  }

  @Test("closes the connection after the idle timeout if the file was truncated")
  func cut() async throws {
    try await withFile(1_000_000) { path, bytes in
      let handler = TestHandler(slow: { _ in Self.open(path, length: 2_000_000) })
      var configuration = HTTPServer.Configuration()
      configuration.idleSeconds = 1
      try await withServer(configuration, handler) { port in
        try await onThread {
          let client = try RawClient(port: port)
          try client.send(.get("/"))
          #expect(try client.receiveHead().headers["Content-Length"] == "2000000")
          #expect(try client.receiveAll() == bytes)
        }
      }
    }
  }
}
