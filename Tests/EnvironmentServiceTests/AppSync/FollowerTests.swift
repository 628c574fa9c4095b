import Basics
import Foundation
import HTTPMessages
import LaunchContract
import Testing

@testable import EnvironmentService

/// Tests the state alone, at times that each test chooses.
@Suite("An app that follows an environment")
struct FollowerTests {
  private struct Link {
    var live: AppSync
    var now = ContinuousClock.now
    let results = Guarded<[Int: Result<Environment.Moved, CodedError>]>([:])
    let answered = Guarded<Set<Int>>([])

    init() throws {
      live = AppSync(
        try MutableState(
          mode: .mock, clock: .init(kind: .manual, start: "2018-10-08T09:00:00Z"), toggles: [:], values: [:]))
    }

    /// Whether responses are sent at once, as on an idle machine.
    var isQuick = true

    mutating func settle() {
      live.settle(at: now)
      for action in live.takeOutbox() { action() }
      if isQuick { sendAnswers() }
    }

    mutating func sendAnswers() {
      for number in answered.withLock({ $0 }) { live.close(number, at: now) }
    }

    mutating func ask(_ name: String?, after: Int = 0, watch: Int? = 0, connection: UInt64? = nil) -> Int {
      let number = live.open(
        .init(after: after, watch: watch, until: now + .seconds(60), follower: name, connection: connection))
      settle()
      live.await(number) { [answered] in answered.withLock { _ = $0.insert(number) } }
      settle()
      return number
    }

    mutating func advance(afterSleepers: Int = 0, seconds: Int = 30) -> Int {
      let key = Guarded(0)
      let number = live.begin(
        .move(.advance(.seconds(1)), afterSleepers: afterSleepers), timeout: .seconds(seconds), at: now,
        done: { [results] result in results.withLock { $0[key.withLock { $0 }] = result } })
      key.withLock { $0 = number }
      settle()
      return number
    }

    mutating func take(_ message: Acknowledgement) {
      live.take(message)
      settle()
    }

    mutating func wait(_ seconds: Int) {
      now += .seconds(seconds)
      settle()
    }

    func result(_ number: Int) -> Result<Environment.Moved, CodedError>? { results.withLock { $0[number] } }

    func message(_ number: Int) -> String {
      guard case .failure(let error) = result(number) else { return "" }
      return error.message
    }
  }

  @Test("is waited for until it acknowledges a change")
  func acknowledged() throws {
    var link = try Link()
    let question = link.ask("a")
    let change = link.advance()
    #expect(link.answered.withLock { $0 } == [question])
    #expect(link.result(change) == nil)
    link.take(.init(follower: "a", revision: 1, now: "2018-10-08T09:00:01Z", woken: 2))
    let moved = try #require(try link.result(change)?.get())
    #expect((moved.revision, moved.woken) == (1, 2))
    #expect(moved.now == beginning + 1)
  }

  @Test("is waited for along with other apps, and their woken sleepers are added up")
  func several() throws {
    var link = try Link()
    for name in ["a", "b", "c"] { _ = link.ask(name) }
    let change = link.advance()
    for name in ["c", "a"] { link.take(.init(follower: name, revision: 1, woken: 1)) }
    #expect(link.result(change) == nil)
    link.take(.init(follower: "b", revision: 1, woken: 3))
    #expect(try link.result(change)?.get().woken == 5)
  }

  @Test("is not waited for if it follows later, or only reads the state")
  func others() throws {
    var link = try Link()
    _ = link.ask(nil)
    let change = link.advance()
    #expect(try link.result(change)?.get().revision == 1)
    _ = link.ask("late")
    #expect(link.live.followers["late"]?.revision == 0)
  }

  @Test("is no longer waited for once it hangs up")
  func hangsUp() throws {
    var link = try Link()
    _ = link.ask("a")
    let change = link.advance()
    let second = link.ask("a", after: 1)
    #expect(link.result(change) == nil)
    link.live.clientLeft(second)
    link.settle()
    #expect(try link.result(change)?.get().woken == 0)
    #expect(link.live.followers.isEmpty)
  }

  @Test("stays if one of its two connections closes")
  func reconnects() throws {
    var link = try Link()
    let first = link.ask("a")
    _ = link.ask("a")
    link.live.clientLeft(first)
    link.settle()
    let change = link.advance()
    #expect(link.result(change) == nil)
    #expect(link.live.followers["a"] != nil)
  }

  @Test("that keeps its connection is gone when the connection closes, even between two polls")
  func closes() throws {
    var link = try Link()
    _ = link.ask("kept", connection: 7)
    _ = link.ask("not-kept")
    let change = link.advance()
    link.live.closed(8)
    link.settle()
    #expect(link.live.followers.keys.sorted() == ["kept", "not-kept"])
    link.live.closed(7)
    link.take(.init(follower: "not-kept", revision: 1, woken: 1))
    #expect(try link.result(change)?.get().woken == 1)
  }

  @Test("may be away for 30 seconds between two polls, and counts as gone after that")
  func away() throws {
    var link = try Link()
    _ = link.ask("a")
    let change = link.advance(seconds: 60)
    let alarm = link.live.takeAlarm()
    #expect(alarm == link.now + .seconds(30))
    link.wait(29)
    #expect(link.result(change) == nil)
    link.wait(1)
    #expect(try link.result(change)?.get().woken == 0)
    #expect(link.live.followers.isEmpty)
  }

