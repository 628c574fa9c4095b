import Basics
import Foundation
import HTTPClient
import HTTPMessages
import TestSupport
import Testing

@Suite("Upstream connections", .timeLimit(.minutes(5)))
struct ConnectionTests {
  @Test("are reused for successive requests")
  func reuse() async throws {
    try await withUpstream { connection in
      try connection.serve { _ in ok("x") }
    } _: { client, upstream in
      for _ in 0..<100 {
        let response = try await client.send(Request(method: "GET", target: "/"), to: upstream.origin)
        #expect(try await response.body.collect(upTo: 9) == [0x78])
      }
      #expect(upstream.connectionCount == 1)
    }
  }

  @Test("carry 500 requests at once, twice, and match responses to requests")
  func many() async throws {
    let waiting = Guarded(0)
    let all = Gate()
    try await withUpstream { connection in
      while let head = try connection.readHead() {
        // The upstream responds only after all have arrived.
        if waiting.withLock({
          $0 += 1
          return $0 % 500 == 0
        }) {
          for _ in 0..<500 { all.open() }
        }
        all.wait()
        try connection.write(ok(String(head.split(separator: " ")[1])))
      }
    } _: { client, upstream in
      let origin = upstream.origin
      for _ in 0..<2 {
        try await withThrowingTaskGroup(of: Bool.self) { group in
          for number in 0..<500 {
            group.addTask {
              let response = try await client.send(Request(method: "GET", target: "/\(number)"), to: origin)
              return try await response.body.collect(upTo: 9) == [UInt8]("/\(number)".utf8)
            }
          }
          for try await isSame in group { #expect(isSame) }
        }
      }
      #expect(upstream.connectionCount == 500)
    }
  }

  @Test("are replaced and the body sent again if closed", arguments: ["bytes", "stream", "file"])
  func closedMeanwhile(kind: String) async throws {
    let path = NSTemporaryDirectory() + "diorama-\(UUID().uuidString)"
    try "text".write(toFile: path, atomically: false, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: path) }
    let bodies = Signal<String>()
    try await withUpstream { connection in
      guard let first = try connection.readHead() else { return }
      bodies.send(try connection.readBody(of: first))
      try connection.write(ok())
      // Reads the second request and closes the connection, as after a long idle time.
      if let second = try connection.readHead() { _ = try connection.readBody(of: second) }
    } _: { client, upstream in
      let body: () -> Body = {
        if kind == "bytes" { return .bytes([UInt8]("text".utf8)) }
        if kind == "file" { return .file(FileBody(owning: open(path, O_RDONLY | O_CLOEXEC), length: 4)) }
        let pipe = BytePipe()
        pipe.offerAll("text")
        pipe.finish()
        return .stream(pipe, length: nil)
      }
      for _ in 0..<2 {
        let response = try await client.send(
          Request(method: "PUT", target: "/", body: body()), to: upstream.origin)
        #expect(response.status == 200)
        #expect(try await bodies.next() == "text")
      }
      #expect(upstream.connectionCount == 2)
    }
  }

  @Test("use chunks again once an old upstream supports HTTP/1.1")
  func oldUpstream() async throws {
    try await withUpstream { connection in
      guard let head = try connection.readHead() else { return }
      let body = try connection.readBody(of: head)
      try connection.write("HTTP/1.0 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    } _: { client, upstream in
      for _ in 0..<3 {
        let pipe = BytePipe()
        pipe.offerAll("text")
        pipe.finish()
        let response = try await client.send(
          Request(method: "PUT", target: "/", body: .stream(pipe, length: nil)), to: upstream.origin)
        #expect(try await response.body.collect(upTo: 9) == [UInt8]("text".utf8))
      }
    }
  }

  @Test("are not inherited by child processes")
  func closeOnExec() async throws {
    try await withUpstream { connection in
      try connection.serve { _ in ok() }
    } _: { client, upstream in
      _ = try await client.send(Request(method: "GET", target: "/"), to: upstream.origin)
      var found = 0
      for descriptor in 0..<getdtablesize() where peerPort(of: descriptor) == upstream.origin.port {
        found += 1
        #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
      }
      #expect(found == 1)
    }
  }

  private func peerPort(of descriptor: Int32) -> Int? {
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) }
    }
    return code == 0 && address.sin_family == AF_INET ? Int(UInt16(bigEndian: address.sin_port)) : nil
  }

  @Test("are closed when the client is gone")
  func closedWithClient() async throws {
    let ended = Signal<Int>()
    let upstream = try ScriptedUpstream { connection in
      _ = try connection.readHead()
      try connection.write(ok())
      ended.send(connection.readToEnd())
    }
    defer { upstream.stop() }
    _ = try await HTTPClient(.init(environment: [:])).send(Request(method: "GET", target: "/"), to: upstream.origin)
    #expect(try await ended.next() == 0)
  }
}
