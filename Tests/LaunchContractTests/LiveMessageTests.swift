import Basics
import Foundation
import LaunchContract
import Testing

@Suite("Messages about changes while the app runs")
struct LiveMessageTests {
  @Test(
    "keep durations exact",
    arguments: [
      .zero, .milliseconds(100), .seconds(900), .nanoseconds(1),
      Duration(secondsComponent: 250_000_000_000, attosecondsComponent: 7),
    ]
      as [Duration])
  func durations(duration: Duration) throws {
    var step = LiveStep(revision: 1)
    step.advance = .init(duration)
    let back = try JSONDecoder().decode(LiveStep.self, from: JSON.encode(step))
    #expect(back.advance?.duration == duration)
  }

  @Test("keep the nulls of a patch, which remove members")
  func nulls() throws {
    var step = LiveStep(revision: 7)
    step.toggles = ["a": .null, "b": .bool(true)]
    let data = try JSON.encode(step)
    #expect(String(decoding: data, as: UTF8.self) == #"{"revision":7,"toggles":{"a":null,"b":true}}"#)
    #expect(try JSONDecoder().decode(LiveStep.self, from: data) == step)
  }

  @Test("contain the clock's members and its current time")
  func clock() throws {
    var state = LiveState(revision: 0, steps: [])
    state.clock = .init(
      clock: .init(kind: .frozen, start: "2018-10-08T09:00:00Z", timeZone: "Europe/London"), now: "2018-10-08T09:00:00Z"
    )
    let data = try JSON.encode(state)
    let clock = #""clock":{"kind":"frozen","now":"2018-10-08T09:00:00Z","rate":1,"start":"2018-10-08T09:00:00Z","#
    #expect(String(decoding: data, as: UTF8.self).contains(clock))
    #expect(try JSONDecoder().decode(LiveState.self, from: data) == state)
  }

  @Test("allow letters, digits, dots, dashes and underscores in follower names")
  func names() {
    for name in ["a", "clinic-4711-9f3a", "A.b_C-9", String(repeating: "x", count: 100)] {
      #expect(Acknowledgement.isName(name))
    }
    for name in ["", "a b", "a&b", "ä", "a\n", String(repeating: "x", count: 101)] {
      #expect(!Acknowledgement.isName(name))
    }
  }

  @Test("a contract's control may contain the revision from which to follow")
  func revision() throws {
    let text = #"{"version":1,"control":{"url":"http://127.0.0.1:1/__diorama","token":"t","revision":3}}"#
    let contract = try LaunchContract.read(text, source: "a test")
    #expect(contract.control?.revision == 3)
    #expect(contract.unknownFields == [])
    let silent = try LaunchContract.read(text.replacingOccurrences(of: #","revision":3"#, with: ""), source: "a test")
    #expect(silent.control?.revision == nil)
  }
}
