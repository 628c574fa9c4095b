import Basics
import ControlAPI
import Cassettes
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("A page of the journal")
struct PageTests {
  private static let origin = Origin(scheme: "https", host: "a.test", port: 443)

  @Test("has the entries after a number, up to the limit, and whether there are more")
  func pages() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock, ["api": Self.origin])
      #expect(environment.journalPage(after: 0, limit: 10).last == 0)
      for number in 1...5 { _ = try await environment.get("/\(number)") }
      let first = environment.journalPage(after: 0, limit: 2)
      #expect(first.entries.map(\.url) == ["https://a.test/1", "https://a.test/2"])
      #expect(first.entries.map(\.kind) == ["unmatched", "unmatched"])
      #expect(first.last == 2)
      #expect(first.more)
      let rest = environment.journalPage(after: first.last, limit: 100)
      #expect(rest.entries.map(\.number) == [3, 4, 5])
      #expect(!rest.more)
      for after in [5, 6, Int.max] {
        let none = environment.journalPage(after: after, limit: 10)
        #expect(none.entries.isEmpty && none.last == after && !none.more)
      }
      #expect(environment.journalPage(after: -7, limit: 0).entries.map(\.number) == [1])
    }
  }

  @Test("has texts up to 4 MiB, and all entries are still counted")
  func text() {
    var journal = Journal()
    let url = String(repeating: "u", count: 50_000)
    for _ in 0..<200 { journal.add(.unmatched, status: 501, detail: .init(method: "GET", url: url)) }
    let entries = journal.entries()
    #expect(entries.last?.number == 200)
    #expect(entries.count == Journal.textLimit / (50_000 + 3 + 64))
    #expect(entries.map(\.number) == Array((201 - entries.count)...200))
    #expect(journal.count(.unmatched) == 200)
    // An entry that exceeds the limit alone is kept, alone.
    journal.add(.note, status: 0, detail: .init(method: "", url: String(repeating: "u", count: 5 << 20)))
    #expect(journal.entries().map(\.number) == [201])
    // Entries without text are still added.
    for _ in 0..<Journal.capacity { journal.add(.replayed, status: 200) }
    #expect(journal.entries().map(\.number) == Array(202...10_201))
  }

  @Test("continues another journal's numbers", arguments: [0, 1, 9_999, 10_000, 123_456])
  func goesOn(last: Int) {
    var journal = Journal(counts: [3, 0, 0, 0, 1, 0, 0], last: last)
    #expect(journal.entries().isEmpty)
    for _ in 0..<10_001 { journal.add(.replayed, status: 200) }
    #expect(journal.entries().map(\.number) == Array((last + 2)...(last + 10_001)))
    #expect(journal.entries(after: last + 10_000).map(\.number) == [last + 10_001])
    #expect(journal.entries(after: last + 5, limit: 2).map(\.number) == [last + 6, last + 7])
    #expect(journal.count(.replayed) == 10_004)
  }

  @Test("lists misses in the report up to 1 MiB")
  func misses() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock, ["api": Self.origin])
      let long = String(repeating: "x", count: 5_000)
      environment.state.withLock { state in
        for number in 0..<1000 {
          state.addUnmatched(.init(method: "GET", url: "\(number)\(long)", nearest: [], refusal: nil))
        }
      }
      let count = environment.report().unmatched.count
      #expect(200..<210 ~= count)
    }
  }
}
