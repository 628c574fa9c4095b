import Basics
import HTTPMessages
import Testing

@Suite("Byte pipes", .timeLimit(.minutes(5)))
struct BytePipeTests {
  private struct Broken: Error {}

  private func take(_ pipe: BytePipe, _ most: Int = 100) -> (BytePipe.Taken, [UInt8]) {
    var bytes = [UInt8](repeating: 0, count: most)
    let taken = bytes.withUnsafeMutableBytes { pipe.take(into: $0) }
    if case .bytes(let count) = taken { return (taken, Array(bytes.prefix(count))) }
    return (taken, [])
  }

  private func isTaken(_ pipe: BytePipe, _ expected: String) -> Bool {
    switch take(pipe).0 {
    case .bytes: expected == "bytes"
    case .empty: expected == "empty"
    case .end: expected == "end"
    case .failed: expected == "failed"
    }
  }

  private func offer(_ pipe: BytePipe, _ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { pipe.offer($0) }
  }

  @Test("takes the last bytes even if there is no room, and ends after them")
  func lastBytes() async throws {
    let pipe = BytePipe(capacity: 1)
    #expect(offer(pipe, [1]) && !offer(pipe, [2]))
    pipe.finish(with: [2, 3])
    let pieces = try await [pipe.read(), pipe.read(), pipe.read()]
    #expect(pieces == [[1], [2, 3], nil])
  }

  // MARK: Tasks

