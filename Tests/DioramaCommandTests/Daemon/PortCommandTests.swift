import ControlAPI
import Foundation
import TestSupport
import Testing

@Suite("diorama port")
struct PortCommandTests {
  private func ports(_ daemon: RunningDaemon) async throws -> [PortList.Lease] {
    let outcome = try await Diorama.run("port", "list", "--json", "--state", daemon.folder)
    return try JSONDecoder().decode(PortList.self, from: Data(outcome.text.utf8)).ports
  }

  @Test("prints one port a line, each for whoever called")
  func leases() async throws {
    let daemon = try await RunningDaemon()
    let outcome = try await Diorama.run("port", "--count", "3", "--name", "web", "--state", daemon.folder)
    let numbers = outcome.text.split(separator: "\n").compactMap { Int($0) }
    #expect(outcome.status == 0, "\(outcome.words)")
    #expect(Set(numbers).count == 3)
    let leases = try await ports(daemon)
    #expect(leases.map(\.port) == numbers.sorted())
    #expect(Set(leases.map(\.name)) == ["web-1", "web-2", "web-3"])
    #expect(leases.allSatisfy { $0.owner == Owner(pid: getpid()) })
    let table = try await Diorama.run("port", "list", "--state", daemon.folder)
    #expect(table.lines.isEmpty)
    #expect(table.text.contains("\(numbers[0])  web-1  process \(getpid())"), "\(table.text)")
  }

  @Test("gives ports back, and says which were not leased")
  func release() async throws {
    let daemon = try await RunningDaemon()
    let leased = try await Diorama.run("port", "--ttl", "60", "--state", daemon.folder)
    let port = leased.text.split(separator: "\n").joined()
    let outcome = try await Diorama.run("port", "release", "1", port, "--state", daemon.folder)
    expectOneLine(outcome, status: 66, naming: "1 is not leased")
    #expect(try await ports(daemon).isEmpty)
    let again = try await Diorama.run("port", "release", port, "--state", daemon.folder)
    expectOneLine(again, status: 66, naming: port)
  }

  @Test("gives back what it cannot print")
  func unwritable() async throws {
    let daemon = try await RunningDaemon()
    for script in [#""$0" "$@" >/dev/full"#, #""$0" "$@" >&-"#] {
      let words = ["sh", "-c", script].map { Array($0.utf8) }
      let command = try Diorama.words(["port", "--count", "2", "--state", daemon.folder])
      let outcome = try await onThread {
        try Child(words + command, environment: Diorama.environment()).finish()
      }
      expectOneLine(outcome, status: 74, naming: "cannot write to standard output")
      #expect(try await ports(daemon).isEmpty)
    }
  }

  @Test("starts a daemon where none runs, once for all who ask at the same time")
  func onDemand() async throws {
    let folder = try Folder()
    let state = folder.file("state")
    let found = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<4 {
        group.addTask {
          let outcome = try await Diorama.run("port", "--state", state)
          #expect(outcome.status == 0, "\(outcome.words)")
          return outcome.text
        }
      }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(found.count == 4)
    let stopped = try await Diorama.run("serve", "--stop", "--state", state)
    #expect(stopped.status == 0, "\(stopped.words)")
    // There was no second one.
    let listed = try await Diorama.run("port", "list", "--state", state)
    expectOneLine(listed, status: 69, naming: "no daemon runs")
  }

  @Test("tells a suspended daemon from none")
  func suspended() async throws {
    let daemon = try await RunningDaemon()
    kill(daemon.pid, SIGSTOP)
    defer { kill(daemon.pid, SIGCONT) }
    let outcome = try await Diorama.run("port", "--state", daemon.folder)
    expectOneLine(outcome, status: 69, naming: "is suspended", "kill -CONT \(daemon.pid)")
  }
}
