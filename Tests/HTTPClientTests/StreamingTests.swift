import Basics
import Foundation
import HTTPClient
import HTTPMessages
import TestSupport
import Testing

@Suite("Streaming bodies", .timeLimit(.minutes(5)))
struct StreamingTests {
  private static let size = 100_000_000
  /// Far more than sockets and pipes hold, and far less than the whole body.
  private static let bound = 50_000_000

  /// Different bytes at every position, so loss, repetition and reordering are detected.
  private static func pattern(at offset: Int, count: Int) -> [UInt8] {
    (offset..<(offset + count)).map { UInt8(truncatingIfNeeded: $0 ^ ($0 >> 8) ^ ($0 >> 16)) }
  }

  /// In C, since these loops are slow in debug builds.
  private static func isSame(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Bool {
    left.withUnsafeBytes { left in
      right.withUnsafeBytes { right in
        guard left.count == right.count, let one = left.baseAddress, let other = right.baseAddress else { return false }
        return memcmp(one, other, left.count) == 0
      }
    }
  }

  @Test("downloads 100 MB, and a slow reader blocks the upstream", arguments: [true, false])
  func down(isChunked: Bool) async throws {
    let held = Signal<Int>()
    let block = Self.pattern(at: 0, count: 1_000_000)
    try await withUpstream { connection in
      _ = try connection.readHead()
      try connection.write(
        "HTTP/1.1 200 OK\r\n" + (isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(Self.size)") + "\r\n\r\n"
      )
      connection.limitWaits(milliseconds: 300)
      var written = 0
      var wasHeld = false
      for _ in 0..<(Self.size / block.count) {
        let piece = isChunked ? [UInt8]("F4240\r\n".utf8) + block + [13, 10] : block
        var done = 0
        while done < piece.count {
          let count = try connection.writeSome(piece[done...])
          if count == 0, !wasHeld {
            wasHeld = true
            held.send(written)
          }
          done += count
          written += count
        }
      }
      if !wasHeld { held.send(written) }
      if isChunked { try connection.write("0\r\n\r\n") }
      _ = connection.readToEnd()
    } _: { client, upstream in
      let response = try await client.send(Request(method: "GET", target: "/"), to: upstream.origin)
      // No reader: the upstream blocks, which takes 300 ms without progress to detect.
      #expect(try await held.next() < Self.bound)
      guard case .stream(let pipe, let length) = response.body else { throw Failure(what: "no stream") }
      #expect(length == (isChunked ? nil : Self.size))
      var count = 0
      var isSame = true
      while let chunk = try await pipe.read() {
        var rest = chunk[...]
        while !rest.isEmpty {
          let start = count % block.count
          let part = rest.prefix(block.count - start)
          isSame = isSame && Self.isSame(part, block[start..<(start + part.count)])
          count += part.count
          rest = rest.dropFirst(part.count)
        }
      }
      #expect(count == Self.size)
      #expect(isSame)
    }
  }

  @Test("uploads 100 MB, and a slow upstream blocks the writer", arguments: [true, false])
  func up(isChunked: Bool) async throws {
    let block = Self.pattern(at: 0, count: 65_536)
    let blocks = Self.size / block.count
    let gate = Gate()
    let sums = Signal<(Int, Bool)>()
    try await withUpstream { connection in
      _ = try connection.readHead()
      gate.wait()
      var count = 0
      var isSame = true
      let take = { (some: [UInt8]) in
        var rest = some[...]
        while !rest.isEmpty {
          let start = count % block.count
          let part = rest.prefix(block.count - start)
          isSame = isSame && Self.isSame(part, block[start..<(start + part.count)])
          count += part.count
          rest = rest.dropFirst(part.count)
        }
      }
      if isChunked {
        try connection.readChunked(take)
      } else {
        while count < blocks * block.count { take(try connection.readSome(upTo: 65_536)) }
      }
      sums.send((count, isSame))
      try connection.write(ok())
    } _: { client, upstream in
      let pipe = BytePipe()
      let written = Guarded(0)
      let writer = Task {
        for _ in 0..<blocks {
          try await pipe.write(block)
          written.withLock { $0 += block.count }
        }
        pipe.finish()
      }
      async let response = client.send(
        Request(
          method: "PUT", target: "/", body: .stream(pipe, length: isChunked ? nil : blocks * block.count)),
        to: upstream.origin)
      // The upstream reads nothing. Only time shows that the writer is blocked.
      var last = -1
      while true {
        let now = written.withLock { $0 }
        if now == last, now > 0 { break }
        last = now
        try await Task.sleep(for: .milliseconds(200))
      }
      #expect(last < Self.bound)
      gate.open()
      #expect(try await response.status == 200)
      try await writer.value
      let (count, isSame) = try await sums.next()
      #expect(count == blocks * block.count)
      #expect(isSame)
    }
  }

  @Test("streams in both directions at once")
  func echo() async throws {
    try await withUpstream { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      try connection.readChunked { bytes in
        let piece = [UInt8]((String(bytes.count, radix: 16) + "\r\n").utf8) + bytes + [13, 10]
        try? connection.write(piece)
      }
    } _: { client, upstream in
      let up = BytePipe()
      let response = try await client.send(
        Request(method: "POST", target: "/", body: .stream(up, length: nil)), to: upstream.origin)
      guard case .stream(let down, _) = response.body else { throw Failure(what: "no stream") }
      for number in 0..<100 {
        let text = [UInt8]("message \(number)".utf8)
        try await up.write(text)
        #expect(try await down.read() == text)
      }
      up.finish()
      #expect(try await down.read() == nil)
    }
  }

  @Test("a stream shorter than declared fails the request, and a longer one is truncated")
  func wrongLength() async throws {
    let bodies = Signal<String>()
    try await withUpstream { connection in
      while let head = try connection.readHead() {
        bodies.send(try connection.readBody(of: head))
        try connection.write(ok())
      }
    } _: { client, upstream in
      let short = BytePipe()
      short.offerAll("abc")
      short.finish()
      await #expect(throws: (any Error).self) {
        try await client.send(Request(method: "PUT", target: "/", body: .stream(short, length: 9)), to: upstream.origin)
      }
      let long = BytePipe()
      long.offerAll("abcGET / HTTP/1.1\r\n\r\n")
      let response = try await client.send(
        Request(method: "PUT", target: "/", body: .stream(long, length: 3)), to: upstream.origin)
      #expect(response.status == 200)
      #expect(try await bodies.next() == "abc")
      // The transfer releases the reader, perhaps a moment after the response has arrived.
      await #expect(throws: BytePipe.ReaderGone.self) { while true { try await long.write([1]) } }
    }
  }

  @Test("a failing stream fails the request with the same error")
  func failingUpload() async throws {
    struct Gone: Error {}
    let bytes = Signal<Int>()
    try await withUpstream { connection in
      _ = try connection.readHead()
      bytes.send(connection.readToEnd())
    } _: { client, upstream in
      let pipe = BytePipe()
      let origin = upstream.origin
      let sending = Task {
        try await client.send(Request(method: "PUT", target: "/", body: .stream(pipe, length: 9)), to: origin)
      }
      try await pipe.write([1, 2, 3])
      pipe.fail(Gone())
      await #expect(throws: Gone.self) { try await sending.value }
      #expect(try await bytes.next() <= 3)
    }
  }
}
