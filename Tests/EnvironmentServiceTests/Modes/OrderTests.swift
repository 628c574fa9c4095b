import ControlAPI
import Basics
import Cassettes
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("The order of replay")
struct OrderTests {
  /// Records a cart that is read, changed and read again.
  private func withCart(_ body: (ServiceFixture) async throws -> Void) async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        _ = try await environment.get("/cart")
        _ = try await environment.post("/cart", "{}")
        _ = try await environment.get("/cart")
      }
      try await body(fixture)
    }
  }

  @Test("strict: a request other than the next one is a miss that names the expected one")
  func strict() async throws {
    try await withCart { fixture in
      let report = try await fixture.run(
        .replay,
        with: {
          $0.order = .strict
          $0.turnSeconds = 0
        }
      ) { environment async throws in
        let early = try await environment.post("/cart", "{}")
        #expect(early.status == 501)
        let nearest = try #require(try early.json["nearest"]?.array)
        #expect(nearest.first?["index"]?.int == 0)
        #expect(nearest.first?["differences"]?.array?.first?.string == "expected next, in strict order")
        let own = try #require(nearest.first { $0["index"]?.int == 1 })
        #expect(
          own["differences"]?.array?.first?.string?.hasPrefix("recorded only after interaction 0, GET http://") == true)
        #expect(try await environment.get("/cart").text == "/cart: 0")
        #expect(try await environment.get("/cart").status == 501)
        #expect(try await environment.post("/cart", "{}").text == "/cart: 1")
        #expect(try await environment.get("/cart").text == "/cart: 2")
        #expect(try await environment.get("/cart").status == 501)
      }
      #expect(report.requests.unmatched == 3)
      #expect(report.unused.isEmpty)
      #expect(!report.ok)
    }
  }

  @Test("strict: an early request is held until its turn", .timeLimit(.minutes(2)))
  func held() async throws {
    try await withCart { fixture in
      let report = try await fixture.run(.replay, with: { $0.order = .strict }) { environment async throws in
        async let early = environment.post("/cart", "{}")
        while environment.turns.waiting == 0 { await Task.yield() }
        #expect(try await environment.get("/cart").text == "/cart: 0")
        let answer = try await early
        #expect(answer.text == "/cart: 1")
        #expect(try await environment.get("/cart").text == "/cart: 2")
      }
      #expect(report.ok && report.requests.replayed == 3)
    }
  }

  @Test("state: changes, and what was recorded after them, are held until their turn", .timeLimit(.minutes(2)))
  func heldByState() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        for number in 0..<3 { _ = try await environment.post("/orders/\(number)", "{}") }
        _ = try await environment.get("/orders")
      }
      let report = try await fixture.run(.replay, with: { $0.order = .state }) { environment async throws in
        // Separate tasks may send them in any order: the last one first.
        async let list = environment.get("/orders")
        while environment.turns.waiting < 1 { await Task.yield() }
        async let third = environment.post("/orders/2", "{}")
        while environment.turns.waiting < 2 { await Task.yield() }
        async let second = environment.post("/orders/1", "{}")
        while environment.turns.waiting < 3 { await Task.yield() }
        #expect(try await environment.post("/orders/0", "{}").status == 200)
        let answers = try await [second, third, list]
        #expect(answers.map(\.text) == ["/orders/1: 1", "/orders/2: 2", "/orders: 3"])
      }
      #expect(report.ok && report.requests.replayed == 4)
    }
  }

  @Test("strict: a request whose turn does not come in time, or at all, is a miss", .timeLimit(.minutes(2)))
  func heldInVain() async throws {
    try await withCart { fixture in
      let report = try await fixture.run(
        .replay,
        with: {
          $0.order = .strict
          $0.turnSeconds = 0.05
        }
      ) { environment async throws in
        #expect(try await environment.post("/cart", "{}").status == 501)
        #expect(environment.turns.waiting == 0)
      }
      #expect(report.requests.unmatched == 1)
      let environment = try fixture.provision(.replay) {
        $0.order = .strict
        $0.turnSeconds = 100
      }
      async let early = environment.post("/cart", "{}")
      while environment.turns.waiting == 0 { await Task.yield() }
      // The end does not wait for held requests.
      let (ended, _) = await environment.end()
      #expect(ended.requests.replayed == 0)
      let answer = try await early
      #expect(answer.status == 501)
    }
  }

  @Test("strict: requests that were made concurrently may come in any order")
  func overlapping() async throws {
    let first = Event()
    let both = Event()
    let upstream = try TestUpstream { request in
      // Each waits for the other, so that they overlap on any machine.
      if request.target == "/slow" {
        first.happen()
        try await both.wait()
      } else {
        try await first.wait()
        both.happen()
      }
      return text(request.target)
    }
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        async let slow = environment.get("/slow")
        async let fast = environment.get("/fast")
        _ = try await (slow, fast)
      }
      for order in [["/slow", "/fast"], ["/fast", "/slow"]] {
        let report = try await fixture.run(.replay, with: { $0.order = .strict }) { environment async throws in
          for target in order { #expect(try await environment.get(target).text == target) }
        }
        #expect(report.ok)
      }
    }
  }

  @Test("state: a GET answers differently after the POST, as recorded, and not before")
  func state() async throws {
    try await withCart { fixture in
      let report = try await fixture.run(.replay, with: { $0.order = .state }) { environment async throws in
        for expected in ["/cart: 0", "/cart: 0", "/cart: 0"] {
          #expect(try await environment.get("/cart").text == expected)
        }
        #expect(try await environment.post("/cart", "{}").text == "/cart: 1")
        for _ in 0..<2 { #expect(try await environment.get("/cart").text == "/cart: 2") }
      }
      #expect(report.ok)
      #expect(report.requests.replayed == 6)
    }
  }

  @Test("can be declared beside the cassette, and the test's own setting takes precedence")
  func declared() async throws {
    try await withCart { fixture in
      try fixture.project(matching: #"{"order": "state"}"#)
      try await fixture.run(.replay) { environment async throws in
        for _ in 0..<2 { #expect(try await environment.get("/cart").text == "/cart: 0") }
      }
      try await fixture.run(.replay, with: { $0.order = .request }) { environment async throws in
        #expect(try await environment.get("/cart").text == "/cart: 0")
        #expect(try await environment.get("/cart").text == "/cart: 2")
      }
    }
  }

  @Test("continues from its position after a restart", arguments: [PlaybackOrder.strict, .state])
  func restored(order: PlaybackOrder) async throws {
    try await withCart { fixture in
      try await fixture.twoLives(.replay) {
        $0.order = order
      } before: { environment async throws in
        #expect(try await environment.get("/cart").text == "/cart: 0")
        #expect(try await environment.post("/cart", "{}").text == "/cart: 1")
      } after: { environment async throws in
        #expect(try await environment.get("/cart").text == "/cart: 2")
      }
    }
  }

  @Test("starts from the beginning after a restart with another cassette, with a note")
  func restoredWithOthers() async throws {
    try await withCart { fixture in
      try await fixture.twoLives(.replay) { environment async throws in
        #expect(try await environment.get("/cart").text == "/cart: 0")
        var cassette = try fixture.cassette()
        cassette.interactions.removeLast()
        try fixture.write(String(decoding: HAR.write(cassette), as: UTF8.self), to: "c.har")
      } after: { environment async throws in
        #expect(try await environment.get("/cart").text == "/cart: 0")
        #expect(environment.notes.contains { $0.contains("c.har changed during the restart") })
      }
    }
  }

  @Test("is kept for interactions that begin in the same millisecond, because times have six digits")
  func microseconds() async throws {
    try await withCart { fixture in
      for interaction in try fixture.cassette().interactions {
        let fraction = interaction.startedAt.split(separator: ".").last ?? ""
        #expect(fraction.count == 7 && fraction.hasSuffix("Z"), "\(interaction.startedAt)")
      }
    }
  }
}
