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

  @Test("prints one port a line, owned by the caller")
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

  @Test("releases ports, and reports those that weren't leased")
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

  @Test("releases ports that can't be printed")
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

  @Test("starts one daemon for concurrent callers")
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
    // Only one daemon was started.
    let listed = try await Diorama.run("port", "list", "--state", state)
    expectOneLine(listed, status: 69, naming: "no daemon runs")
  }

  @Test("reports a suspended daemon")
  func suspended() async throws {
    let daemon = try await RunningDaemon()
    kill(daemon.pid, SIGSTOP)
    defer { kill(daemon.pid, SIGCONT) }
    let outcome = try await Diorama.run("port", "--state", daemon.folder)
    expectOneLine(outcome, status: 69, naming: "is suspended", "kill -CONT \(daemon.pid)")
  }
}

@Suite("Default owner")
struct OwnerTests {
  private func run(_ shell: String, _ text: String, _ daemon: RunningDaemon) async throws -> Child.Outcome {
    let command = try Diorama.words([])[0]
    let variables = ["DIORAMA": String(decoding: command, as: UTF8.self), "DIORAMA_HOME": daemon.folder]
    return try await onThread {
      try Child([shell, "-c", text].map { Array($0.utf8) }, environment: Diorama.environment(variables)).finish()
    }
  }

  /// The owners' process ids by port.
  private func owners(_ daemon: RunningDaemon) async throws -> [Int: Int32?] {
    let outcome = try await Diorama.run("port", "list", "--json", "--state", daemon.folder)
    let leases = try JSONDecoder().decode(PortList.self, from: Data(outcome.text.utf8)).ports
    return Dictionary(uniqueKeysWithValues: leases.map { ($0.port, $0.owner?.pid) })
  }

  @Test(
    "is the calling shell for any form of $(…)", arguments: ["sh", "bash"],
    [
      #"port=$("$DIORAMA" port)"#, #"port=$("$DIORAMA" port | cat)"#, #"port=$(cd / && "$DIORAMA" port; true)"#,
      #"lease() { "$DIORAMA" port; return 0; }; port=$(lease)"#, #"trap "true" EXIT; port=$("$DIORAMA" port | cat)"#,
      #"port=$(echo $(cd / && "$DIORAMA" port; true); true)"#, #"port=`cd / && "$DIORAMA" port; true`"#,
    ])
  func substitution(shell: String, lease: String) async throws {
    let daemon = try await RunningDaemon()
    let outcome = try await run(shell, lease + #"; echo "$port $$""#, daemon)
    let words = outcome.text.split(whereSeparator: \.isWhitespace).compactMap { Int32($0) }
    try #require(words.count == 2, "\(outcome.text) \(outcome.words)")
    #expect(try await owners(daemon) == [Int(words[0]): words[1]])
  }

  @Test("is the shell that evaluates env create --shell", arguments: ["sh", "bash"])
  func evaluation(shell: String) async throws {
    let daemon = try await RunningDaemon()
    let outcome = try await run(
      shell,
      #"""
      create() { "$DIORAMA" env create --shell --mode mock || exit; }
      eval "$(create)" && echo $$ && "$DIORAMA" env show --json
      """#, daemon)
    let lines = outcome.text.split(separator: "\n", maxSplits: 1)
    try #require(lines.count == 2, "\(outcome.text) \(outcome.words)")
    let environment = try JSONDecoder().decode(ProvisionedEnvironment.self, from: Data(lines[1].utf8))
    #expect(environment.owner?.pid == Int32(lines[0]))
  }

  @Test("is a subshell in parentheses, and a shell that another program reads", arguments: ["sh", "bash"])
  func subshell(shell: String) async throws {
    let daemon = try await RunningDaemon()
    // Commands in the parentheses are children of that subshell.
    let outcome = try await run(
      shell, #"(port=$(cd / && "$DIORAMA" port; true); echo $port; sh -c 'echo $PPID'; true) | cat"#, daemon)
    let words = outcome.text.split(whereSeparator: \.isWhitespace).compactMap { Int32($0) }
    try #require(words.count == 2, "\(outcome.text) \(outcome.words)")
    #expect(try await owners(daemon) == [Int(words[0]): words[1]])
    let inner = try await run(
      shell, #"x=$(sh -c 'p=$("$DIORAMA" port); echo $p $$; true'; true); echo $x"#, daemon)
    let others = inner.text.split(whereSeparator: \.isWhitespace).compactMap { Int32($0) }
    try #require(others.count == 2, "\(inner.text) \(inner.words)")
    #expect(try await owners(daemon)[Int(others[0])] == others[1])
  }
}
