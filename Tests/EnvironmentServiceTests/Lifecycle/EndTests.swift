import ControlAPI
@testable import Transforms
import Cassettes
import Foundation
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("The end of an environment")
struct EndTests {
  @Test("waits for running requests, and saves what they recorded")
  func waits() async throws {
    let hasAsked = Event()
    let mayAnswer = Event()
    let upstream = try TestUpstream { _ in
      hasAsked.happen()
      try await mayAnswer.wait()
      return text("late")
    }
    try await withService(upstream) { fixture in
      let environment = try fixture.provision(.record, ["api": upstream.origin])
      async let answer = environment.get("/a")
      try await hasAsked.wait()
      let port = environment.upstreams[0].port
      async let ended = environment.end(grace: .seconds(30))
      // The port closes first; the request continues.
      try await untilClosed(port)
      #expect(fixture.exists("c.har.partial"))
      mayAnswer.happen()
      #expect(try await answer.text == "late")
      #expect(await ended.report.requests.recorded == 1)
      #expect(try fixture.cassette().interactions.count == 1)
    }
  }

  @Test("waits at most for its grace period, and does not record what comes later")
  func grace() async throws {
    let hasAsked = Event()
    let mayAnswer = Event()
    let upstream = try TestUpstream { request in
      if request.target == "/slow" {
        hasAsked.happen()
        try await mayAnswer.wait()
      }
      return text("x")
    }
    try await withService(upstream) { fixture in
      let environment = try fixture.provision(.record, ["api": upstream.origin])
      _ = try await environment.get("/fast")
      async let answer = environment.get("/slow")
      try await hasAsked.wait()
      let (report, sealed) = await environment.end(grace: .zero)
      #expect(report.requests.recorded == 1)
      #expect(try sealed.get()?.interactions == 1)
      mayAnswer.happen()
      // It was never acknowledged as recorded.
      #expect(try await answer.status == 500)
      #expect(try fixture.cassette().interactions.count == 1)
      #expect(!fixture.exists("c.har.partial"))
    }
  }

  @Test("closes every port")
  func ports() async throws {
    // In its own process, because another test here may get a port as soon as it is free.
    await #expect(processExitsWith: .success) {
      let upstream = try numbered()
      try await withService(upstream) { fixture in
        let other = Origin(scheme: "http", host: "b.test", port: 80)
        let environment = try fixture.provision(.proxy, ["api": upstream.origin, "b": other])
        _ = try await environment.get("/a")
        _ = await environment.end()
        for port in [environment.mainPort] + environment.upstreams.map(\.port) where (try? RawClient(port: port)) != nil
        {
          throw RawClient.Failure(description: "port \(port) is open")
        }
      }
    }
  }

  @Test("may be requested again, and concurrently, with the same report")
  func again() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let environment = try fixture.provision(.record, ["api": upstream.origin])
      _ = try await environment.get("/a")
      let reports = await withTaskGroup(of: (Int, Bool).self) { group in
        for _ in 0..<4 {
          group.addTask {
            let (report, _) = await environment.end()
            // When the end returns, the cassette exists.
            return (report.requests.recorded, fixture.exists("c.har"))
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(reports.map(\.0) == [1, 1, 1, 1])
      #expect(reports.map(\.1) == [true, true, true, true])
      let (report, sealed) = await environment.end()
      #expect(report.requests.recorded == 1)
      #expect(try sealed.get()?.interactions == 1)
      #expect(try fixture.cassette().interactions.count == 1)
    }
  }

  @Test("closes connections that are still open", arguments: [Mode.replay, .proxy])
  func openConnections(mode: Mode) async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a") }
      let environment = try fixture.provision(mode, ["api": upstream.origin])
      let client = try RawClient(port: environment.upstreams[0].port)
      #expect(try await onThread { try client.exchange(request("GET", "/a")).status } == 200)
      let (report, _) = await environment.end()
      let late = try? await onThread { try client.exchange(request("GET", "/a")).status }
      #expect(late == nil || late == 503)
      #expect(environment.report().requests.total == report.requests.total)
    }
  }

  @Test("does not affect the service's other environments")
  func others() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let one = try fixture.provision(.proxy, ["api": upstream.origin])
      let two = try fixture.provision(.proxy, ["api": upstream.origin])
      _ = await one.end()
      #expect(try await two.get("/a").status == 200)
    }
  }

  @Test("deallocates the environment")
  func memory() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      weak var ended: Environment?
      do {
        let environment = try fixture.provision(.proxy, ["api": upstream.origin])
        _ = try await environment.get("/a")
        _ = await environment.end()
        ended = environment
      }
      // The server releases the handler once the app's connection is closed.
      await fixture.service.stop(grace: .seconds(5))
      #expect(ended == nil)
    }
  }

  @Test("leaves no descriptor and no thread behind, over fifty environments")
  func leaks() async throws {
    // In its own process, because other tests here open and close descriptors.
    await #expect(processExitsWith: .success) {
      func count(_ folder: String) throws -> Int { try FileManager.default.contentsOfDirectory(atPath: folder).count }
      func round() async throws {
        let upstream = try numbered()
        try await withService(upstream) { fixture in
          for mode in [Mode.record, .replay, .extend, .proxy, .mock] {
            let environment = try fixture.provision(mode, ["api": upstream.origin])
            _ = try await environment.get("/a")
            _ = await environment.end()
          }
        }
      }
      // Warm up what a process opens permanently: the thread pools of Dispatch and of Swift concurrency.
      for _ in 0..<2 { try await round() }
      let descriptors = try count("/proc/self/fd")
      let threads = try count("/proc/self/task")
      for _ in 0..<10 { try await round() }
      let descriptorsAfter = try count("/proc/self/fd")
      let threadsAfter = try count("/proc/self/task")
      // Dispatch may add some threads. A leak would be ten, one per service, or fifty, one per environment.
      guard descriptorsAfter < descriptors + 10, threadsAfter < threads + 10 else {
        throw RawClient.Failure(
          description: "descriptors: \(descriptors), \(descriptorsAfter); threads: \(threads), \(threadsAfter)")
      }
    }
  }
}

/// Returns once the port refuses connections.
private func untilClosed(_ port: UInt16) async throws {
  try await onThread {
    while (try? RawClient(port: port)) != nil {}
  }
}
