import Basics
import ChildProcesses
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Isolation

@Suite("The clock of isolated commands", .needsNamespaces, .timeLimit(.minutes(5)))
struct ClockPageTests {
  private static let start = Date(timeIntervalSince1970: 1_538_989_200)

  @Test(
    "stands still, and moves while programs run", .enabled(if: Machine.hasControls, "seccomp notification is missing"))
  func frozen() async throws {
    try await onThread {
      let page = try ClockPage()
      page.show(.frozen, Self.start)
      let isolated = try Isolated(
        "sh", "-c", "date +%s; read line; date +%s", control: .init(clock: page))
      try isolated.command.start()
      #expect(isolated.line() == "1538989200")
      page.show(.frozen, Self.start + 90)
      isolated.write("\n")
      #expect(isolated.line() == "1538989290")
      #expect(isolated.wait() == 0)
      #expect(isolated.command.reports.isEmpty)
    }
  }

  @Test("shows the nearest instant it can for other dates", arguments: [-1e14, 1e14])
  func range(seconds: Double) throws { try ClockPage().show(.frozen, Date(timeIntervalSince1970: seconds)) }

  @Test("runs from another date", .enabled(if: Machine.hasControls, "seccomp notification is missing"))
  func ticking() async throws {
    try await onThread {
      let page = try ClockPage()
      page.show(.ticking, Self.start)
      let (status, output, _) = try Isolated("date", "+%Y-%m-%d", control: .init(clock: page)).finish()
      #expect(status == 0 && output == Array("2018-10-08\n".utf8))
    }
  }

  @Test(
    "and random values repeat with the same seed", .enabled(if: Machine.hasControls, "seccomp notification is missing"))
  func random() async throws {
    try await onThread {
      func run(_ seed: String) throws -> [UInt8] {
        try Isolated("od", "-An", "-tx1", "-N16", "/dev/urandom", control: .init(seed: seed)).finish().output
      }
      let first = try run("a")
      #expect(first.count > 40)
      #expect(try run("a") == first)
      #expect(try run("b") != first)
    }
  }
}
