import EventLoops
import Glibc
import HTTPMessages
import TestSupport
import Testing

@Suite("An event loop")
struct EventLoopTests {
  @Test("gives a turn to a source that another thread wakes, on its own thread")
  func wake() async throws {
    try await withLoop { loop, source, place in
      let turn = await source.next { place.wake() }
      #expect(turn.isOnLoop)
      #expect(EventLoop.current == nil)
    }
  }

  @Test("tells a descriptor that is ready, and gives a turn then")
  func ready() async throws {
    let ends = try Ends()
    try await withLoop { loop, source, place in
      await source.run { loop.watch(ends.reading, for: .reading, at: place) }
      let turn = await source.next { ends.write() }
      #expect(turn.ready == [ends.reading])
      #expect(turn.readiness == .reading)
    }
  }

  @Test("gives a turn when its time has come")
  func time() async throws {
    try await withLoop { loop, source, place in
      let start = monotonicNanoseconds()
      await source.run { source.wish = start + 30_000_000 }
      let turn = await source.next {}
      #expect(turn.now >= start + 30_000_000)
    }
  }

  @Test("says nothing of a paused descriptor, and all of it once it is watched again")
  func pause() async throws {
    let ends = try Ends()
    try await withLoop { loop, source, place in
      await source.run {
        loop.watch(ends.reading, for: .reading, at: place)
        loop.pause(ends.reading)
      }
      ends.write()
      // It is ready all the while: in no round is it told.
      for _ in 0..<4 {
        let turn = await source.next { place.wake() }
        #expect(turn.ready == [])
      }
      let turn = await source.next { source.later { loop.watch(ends.reading, for: .reading, at: place) } }
      #expect(turn.ready == [] || turn.ready == [ends.reading])
      if turn.ready.isEmpty { #expect(await source.next {}.ready == [ends.reading]) }
    }
  }

  @Test("says nothing of a forgotten descriptor, nor to a source that has been taken out")
  func forget() async throws {
    let (one, other) = (try Ends(), try Ends())
    try await withLoop { loop, source, place in
      let guest = Source()
      await source.run {
        loop.watch(one.reading, for: .reading, at: place)
        loop.forget(one.reading)
        let guestPlace = loop.add(guest)
        loop.watch(other.reading, for: .reading, at: guestPlace)
        loop.remove(guestPlace)
      }
      one.write()
      other.write()
      #expect(await source.next { place.wake() }.ready == [])
      #expect(guest.turns == 0)
    }
  }

  @Test("gives a turn in the same round to a source that another's turn wakes")
  func sameRound() async throws {
    try await withLoop { loop, source, place in
      let guest = Source()
      let woken = Guarded<EventPlace?>(nil)
      await source.run { woken.withLock { $0 = loop.add(guest) } }
      _ = await source.next { source.later { woken.withLock { $0 }?.wake() } }
      _ = await source.next { place.wake() }
      #expect(guest.turns >= 2)
    }
  }

  @Test("tells its sources its end, also where it has never begun")
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

  private func withLoop(_ body: (EventLoop, Source, EventPlace) async throws -> Void) async throws {
    let loop = try EventLoop(named: "test")
    let source = Source()
    let place = loop.add(source)
    source.place.withLock { $0 = place }
    let first = Task { await source.next {} }
    await source.untilAwaited()
    try loop.start()
    _ = await first.value
    do {
      try await body(loop, source, place)
    } catch {
      try await onThread { loop.stop() }
      throw error
    }
    try await onThread { loop.stop() }
  }
}

/// What a turn has seen.
private struct Turn: Sendable {
  var now: UInt64 = 0
  var ready: [Int32] = []
  var readiness: Readiness = []
  var isOnLoop = false
}

/// Tells its turns to who waits for them.
private final class Source: EventSource, @unchecked Sendable {
  private struct State {
    var turn = Turn()
    var work: [@Sendable () -> Void] = []
    var waiter: CheckedContinuation<Turn, Never>?
    var awaited: CheckedContinuation<Void, Never>?
    var turns = 0
    var ends = 0
  }

  let place = Guarded<EventPlace?>(nil)
  private let state = Guarded(State())
  /// When it wants a turn; of the loop's thread alone.
  var wish: UInt64?

  var turns: Int { state.withLock { $0.turns } }
  var ends: Int { state.withLock { $0.ends } }

  /// The next turn after some work on this thread.
  func next(_ work: @Sendable () -> Void) async -> Turn {
    await withCheckedContinuation { continuation in
      let awaited = state.withLock { state in
        state.waiter = continuation
        return state.awaited.take()
      }
      awaited?.resume()
      work()
    }
  }

  /// Does some work in a turn.
  func run(_ work: @escaping @Sendable () -> Void) async {
    _ = await next { later(work) }
  }

  func later(_ work: @escaping @Sendable () -> Void) {
    state.withLock { $0.work.append(work) }
    place.withLock { $0 }?.wake()
  }

  /// Returns once somebody waits for a turn.
  func untilAwaited() async {
    await withCheckedContinuation { continuation in
      let isAwaited = state.withLock { state in
        if state.waiter == nil { state.awaited = continuation }
        return state.waiter != nil
      }
      if isAwaited { continuation.resume() }
    }
  }

  func isReady(_ descriptor: Int32, for readiness: Readiness) {
    state.withLock { state in
      state.turn.ready.append(descriptor)
      state.turn.readiness = readiness
    }
    // What is not read stays ready.
    var byte: UInt8 = 0
    _ = read(descriptor, &byte, 1)
  }

  func turn(now: UInt64) -> UInt64? {
    for work in state.withLock({ state in
      defer { state.work = [] }
      return state.work
    }) { work() }
    let (waiter, turn) = state.withLock { state in
      defer { state.turn = Turn() }
      state.turns += 1
      state.turn.now = now
      state.turn.isOnLoop = EventLoop.current != nil
      return (state.waiter.take(), state.turn)
    }
    waiter?.resume(returning: turn)
    defer { if let wish, wish <= now { self.wish = nil } }
    return wish
  }

  func loopEnds() { state.withLock { $0.ends += 1 } }
}

/// A pipe.
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