  @Test("passes a stream larger than its capacity")
  func stream() async throws {
    let pipe = BytePipe(capacity: 7)
    let bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0) }
    async let all = Body.stream(pipe, length: nil).collect(upTo: 10_000)
    for start in stride(from: 0, to: bytes.count, by: 16) { try await pipe.write(Array(bytes[start...].prefix(16))) }
    pipe.finish()
    #expect(try await all == bytes)
  }

  @Test("joins separate writes in one read, unless told to keep chunks", arguments: [false, true])
  func pieces(keepsChunks: Bool) async throws {
    let pipe = BytePipe(keepsChunks: keepsChunks)
    try await pipe.write([1, 2, 3])
    try await pipe.write([4, 5])
    pipe.finish()
    #expect(take(pipe, 2).1 == [1, 2])
    #expect(take(pipe).1 == (keepsChunks ? [3] : [3, 4, 5]))
    #expect(take(pipe).1 == (keepsChunks ? [4, 5] : []))
  }

  @Test("blocks the writer while the pipe is full")
  func backPressure() async throws {
    let pipe = BytePipe(capacity: 4)
    let written = Guarded(0)
    let writer = Task {
      for _ in 0..<3 {
        try await pipe.write([1, 2, 3, 4])
        written.withLock { $0 += 1 }
      }
      pipe.finish()
    }
    for round in 1...3 {
      #expect(try await pipe.read() == [1, 2, 3, 4])
      // One chunk is in the pipe, and another may have been accepted since.
      #expect(written.withLock { $0 } <= round + 1)
    }
    try await writer.value
    #expect(try await pipe.read() == nil)
  }

  @Test("throws the writer's error after the bytes written before it")
  func failure() async throws {
    let pipe = BytePipe()
    try await pipe.write([1])
    pipe.fail(Broken())
    pipe.finish()
    #expect(try await pipe.read() == [1])
    await #expect(throws: Broken.self) { try await pipe.read() }
    await #expect(throws: Broken.self) { try await pipe.write([2]) }
  }

  @Test("wakes a waiting reader on bytes, end, failure and abandonment", arguments: 0..<4)
  func readerWakes(how: Int) async throws {
    let pipe = BytePipe()
    async let read = Result { try await pipe.read() }
    await Task.yield()
    switch how {
    case 0: try await pipe.write([1])
    case 1: pipe.finish()
    case 2: pipe.fail(Broken())
    default: pipe.abandon()
    }
    switch (how, await read) {
    case (0, .success([1])), (1, .success(nil)), (2, .failure(is Broken)), (3, .success(nil)): break
    case (_, let result): Issue.record("\(result)")
    }
  }

  @Test("wakes a waiting writer on room, abandonment and failure", arguments: 0..<3)
  func writerWakes(how: Int) async throws {
    let pipe = BytePipe(capacity: 1)
    try await pipe.write([1])
    async let write = Result { try await pipe.write([2]) }
    await Task.yield()
    switch how {
    case 0: _ = try await pipe.read()
    case 1: pipe.abandon()
    default: pipe.fail(Broken())
    }
    switch (how, await write) {
    case (0, .success), (1, .failure(is BytePipe.ReaderGone)), (2, .failure(is Broken)): break
    case (_, let result): Issue.record("\(result)")
    }
  }

  @Test("cancelling ends a wait on either side without losing later bytes")
  func cancellation() async throws {
    let pipe = BytePipe(capacity: 1)
    let reader = Task { try await pipe.read() }
    reader.cancel()
    await #expect(throws: CancellationError.self) { try await reader.value }
    try await pipe.write([1])
    let writer = Task { try await pipe.write([2]) }
    writer.cancel()
    await #expect(throws: CancellationError.self) { try await writer.value }
    #expect(try await pipe.read() == [1])
    try await pipe.write([3])
    #expect(try await pipe.read() == [3])
  }

  @Test("ignores empty writes")
  func nothing() async throws {
    let pipe = BytePipe()
    try await pipe.write([])
    #expect(offer(pipe, []))
    #expect(isTaken(pipe, "empty"))
  }

  // MARK: Threads

  @Test("takes bytes across chunk boundaries")
  func taking() {
    let pipe = BytePipe()
    #expect(offer(pipe, [1, 2, 3]) && offer(pipe, [4]) && offer(pipe, [5, 6]))
    #expect(take(pipe, 2).1 == [1, 2])
    #expect(take(pipe, 3).1 == [3, 4, 5])
    pipe.finish()
    #expect(take(pipe).1 == [6])
    #expect(isTaken(pipe, "end"))
  }

  @Test("a task reads the rest of a chunk that a thread took partially")
  func mixed() async throws {
    let pipe = BytePipe()
    _ = offer(pipe, [1, 2, 3])
    _ = take(pipe, 1)
    #expect(try await pipe.read() == [2, 3])
  }

  @Test("takes many small chunks in order")
  func manyChunks() {
    let pipe = BytePipe(capacity: 60_000)
    for index in 0..<50_000 { #expect(offer(pipe, [UInt8(truncatingIfNeeded: index)])) }
    pipe.finish()
    var all: [UInt8] = []
    while case let (taken, bytes) = take(pipe, 777), case .bytes = taken { all += bytes }
    #expect(all == (0..<50_000).map { UInt8(truncatingIfNeeded: $0) })
  }

  @Test("calls back once after it was found empty, and not before")
  func readable() {
    let pipe = BytePipe()
    let calls = Guarded(0)
    pipe.onReadable { calls.withLock { $0 += 1 } }
    _ = offer(pipe, [1])
    #expect(calls.withLock { $0 } == 0)
    _ = take(pipe)
    _ = take(pipe)
    _ = offer(pipe, [2])
    _ = offer(pipe, [3])
    #expect(calls.withLock { $0 } == 1)
    _ = take(pipe)
    _ = take(pipe)
    pipe.finish()
    #expect(calls.withLock { $0 } == 2)
  }

  @Test("calls back after refusing bytes, once there is room and at the end", arguments: 0..<4)
  func writable(how: Int) {
    let pipe = BytePipe(capacity: 2)
    let calls = Guarded(0)
    pipe.onWritable { calls.withLock { $0 += 1 } }
    #expect(offer(pipe, [1, 2, 3]))
    #expect(!offer(pipe, [4]))
    switch how {
    case 0:
      _ = take(pipe, 1)
      #expect(calls.withLock { $0 } == 0)
      _ = take(pipe, 2)
    case 1: pipe.abandon()
    case 2: pipe.fail(Broken())
    default: pipe.finish()
    }
    #expect(calls.withLock { $0 } == 1)
    #expect(offer(pipe, [5]))
  }

  @Test("reports abandonment once, even to late listeners, and never after the end")
  func abandoning() {
    let calls = Guarded(0)
    let pipe = BytePipe()
    pipe.onAbandoned { calls.withLock { $0 += 1 } }
    pipe.abandon()
    pipe.abandon()
    #expect(calls.withLock { $0 } == 1 && pipe.isAbandoned)
    pipe.onAbandoned { calls.withLock { $0 += 10 } }
    #expect(calls.withLock { $0 } == 11)
    let finished = BytePipe()
    finished.onAbandoned { calls.withLock { $0 += 100 } }
    finished.finish()
    finished.abandon()
    #expect(calls.withLock { $0 } == 11 && !finished.isAbandoned)
    let unread = BytePipe()
    #expect(offer(unread, [1]) && !unread.hasLeftovers)
    unread.abandon()
    #expect(unread.hasLeftovers && !pipe.hasLeftovers)
  }

  @Test("drops bytes offered after the end")
  func offeringLate() {
    let pipe = BytePipe()
    pipe.finish()
    #expect(offer(pipe, [1]))
    #expect(isTaken(pipe, "end"))
  }

  @Test("holds the bytes it is created with")
  func holding() async throws {
    #expect(try await Body.stream(BytePipe(holding: [1, 2]), length: 2).collect(upTo: 2) == [1, 2])
    #expect(try await BytePipe(holding: []).read() == nil)
  }

  @Test("keeps the order of bytes between threads")
  func threads() async throws {
    let pipe = BytePipe(capacity: 1000)
    let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let writer = Task {
      for start in stride(from: 0, to: bytes.count, by: 333) {
        try await pipe.write(Array(bytes[start...].prefix(333)))
      }
      pipe.finish()
    }
    let all = await withCheckedContinuation { (done: CheckedContinuation<[UInt8], Never>) in
      let collected = Guarded([UInt8]())
      @Sendable func drain() {
        while true {
          let (taken, bytes) = take(pipe, 500)
          switch taken {
          case .bytes: collected.withLock { $0 += bytes }
          case .empty: return
          case .end, .failed: return done.resume(returning: collected.withLock { $0 })
          }
        }
      }
      pipe.onReadable { drain() }
      drain()
    }
    pipe.onReadable(nil)
    try await writer.value
    #expect(all == bytes)
  }
}

extension Result where Failure == any Error {
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
