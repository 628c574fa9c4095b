import ControlAPI
import Basics
@testable import Transforms
import Cassettes
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("The journal")
struct JournalTests {
  @Test("counts 20,000 requests exactly, keeps the last 10,000 in memory and writes all to its file")
  func many() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a") }
      let journal = "\(fixture.folder)/journal.ndjson"
      let environment = try fixture.provision(.replay) { $0.journalFile = journal }
      let port = environment.upstreams[0].port
      // Pipelined: 100 requests in one write, one of them unmatched.
      let batch = String(repeating: request("GET", "/a"), count: 99) + request("GET", "/missing")
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<2 {
          group.addTask {
            try await onThread {
              let client = try RawClient(port: port)
              for _ in 0..<100 {
                try client.send(batch)
                for _ in 0..<100 { _ = try client.receiveAnswer() }
              }
            }
          }
        }
        try await group.waitForAll()
      }
      let (report, _) = await environment.end()
      #expect(report.requests.replayed == 19_800)
      #expect(report.requests.unmatched == 200)
      #expect(report.requests.total == 20_000)
      #expect(report.unmatched.count == 200)
      let entries = environment.state.withLock { $0.journal.entries() }
      #expect(entries.map(\.number) == Array(10_001...20_000))
      let lines = try fixture.read("journal.ndjson").split(separator: "\n")
      #expect(lines.count == 20_000)
      for number in [0, 9_999, 19_999] {
        let line = try JSON.parse(Array(lines[number].utf8))
        #expect(line["number"]?.int == number + 1)
        #expect(line["method"]?.string == "GET")
      }
      #expect(lines.count { $0.contains("\"kind\":\"replayed\"") } == 19_800)
    }
  }

  @Test("keeps its entries in order at the limit, and returns those after a number")
  func ring() {
    for count in [0, 1, 9_999, 10_000, 10_001, 25_000] {
      var journal = Journal()
      for _ in 0..<count { journal.add(.replayed, status: 200) }
      let first = max(1, count - Journal.capacity + 1)
      #expect(journal.entries().map(\.number) == (count == 0 ? [] : Array(first...count)))
      #expect(journal.entries(after: count - 1).map(\.number) == (count == 0 ? [] : [count]))
      #expect(journal.count(.replayed) == count)
    }
  }

  @Test("has one line for each request, in order, with its outcome")
  func lines() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a") }
      let journal = "\(fixture.folder)/journal.ndjson"
      try await fixture.run(.extend, ["api": upstream.origin], with: { $0.journalFile = journal }) { environment in
        _ = try await environment.get("/a")
        _ = try await environment.get("/b")
        _ = try await ask(environment.mainPort, request("GET", "/elsewhere.test/"))
      }
      let lines = try fixture.read("journal.ndjson").split(separator: "\n").map { try JSON.parse(Array($0.utf8)) }
      #expect(lines.map { $0["kind"]?.string } == ["replayed", "recorded", "unmatched"])
      #expect(lines.map { $0["number"]?.int } == [1, 2, 3])
      #expect(lines.map { $0["url"]?.string } == ["\(upstream.origin)/a", "\(upstream.origin)/b", "/elsewhere.test/"])
      #expect(lines.map { $0["status"]?.int } == [200, 200, 501])
      #expect(lines.map { $0["interaction"]?.int } == [0, nil, nil])
    }
  }

  @Test("refuses a file that cannot be created, and starts no recording")
  func unwritable() async throws {
    try await withService { fixture in
      let error = #expect(throws: CodedError.self) {
        try fixture.provision(.record, ["api": try Origin(parsing: "https://a.test")]) {
          $0.journalFile = "\(fixture.folder)/none/journal"
        }
      }
      #expect(error?.kind == .cannotWrite)
      #expect(error?.message.contains("none/journal") == true)
      #expect(fixture.files == [])
    }
  }

  @Test("fails the environment if its file cannot be written")
  func full() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let environment = try fixture.provision(.proxy, ["api": upstream.origin]) { $0.journalFile = "/dev/full" }
      #expect(try await environment.get("/a").status == 200)
      let (report, _) = await environment.end()
      #expect(report.requests.forwarded == 1)
      #expect(report.failures.first?.contains("/dev/full") == true)
      #expect(!report.ok)
    }
  }
}
