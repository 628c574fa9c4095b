import Basics
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("The state of an environment, for programs in any language")
struct StateTests {
  @Test("has all settings as they are now, unless only steps are requested")
  func whole() async throws {
    try await withService { fixture in
      let environment = try fixture.manual {
        $0.toggles = ["a": .bool(true), "b": .int(1)]
        $0.values = ["place": .string("here")]
        $0.clock.timeZone = "Europe/London"
        $0.clock.locale = "en_GB"
      }
      try await environment.update(toggles: ["b": nil, "c": .string("x")], timeout: .seconds(5))
      _ = try await environment.moveClock(.advance(.seconds(90)), afterSleepers: nil, timeout: .seconds(5))
      let answer = try await environment.control("/state", "", method: "GET")
      #expect(answer.status == 200)
      #expect(answer.headers["Content-Type"] == "application/json")
      let text = answer.text.replacing(/"provisioned":"[^"]+",/, with: "")
      let clock =
        #"{"kind":"manual","locale":"en_GB","now":"2018-10-08T09:01:30Z","rate":1,"#
        + #""start":"2018-10-08T09:01:30Z","timeZone":"Europe/London"}"#
      #expect(
        text == #"{"clock":\#(clock),"mode":"mock","over":false,"revision":2,"steps":[],"#
          + #""toggles":{"a":true,"c":"x"},"values":{"place":"here"}}"#)
    }
  }

  @Test("has the steps after a known revision, in order")
  func steps() async throws {
    try await withService { fixture in
      let environment = try fixture.manual()
      try await environment.update(toggles: ["a": .bool(true)], timeout: .seconds(5))
      _ = try await environment.moveClock(.advance(.milliseconds(100)), afterSleepers: nil, timeout: .seconds(5))
      _ = try await environment.moveClock(.set(beginning), afterSleepers: nil, timeout: .seconds(5))
      let answer = try await environment.control("/state?after=1&only=steps", "", method: "GET")
      #expect(
        answer.text == #"{"over":false,"revision":3,"steps":["#
          + #"{"advance":{"attoseconds":100000000000000000,"seconds":0},"revision":2},"#
          + #"{"revision":3,"set":"2018-10-08T09:00:00Z"}]}"#)
      #expect(try await environment.control("/state?after=3", "", method: "GET").text.contains(#""steps":[]"#))
    }
  }

  @Test("is returned when it changes, or at once if it is newer")
  func waits() async throws {
    try await withService { fixture in
      let environment = try fixture.manual()
      async let waiting = environment.control("/state?after=0&wait=60", "", method: "GET")
      try await environment.untilAsked()
      try await environment.update(values: ["a": .int(1)], timeout: .seconds(5))
      #expect(try await waiting.text.contains(#""values":{"a":1}"#))
      #expect(try await environment.control("/state?after=0&wait=60", "", method: "GET").status == 200)
    }
  }

  @Test("is returned without steps when the wait ends")
  func waitEnds() async throws {
    try await withService { fixture in
      let environment = try fixture.manual()
      let begun = ContinuousClock.now
      let answer = try await environment.control("/state?after=0&wait=0.2", "", method: "GET")
      #expect(answer.text.contains(#""revision":0,"steps":[]"#))
      #expect(ContinuousClock.now - begun >= .milliseconds(200))
    }
  }

  @Test("is never waited for longer than a minute")
  func longWait() async throws {
    try await withService { fixture in
      let environment = try fixture.manual()
      let client = try await onThread { try RawClient(port: environment.mainPort) }
      let headers = environment.headers()
      try client.send(request("GET", "/__diorama/state?after=0&wait=1e300", headers))
      try await environment.untilAsked()
      let until = try #require(environment.live { live, _ in live.polls.values.first?.until })
      #expect(until <= .now + .seconds(60))
      _ = await environment.end()
      #expect(try await onThread { try client.receiveAnswer().text }.contains(#""over":true"#))
    }
  }

