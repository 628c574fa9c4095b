import LaunchContract
import HTTPMessages
import TestSupport
import Testing

@testable import Daemon

@Suite("The journal by the page", .timeLimit(.minutes(5)))
struct JournalPageTests {
  @Test("has what follows a number, as much as is asked for, and says whether there is more")
  func pages() async throws {
    let operations = FakeOperations()
    operations.state.withLock { $0.entries = (1...150).map(FakeOperations.entry) }
    try await withSurface(operations) { served in
      let first = try await served.call("GET", "/v1/environments/e1/journal").json
      #expect(first["entries"]?.array?.count == 100 && first["last"]?.int == 100 && first["more"]?.bool == true)
      let next = try await served.call("GET", "/v1/environments/e1/journal?after=100&limit=1000").json
      #expect(next["entries"]?.array?.count == 50 && next["last"]?.int == 150 && next["more"]?.bool == false)
      let none = try await served.call("GET", "/v1/environments/e1/journal?after=150&limit=1").json
      #expect(none["entries"]?.array?.isEmpty == true && none["last"]?.int == 150)
    }
  }
}
