import Testing

@testable import Daemon

@Suite("Reports of ended environments")
struct EndedReportsTests {
  @Test("are kept as many as are allowed, the last ones")
  func count() {
    var reports = EndedReports(limit: 2, bytes: 1000)
    for id in ["a", "b", "c"] { reports.add(id, [0]) }
    #expect(!reports.has("a"))
    #expect(reports.has("b") && reports.has("c"))
  }

  @Test("are kept as far as their bytes are allowed, but always the last one")
  func bytes() {
    var reports = EndedReports(limit: 10, bytes: 10)
    reports.add("a", Array(repeating: 0, count: 6))
    reports.add("b", Array(repeating: 0, count: 6))
    #expect(!reports.has("a") && reports.has("b"))
    reports.add("c", Array(repeating: 0, count: 60))
    #expect(!reports.has("b"))
    #expect(reports.report("c")?.count == 60)
  }
}