  @Test(
    "is refused for an invalid request, with what is wrong",
    arguments: [
      "after=x", "after=-1", "after=1.5", "after=", "after=1", "after=0&wait=x", "wait=-1", "wait=nan", "wait=inf",
      "after=0&follower=", "after=0&follower=a%20b", "after=0&follower=\(String(repeating: "x", count: 101))",
      "follower=me", "after=0&watch=x", "after=%zz",
    ])
  func refused(query: String) async throws {
    try await withService { fixture in
      let environment = try fixture.manual()
      let answer = try await environment.control("/state?\(query)", "", method: "GET")
      #expect(answer.status == 400)
      #expect(answer.headers["Content-Type"] == "application/problem+json")
      #expect(environment.live { live, _ in live.polls.isEmpty && live.followers.isEmpty })
    }
  }

  @Test("refuses acknowledgements with too many sleepers to add up", arguments: ["woken", "sleepers"])
  func enormous(_ member: String) async throws {
    try await withService { fixture in
      let environment = try fixture.manual()
      for name in ["one", "two"] {
        let follower = PlainFollower(environment, name)
        try await follower.appear()
        let count = #""watch": 0, "revision": 0, "\#(member)": "#
        #expect(try await follower.acknowledge(count + "9223372036854775807") == 400)
        #expect(try await follower.acknowledge(count + "-1") == 400)
        #expect(try await follower.acknowledge(count + "1000000000") == 204)
      }
    }
  }

  @Test("requires the token and the right method")
  func methods() async throws {
    try await withService { fixture in
      let environment = try fixture.manual()
      #expect(try await environment.control("/state", "", method: "GET", token: "x").status == 401)
      #expect(try await environment.control("/acknowledge", "{}", token: "x").status == 401)
      let post = try await environment.control("/state", "{}")
      #expect(post.status == 405)
      #expect(post.headers["Allow"] == "GET")
      let get = try await environment.control("/acknowledge", "", method: "GET")
      #expect(get.status == 405)
      #expect(get.headers["Allow"] == "POST")
    }
  }

  @Test("shows on an open connection that the environment has ended, even to a later request")
  func over() async throws {
    try await withService { fixture in
      let environment = try fixture.manual()
      let client = try await onThread { try RawClient(port: environment.mainPort) }
      let headers = environment.headers()
      let question = request("GET", "/__diorama/state?after=0&wait=60&only=steps", headers)
      try client.send(question)
      try await environment.untilAsked()
      _ = await environment.end()
      let over = #"{"over":true,"revision":0,"steps":[]}"#
      #expect(try await onThread { try client.receiveAnswer().text } == over)
      #expect(try await onThread { try client.exchange(question).text } == over)
      let other = request("POST", "/__diorama/strings", headers, #"{"key": "a"}"#)
      #expect(try await onThread { try client.exchange(other).status } == 503)
    }
  }

  @Test("answers 410 with advice if the steps are no longer kept")
  func gone() async throws {
    try await withService { fixture in
      let environment = try fixture.manual()
      environment.live { live, _ in
        for _ in 0..<20_000 { try? live.state.move(.advance(.seconds(1))) }
      }
      let answer = try await environment.control("/state?after=1", "", method: "GET")
      #expect(answer.status == 410)
      #expect(try await environment.control("/state?after=19000", "", method: "GET").status == 200)
      #expect(environment.contract.control?.revision == 20_000)
    }
  }

  @Test("lets a thousand requests wait without a thread, and one step answers all")
  func thousand() async throws {
    try await withService { fixture in
      let environment = try fixture.manual()
      var clients: [RawClient] = []
      // Not more at a time than fit into the listener's backlog.
      for _ in 1...20 {
        clients += try await onThread {
          try (0..<50).map { _ in
            let client = try RawClient(port: environment.mainPort)
            let headers = environment.headers()
            try client.send(request("GET", "/__diorama/state?after=0&wait=60&only=steps", headers))
            return client
          }
        }
        try await environment.untilAsked(clients.count)
      }
      // The environment's only server thread is free for other requests.
      #expect(try await environment.control("/strings", #"{"key": "a"}"#).status == 200)
      try await environment.update(toggles: ["a": .bool(true)], timeout: .seconds(5))
      let statuses = try await onThread { [clients] in try clients.map { try $0.receiveAnswer().status } }
      #expect(statuses.allSatisfy { $0 == 200 })
    }
  }
}
