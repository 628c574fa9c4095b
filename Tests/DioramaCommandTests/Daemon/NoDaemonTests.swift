import TestSupport
import Testing

@Suite("Where no daemon runs")
struct NoDaemonTests {
  private let folder: Folder

  init() throws {
    folder = try Folder()
  }

  @Test(
    "a command that only asks ends with 69 and says how to start one",
    arguments: [
      ["port", "list"], ["port", "release", "20000"], ["env", "list"], ["env", "show", "e"], ["env", "report", "e"],
      ["env", "delete", "e"], ["env", "update", "e", "--toggle", "a=1"],
    ])
  func asking(_ words: [String]) async throws {
    let outcome = try await Diorama.run(words, variables: ["DIORAMA_HOME": folder.path])
    expectOneLine(outcome, status: 69, naming: "no daemon runs for \(folder.path)", "diorama serve --state")
    let named = try await Diorama.run(words + ["--state", folder.file("other")])
    expectOneLine(named, status: 69, naming: "no daemon runs for \(folder.file("other"))")
  }

  @Test("what makes no sense is told before one is looked for, and none is started")
  func usage() async throws {
    for (words, problem) in [
      (["port", "--count", "0"], "--count takes a whole number from 1, not '0'"),
      (["port", "--count", "2", "--name", "a", "--name", "b", "--name", "c"], "does not go with 3 names"),
      (["port", "--owner", "me"], "--owner takes a process id, not 'me'"),
      (["port", "--ttl", "never"], "--ttl takes seconds"),
      (["port", "releas"], "did you mean release?"),
      (["port", "release"], "name the ports to release"),
      (["port", "release", "65536"], "'65536' is no port"),
      (["env"], "env needs a verb"), (["env", "creat"], "did you mean create?"),
      (["env", "show"], "DIORAMA_ENVIRONMENT is not set"),
      (["env", "create", "--shell", "--json"], "exclude each other"),
      (["env", "create", "--port", "a b", "--port", "a-b"], "would share DIORAMA_PORT_A_B"),
      (["env", "create", "--upstream", "api=ftp://x"], "--upstream api: "),
      (["env", "create", "--clock", "frosen"], "did you mean frozen?"),
      (["env", "update", "e"], "say what to change"),
      (["env", "update", "e", "--advance", "1", "--mode", "replay"], "moved by itself"),
      (["env", "update", "e", "--sleepers", "1"], "--sleepers goes with"),
      (["env", "update", "e", "--advance", "1", "--set", "2018-10-08T09:00:00Z"], "exclude each other"),
    ] {
      let outcome = try await Diorama.run(words, variables: ["DIORAMA_HOME": folder.path])
      expectOneLine(outcome, status: 64, naming: problem)
    }
    #expect(folder.names.isEmpty)
  }

  @Test(
    "every command still has its help",
    arguments: [
      ["port"], ["port", "list"], ["port", "release"], ["env"], ["env", "list"], ["env", "show"], ["env", "create"],
      ["env", "update"], ["env", "report"], ["env", "delete"],
    ])
  func help(_ words: [String]) async throws {
    let outcome = try await Diorama.run(words + ["--help"])
    #expect(outcome.status == 0)
    #expect(outcome.text.hasPrefix("usage: diorama \(words.joined(separator: " "))"))
    #expect(outcome.words.isEmpty)
  }
}
