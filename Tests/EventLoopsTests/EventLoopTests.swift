import Basics
import EventLoops
import Glibc
import HTTPMessages
import TestSupport
import Testing

@Suite("Event loops")
struct EventLoopTests {
  @Test("gives a woken source a turn on the loop's thread")
  func wake() async throws {
    try await withLoop { _, source in
      #expect(EventLoop.current == nil)
      #expect(await source.run { _ in }.isOnLoop)
    }
  }

  @Test("reports a ready descriptor and then gives a turn")
  func ready() async throws {
    let ends = try Ends()
    try await withLoop { loop, source in
      await source.run { loop.watch(ends.reading, for: .reading, at: $0) }
      ends.write()
      let turn = await source.turn { !$0.ready.isEmpty }
      #expect(turn.ready == [ends.reading] && turn.readiness == .reading)
    }
  }

  @Test("gives a turn at the requested time")
  func time() async throws {
    try await withLoop { _, source in
      let time = monotonicNanoseconds() + 20_000_000
      await source.run { _ in source.wish = time }
      #expect(await source.turn { $0.wasWished }.now >= time)
    }
  }

  @Test("ignores a paused descriptor until it is watched again")
  func pause() async throws {
    let ends = try Ends()
    try await withLoop { loop, source in
      await source.run { place in
        loop.watch(ends.reading, for: .reading, at: place)
        loop.pause(ends.reading)
      }
      ends.write()
      // It stays ready, but no round reports it.
      for _ in 0..<4 { #expect(await source.run { _ in }.ready.isEmpty) }
      await source.run { loop.watch(ends.reading, for: .reading, at: $0) }
      #expect(await source.turn { !$0.ready.isEmpty }.ready == [ends.reading])
    }
  }

  @Test("reports a change once, although the descriptor stays ready")
  func changes() async throws {
    let ends = try Ends()
    try await withLoop { loop, source in
      // Before it is watched: two changes could be reported one by one.
      ends.write()
      ends.write()
      await source.run { loop.watch(ends.reading, for: [.reading, .changes], at: $0) }
      // The source reads one byte for each report.
      #expect(await source.turn { !$0.ready.isEmpty }.ready == [ends.reading])
      for _ in 0..<4 { #expect(await source.run { _ in }.ready.isEmpty) }
      ends.write()
      #expect(await source.turn { !$0.ready.isEmpty }.ready == [ends.reading])
    }
  }

  @Test("runs posted closures on its thread, and none after its end")
  func enqueue() async throws {
    let loop = try EventLoop(named: "test")
    let seen = Guarded<[EventLoop?]>([])
    // Before the start, while it runs, and as the last thing before the end.
    loop.enqueue { seen.withLock { $0.append(EventLoop.current) } }
    try loop.start()
    await withCheckedContinuation { continuation in
      _ = loop.enqueue {
        seen.withLock { $0.append(EventLoop.current) }
        continuation.resume()
      }
    }
    try await onThread { loop.stop() }
    #expect(!loop.enqueue { seen.withLock { $0.append(nil) } })
    #expect(seen.withLock { $0.count == 2 && $0.allSatisfy { $0 === loop } })
  }

  @Test("ignores forgotten descriptors and removed sources")
  func forget() async throws {
    let (one, other) = (try Ends(), try Ends())
    try await withLoop { loop, source in
      let guest = Source()
      await source.run { place in
        loop.watch(one.reading, for: .reading, at: place)
        loop.forget(one.reading)
        let guestPlace = loop.add(guest)
        loop.watch(other.reading, for: .reading, at: guestPlace)
        loop.remove(guestPlace)
      }
      one.write()
      other.write()
      for _ in 0..<4 { #expect(await source.run { _ in }.ready.isEmpty) }
      #expect(guest.turns == 0)
    }
  }

  @Test("gives a turn in the same round to a source woken by another's turn")
  func sameRound() async throws {
    try await withLoop { loop, source in
      let guest = Source()
      await source.run { _ in
        let place = loop.add(guest)
        guest.place.withLock { $0 = place }
      }
      let turns = guest.turns
      await source.run { _ in guest.place.withLock { $0 }?.wake() }
      await source.run { _ in }
      #expect(guest.turns > turns)
    }
  }

  @Test("notifies its sources of its end, even if it was never started")
  func end() async throws {
    for begins in [true, false] {
      let loop = try EventLoop(named: "test")
      let source = Source()
      _ = loop.add(source)
      if begins { try loop.start() }
      try await onThread { loop.stop() }
      loop.stop()
      #expect(source.ends == 1)
    }
  }

  private func withLoop(_ body: (EventLoop, Source) async throws -> Void) async throws {
    let loop = try EventLoop(named: "test")
    let source = Source()
    let place = loop.add(source)
    source.place.withLock { $0 = place }
    try loop.start()
    let result: Result<Void, any Error>
    do { result = .success(try await body(loop, source)) } catch { result = .failure(error) }
    try await onThread { loop.stop() }
    try result.get()
  }
}

/// What a source saw in one turn.
private struct Turn: Sendable {
  var now: UInt64 = 0
  var ready: [Int32] = []
  var readiness: Readiness = []
  var isOnLoop = false
  var wasWished = false
  /// The number of the work item done last.
  var work = 0
}

/// A source that reports all its turns in order.
private final class Source: EventSource, @unchecked Sendable {
  private struct State {
    var turn = Turn()
    var work: [@Sendable (EventPlace) -> Void] = []
    var lastWork = 0
    var turns = 0
    var ends = 0
  }

  let place = Guarded<EventPlace?>(nil)
  private let state = Guarded(State())
  private let stream: AsyncStream<Turn>
  private let continuation: AsyncStream<Turn>.Continuation
  /// When it wants a turn; accessed by the loop's thread only.
  var wish: UInt64?

  init() { (stream, continuation) = AsyncStream.makeStream(of: Turn.self) }

  var turns: Int { state.withLock { $0.turns } }
  var ends: Int { state.withLock { $0.ends } }

  /// Waits for a turn that matches; drops earlier ones.
  func turn(_ isIt: (Turn) -> Bool) async -> Turn {
    for await turn in stream where isIt(turn) { return turn }
    return Turn()
  }

  /// Does some work in a turn and returns that turn.
  @discardableResult
  func run(_ work: @escaping @Sendable (EventPlace) -> Void) async -> Turn {
    let number = state.withLock { state in
      state.work.append(work)
      state.lastWork += 1
      return state.lastWork
    }
    place.withLock { $0 }?.wake()
    return await turn { $0.work == number }
  }

  func isReady(_ descriptor: Int32, for readiness: Readiness) {
    state.withLock { state in
      state.turn.ready.append(descriptor)
      state.turn.readiness = readiness
    }
    // Unread data would keep it ready.
    var byte: UInt8 = 0
    _ = read(descriptor, &byte, 1)
  }

  func turn(now: UInt64) -> UInt64? {
    let (work, last) = state.withLock { state in
      defer { state.work = [] }
      return (state.work, state.work.isEmpty ? 0 : state.lastWork)
    }
    let wished = wish
    if let wished, wished <= now { wish = nil }
    if let place = place.withLock({ $0 }) { for work in work { work(place) } }
    let turn = state.withLock { state in
      defer { state.turn = Turn() }
      state.turns += 1
      state.turn.now = now
      state.turn.isOnLoop = EventLoop.current != nil
      state.turn.wasWished = wished.map { $0 <= now } ?? false
      state.turn.work = last
      return state.turn
    }
    continuation.yield(turn)
    return wish
  }

  func loopEnds() { state.withLock { $0.ends += 1 } }
}

/// Both ends of a pipe.
private final class Ends: Sendable {
  let reading: Int32
  private let writing: Int32

  init() throws {
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    (reading, writing) = (ends[0], ends[1])
  }

  deinit {
    close(reading)
    close(writing)
  }

  func write() {
    var byte: UInt8 = 1
    _ = Glibc.write(writing, &byte, 1)
  }
}