  @Test("that keeps its connection is waited for while that is open, however long it takes")
  func kept() throws {
    var link = try Link()
    _ = link.ask("a", connection: 7)
    let change = link.advance(seconds: 600)
    link.wait(599)
    #expect(link.live.followers["a"] != nil)
    link.take(.init(follower: "a", revision: 1, woken: 1))
    #expect(try link.result(change)?.get().woken == 1)
  }

  @Test("is not away while its answer has not been sent")
  func unsent() throws {
    var link = try Link()
    link.isQuick = false
    _ = link.ask("a")
    let change = link.advance(seconds: 60)
    link.wait(45)
    #expect(link.live.followers["a"] != nil)
    link.sendAnswers()
    link.wait(14)
    link.take(.init(follower: "a", revision: 1, woken: 1))
    #expect(try link.result(change)?.get().woken == 1)
  }

  @Test("is named with its revision if it does not acknowledge a change in time")
  func late() throws {
    var link = try Link()
    _ = link.ask("quick")
    _ = link.ask("slow")
    let change = link.advance()
    _ = link.ask("slow", after: 1)
    link.take(.init(follower: "quick", revision: 1))
    link.wait(30)
    #expect(
      link.message(change)
        == "waited 30.0 seconds for revision 1 to be applied by the app slow, which is at revision 0; is it stopped, or too busy?"
    )
  }

  @Test("reports why it cannot apply a step")
  func failed() throws {
    var link = try Link()
    _ = link.ask("a")
    let change = link.advance()
    link.take(.init(follower: "a", revision: 1, error: "no such zone"))
    #expect(link.message(change) == "the app a could not apply revision 1: no such zone")
  }

  @Test("reports its number of sleepers on request, and the move is made once there are enough")
  func sleepers() throws {
    var link = try Link()
    let questions = [link.ask("a"), link.ask("b")]
    let change = link.advance(afterSleepers: 3)
    #expect(link.answered.withLock { $0 } == Set(questions))
    #expect(link.live.watch == .init(id: 1, sleepers: 3))
    link.take(.init(follower: "a", watch: 1, sleepers: 2))
    link.take(.init(follower: "b", watch: 2, sleepers: 5))
    link.take(.init(follower: "stranger", watch: 1, sleepers: 5))
    #expect(link.live.state.revision == 0)
    link.take(.init(follower: "a", watch: 1, sleepers: 1))
    link.take(.init(follower: "b", watch: 1, sleepers: 1))
    #expect(link.live.state.revision == 0)
    link.take(.init(follower: "b", watch: 1, sleepers: 2))
    #expect(link.live.state.revision == 1)
    #expect(link.live.watch == nil)
    for name in ["a", "b"] { link.take(.init(follower: name, revision: 1, woken: 1)) }
    #expect(try link.result(change)?.get().woken == 2)
  }

  @Test("makes moves that wait for sleepers in order, each with its own count, and other moves at once")
  func order() throws {
    var link = try Link()
    _ = link.ask("a")
    let first = link.advance(afterSleepers: 2)
    let second = link.advance(afterSleepers: 1)
    link.take(.init(follower: "a", watch: 1, sleepers: 1))
    let third = link.advance()
    link.take(.init(follower: "a", revision: 1))
    #expect(try link.result(third)?.get().revision == 1)
    link.take(.init(follower: "a", watch: 1, sleepers: 2))
    #expect(link.live.watch == .init(id: 2, sleepers: 1))
    link.take(.init(follower: "a", revision: 2))
    #expect(try link.result(first)?.get().revision == 2)
    #expect(link.result(second) == nil)
    link.take(.init(follower: "a", watch: 2, sleepers: 1))
    link.take(.init(follower: "a", revision: 3))
    #expect(try link.result(second)?.get().revision == 3)
  }

  @Test("with too few sleepers is named with their number after the timeout, and the move is never made")
  func tooFew() throws {
    var link = try Link()
    let nobody = link.advance(afterSleepers: 1, seconds: 5)
    link.wait(5)
    #expect(link.message(nobody).hasPrefix("waited 5.0 seconds for 1 sleeper, but no app follows the environment;"))
    let question = link.ask("a")
    let few = link.advance(afterSleepers: 2, seconds: 5)
    #expect(link.answered.withLock { $0.contains(question) })
    let watching = link.ask("a", watch: 2)
    link.take(.init(follower: "a", watch: 2, sleepers: 1))
    link.wait(5)
    #expect(link.message(few).hasPrefix("waited 5.0 seconds for 2 sleepers, but there are 1 in a;"))
    // Poll again, so that it stops counting.
    #expect(link.answered.withLock { $0.contains(watching) })
    link.take(.init(follower: "a", watch: 2, sleepers: 2))
    #expect(link.live.state.revision == 0)
  }

  @Test("is notified of the environment's end, like everything that waits for it")
  func end() throws {
    var link = try Link()
    let question = link.ask("a")
    let applying = link.advance()
    let waiting = link.advance(afterSleepers: 1)
    let next = link.ask("a", after: 1, watch: 1)
    link.live.end()
    link.settle()
    #expect(link.message(applying) == "the environment has ended")
    #expect(link.message(waiting) == "the environment has ended")
    #expect(link.answered.withLock { $0 } == [question, next])
    let late = link.advance()
    #expect(link.message(late) == "the environment has ended")
  }
}
