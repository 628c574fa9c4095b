import ControlAPI
import Foundation
import TestSupport
import Testing

@Suite("The owner of what is leased or made without one")
struct OwnerTests {
  private func run(_ shell: String, _ text: String, _ daemon: RunningDaemon) async throws -> Child.Outcome {
    let command = try Diorama.words([])[0]
    let variables = ["DIORAMA": String(decoding: command, as: UTF8.self), "DIORAMA_HOME": daemon.folder]
    return try await onThread {
      try Child([shell, "-c", text].map { Array($0.utf8) }, environment: Diorama.environment(variables)).finish()
    }
  }

  /// By port.
  private func owners(_ daemon: RunningDaemon) async throws -> [Int: Int32?] {
    let outcome = try await Diorama.run("port", "list", "--json", "--state", daemon.folder)
    let leases = try JSONDecoder().decode(PortList.self, from: Data(outcome.text.utf8)).ports
    return Dictionary(uniqueKeysWithValues: leases.map { ($0.port, $0.owner?.pid) })
  }

  @Test(
    "is the shell that lives on, however the command stands in $(…)", arguments: ["sh", "bash"],
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

  @Test("is the shell that a script's world is made in by eval", arguments: ["sh", "bash"])
  func evaluation(shell: String) async throws {
    let daemon = try await RunningDaemon()
    let outcome = try await run(
      shell,
      #"""
      world() { "$DIORAMA" env create --shell --mode mock || exit; }
      eval "$(world)" && echo $$ && "$DIORAMA" env show --json
      """#, daemon)
    let lines = outcome.text.split(separator: "\n", maxSplits: 1)
    try #require(lines.count == 2, "\(outcome.text) \(outcome.words)")
    let environment = try JSONDecoder().decode(ProvisionedEnvironment.self, from: Data(lines[1].utf8))
    #expect(environment.owner?.pid == Int32(lines[0]))
  }

  @Test("is a shell of its own: one in brackets, and one that another program reads", arguments: ["sh", "bash"])
  func subshell(shell: String) async throws {
    let daemon = try await RunningDaemon()
    // What runs in the brackets is the child of the shell in there.
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
