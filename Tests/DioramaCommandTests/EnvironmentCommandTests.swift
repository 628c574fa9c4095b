import Basics
import ControlAPI
import Foundation
import LaunchContract
import TestSupport
import Testing

@testable import DioramaCommand

@Suite("diorama env")
struct EnvironmentCommandTests {
  private let folder: Folder

  init() throws {
    folder = try Folder()
  }

  private func script(_ text: String, _ daemon: RunningDaemon) async throws -> Child.Outcome {
    let command = try Diorama.words([])[0]
    let variables = [
      "DIORAMA": String(decoding: command, as: UTF8.self), "DIORAMA_HOME": daemon.folder, "FOLDER": folder.path,
    ]
    return try await onThread { [folder] in
      try Child(
        ["sh", "-c", "cd \"$0\"; \(text)", folder.path].map { Array($0.utf8) },
        environment: Diorama.environment(variables)
      ).finish()
    }
  }

  @Test("creates an environment for a shell, with any values, and reports its result")
  func shell() async throws {
    let daemon = try await RunningDaemon()
    let nasty = #"it's "$HOME" `id` \ é'́ ;"# + "\nend"
    try folder.write(nasty, to: "value")
    let outcome = try await script(
      #"""
      eval "$("$DIORAMA" env create --shell --mode mock --upstream api=https://a.example --port debug \
        --value "nasty=$(cat value)" --seed s)"
      test -n "$DIORAMA_ENDPOINT_API" && test -n "$DIORAMA_PORT_DEBUG" && test -n "$DIORAMA_TOKEN" || exit 1
      "$DIORAMA" contract show --json >contract
      curl -s -o /dev/null "$DIORAMA_ENDPOINT_API/missing"
      "$DIORAMA" env report --json >before; echo "before $?"
      "$DIORAMA" env delete >after; echo "after $?"
      "$DIORAMA" env delete 2>again; echo "again $?"
      """#, daemon)
    #expect(outcome.text == "before 3\nafter 3\nagain 66\n", "\(outcome.words)")
    let values = try folder.json("contract")["values"] as? [String: Any]
    #expect(values?["nasty"] as? String == nasty)
    #expect((try folder.json("before")["requests"] as? [String: Int])?["unmatched"] == 1)
    #expect(try folder.read("after").hasPrefix("mock failed: 1 request (1 unmatched)"))
    #expect(try folder.read("again").hasPrefix("diorama: "))
  }

  @Test("records to a path relative to the shell's folder, and replays it")
  func cassette() async throws {
    let daemon = try await RunningDaemon()
    let upstream = try Upstream()
    let outcome = try await script(
      #"""
      mkdir -p sub && cd sub
      one() { eval "$("$DIORAMA" env create --shell --cassette ../booking "$@")"; curl -s "$DIORAMA_ENDPOINT_API/a"; echo
        "$DIORAMA" env delete >>../reports; echo "$?"; }
      one --upstream api=\#(upstream.url); one
      """#, daemon)
    #expect(outcome.text == "/a 1\n0\n/a 1\n0\n", "\(outcome.words)")
    let reports = try folder.read("reports").split(separator: "\n")
    #expect(reports.first?.contains("\(folder.path)/booking.har written with 1 interaction") == true, "\(reports)")
    #expect(reports.last?.hasPrefix("replay ok: 1 request (1 replayed)") == true)
    await upstream.stop()
  }

  @Test("shows and changes an environment")
  func update() async throws {
    let daemon = try await RunningDaemon()
    let outcome = try await script(
      #"""
      id=$("$DIORAMA" env create --mode mock --name mine --clock manual --start 2018-10-08T09:00:00Z --toggle a=1)
      "$DIORAMA" env list | grep -c "$id  mine"
      "$DIORAMA" env show "$id" | head -2 | tail -1
      "$DIORAMA" env update "$id" --toggle a=null --toggle b=true
      "$DIORAMA" env update "$id" --advance 60
      "$DIORAMA" env show "$id" --json >shown
      "$DIORAMA" env delete "$id" --json >/dev/null; echo "$?"
      """#, daemon)
    #expect(outcome.text == "1\n  mode      mock\n2018-10-08T09:01:00Z, 0 sleepers woken\n0\n", "\(outcome.words)")
    let shown = try JSONDecoder().decode(
      ProvisionedEnvironment.self, from: Data(try folder.read("shown").utf8))
    #expect(shown.contract?.document?.toggles == ["b": .bool(true)])
    #expect(shown.name == "mine")
  }

  @Test("takes the settings of a test, the later ones of a list first, and names the nearest of an unknown member")
  func settings() async throws {
    let daemon = try await RunningDaemon()
    try folder.write(#"{"toggles": {"a": 0, "b": 0, "c": 0}, "cassettes": "All"}"#, to: "diorama.json")
    let outcome = try await script(
      #"""
      create() { "$DIORAMA" env create --settings - "$@"; }
      id=$(echo '[{"toggles": {"a": 1, "b": 1}, "mode": "mock", "name": "general"},
        {"toggles": {"b": 2}, "name": "a test", "values": {"v": [1]}}]' | create --value w=2)
      "$DIORAMA" env show "$id" --json >shown
      echo '{"mode": "mock"}' | DIORAMA_MODE=proxy create --json | grep '"mode" : "mock"'
      echo '{"mode": "mock", "upstreams": {"api": "http://a.example"}}' | DIORAMA_MODE=proxy create --json | grep '"mode" : "proxy"'
      echo '[{}, {"togles": {}}]' | create; echo "$?"
      echo '{"cassette": "none", "command": "runner x"}' | CI=1 create; echo "$?"
      create --settings missing; echo "$?"
      """#, daemon)
    let lines = outcome.text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    let modes = lines.filter { $0.hasPrefix("\"mode\"") }
    #expect(Set(modes) == [#""mode" : "mock","#, #""mode" : "proxy","#], "\(outcome.text)\(outcome.words)")
    #expect(lines.filter { $0.count == 2 } == ["64", "66", "74"])
    let shown = try JSONDecoder().decode(ProvisionedEnvironment.self, from: Data(try folder.read("shown").utf8))
    #expect(shown.name == "a test" && shown.mode == "mock")
    #expect(shown.contract?.document?.toggles == ["a": .int(1), "b": .int(2), "c": .int(0)])
    #expect(shown.contract?.document?.values == ["v": .array([.int(1)]), "w": .int(2)])
    #expect(outcome.lines.count == 3)
    #expect(outcome.words.contains("--settings: [1].togles: unknown member; did you mean 'toggles'?"))
    #expect(outcome.words.contains("record it with DIORAMA_MODE=record runner x\n"))
    #expect(outcome.words.contains("cannot read the settings in missing: "))
  }

  @Test("sets variables for the later steps of a GitHub job, masks the token, and lives as long as the job may")
  func github() async throws {
    let daemon = try await RunningDaemon()
    let outcome = try await script(
      #"""
      echo FIRST=1 >variables
      GITHUB_ENV=variables "$DIORAMA" env create --github --mode mock --upstream api=https://a.example --env API_URL=api
      "$DIORAMA" env list --json >listed
      "$DIORAMA" env create --github --mode mock; echo "$?"
      GITHUB_ENV=/missing/file "$DIORAMA" env create --github --mode mock >/dev/null; echo "$?"
      "$DIORAMA" env list | grep -c mock
      """#, daemon)
    let lines = outcome.text.split(separator: "\n")
    #expect(lines.count == 5 && lines[2...] == ["64", "73", "1"], "\(outcome.text)\(outcome.words)")
    let variables = try folder.read("variables").split(separator: "\n").map { $0.split(separator: "=", maxSplits: 1) }
    let values = Dictionary(variables.map { (String($0[0]), String($0[1])) }) { $1 }
    #expect(values["FIRST"] == "1" && values["API_URL"] == values["DIORAMA_ENDPOINT_API"] && values["API_URL"] != nil)
    #expect(values["DIORAMA_ENVIRONMENT"].map { $0[...] } == lines[1])
    #expect(lines[0] == "::add-mask::\(values["DIORAMA_TOKEN"] ?? "")")
    let listed = try JSONDecoder().decode(EnvironmentList.self, from: Data(try folder.read("listed").utf8))
    let environment = try #require(listed.environments.first)
    let created = try #require(RFC3339.parse(environment.createdAt))
    #expect(environment.owner == nil)
    #expect(RFC3339.parse(environment.endsAt ?? "")?.timeIntervalSince(created) == 21_600)
    #expect(outcome.words.contains("GITHUB_ENV is not set") && outcome.words.contains("use --shell elsewhere"))
    #expect(outcome.words.contains("cannot write /missing/file, which GITHUB_ENV names"))
  }

  @Test("sets a variable of several lines for a GitHub job, whose end the value cannot contain")
  func githubLines() throws {
    let workflow = try GitHubWorkflow(["GITHUB_ENV": folder.file("variables")])
    try workflow.set([("A", "1"), ("B", "x\nC=2\n"), ("D", "")])
    let lines = try folder.read("variables").split(separator: "\n", omittingEmptySubsequences: false)
    let delimiter = try #require(lines[1].split(separator: "<<").last)
    #expect(delimiter.count > 30)
    #expect(Array(lines) == ["A=1", "B<<\(delimiter)", "x", "C=2", "", delimiter, "D=", ""])
  }

  @Test("fails without a request if one is expected, and writes the outcome as JSON and JUnit XML")
  func expectedRequests() async throws {
    let daemon = try await RunningDaemon()
    let outcome = try await script(
      #"""
      create() { "$DIORAMA" env create --mode proxy --upstream api=http://127.0.0.1:9 "$@"; }
      "$DIORAMA" env delete --expect-requests --junit failed.xml --report failed.json "$(create --name '<&"')"; echo "$?"
      "$DIORAMA" env delete --expect-requests "$(create --allow-no-requests)"; echo "$?"
      "$DIORAMA" env delete --junit passed.xml "$(create)"; echo "$?"
      "$DIORAMA" env delete --failed --junit aborted.xml --expect-requests "$(create)"; echo "$?"
      """#, daemon)
    let statuses = outcome.text.split(separator: "\n").filter { $0.count == 1 }.map(String.init)
    #expect(statuses == ["3", "0", "0", "3"], "\(outcome.text)\(outcome.words)")
    #expect(outcome.text.contains("permit that with --allow-no-requests"))
    #expect(try folder.json("failed.json")["ok"] as? Bool == false)
    let failed = try folder.read("failed.xml")
    #expect(failed.contains(#"name="&lt;&amp;&quot;""#) && failed.contains(#"failures="1""#))
    #expect(failed.contains(#"<failure type="environment" message="no request reached the environment"#))
    #expect(try folder.read("passed.xml").contains("<system-out>proxy ok: 0 requests"))
    #expect(try folder.read("aborted.xml").contains(#"<failure type="environment" message="no request reached"#))
  }

  @Test("ends an environment that can't be printed")
  func unwritable() async throws {
    let daemon = try await RunningDaemon()
    let outcome = try await script(
      #"""
      "$DIORAMA" env create --mode mock >/dev/full; echo "$?"; "$DIORAMA" env list
      """#, daemon)
    #expect(outcome.text == "74\nno environments\n", "\(outcome.words)")
  }

  @Test("fails with the exit statuses of diorama run")
  func refused() async throws {
    let daemon = try await RunningDaemon()
    let outcome = try await script(
      #"""
      "$DIORAMA" env create --mode replay --cassette none; echo "$?"
      echo '{' >broken.har; "$DIORAMA" env create --mode replay --cassette broken; echo "$?"
      "$DIORAMA" env create --mode record --cassette new; echo "$?"
      CI=1 "$DIORAMA" env create --cassette none; echo "$?"
      """#, daemon)
    #expect(outcome.text == "66\n65\n69\n66\n", "\(outcome.words)")
    #expect(outcome.lines.count == 4)
  }

  @Test("refuses to enter what is not an environment for isolated commands, and an invalid command line")
  func enter() async throws {
    let daemon = try await RunningDaemon()
    let outcome = try await script(
      #"""
      refused() { "$DIORAMA" env enter "$@" 2>>words; echo "$?"; }
      refused no-such -- true
      id=$("$DIORAMA" env create --mode mock)
      refused "$id" -- true
      refused "$id"
      refused "$id" true
      refused "$id" -- /does/not/exist
      refused -- true
      "$DIORAMA" env create --mode mock --isolate --shell --proxy 2>>words; echo "$?"
      DIORAMA_ENVIRONMENT=e DIORAMA_CONTROL=http://127.0.0.1:1/__diorama DIORAMA_TOKEN=t refused -- true
      "$DIORAMA" env delete "$id" >delete
      refused "$id" -- true
      """#, daemon)
    #expect(outcome.text == "66\n64\n64\n64\n127\n64\n64\n69\n66\n", "\(outcome.words)")
    let words = try folder.read("words").split(separator: "\n")
    #expect(words.count == 9 && words.allSatisfy { $0.hasPrefix("diorama: ") }, "\(words)")
    #expect(words[1].contains("is not for isolated commands; create one with --isolate"))
    #expect(words[6].contains("--proxy and --isolate cannot be combined"))
    #expect(words[7].contains("environment e does not respond at http://127.0.0.1:1/__diorama"))
  }
}

@Suite("Without a daemon")
struct NoDaemonTests {
  private let folder: Folder

  init() throws {
    folder = try Folder()
  }

  @Test(
    "queries exit with 69, and explain how to start a daemon",
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

  @Test("invalid arguments are reported without starting a daemon")
  func usage() async throws {
    for (words, problem) in [
      (["port", "--count", "0"], "--count takes a whole number from 1 to 1000, not '0'"),
      (["port", "--count", "2", "--name", "a", "--name", "b", "--name", "c"], "--count 2 and 3 names differ"),
      (["port", "--owner", "me"], "--owner takes a process id, not 'me'"),
      (["port", "--ttl", "never"], "--ttl takes seconds"),
      (["port", "releas"], "did you mean 'release'?"),
      (["port", "release"], "no port to release"),
      (["port", "release", "65536"], "'65536' is not a port"),
      (["env"], "missing subcommand"), (["env", "creat"], "did you mean 'create'?"),
      (["env", "show"], "set DIORAMA_ENVIRONMENT"),
      (["env", "create", "--shell", "--json"], "cannot be combined"),
      (["env", "create", "--shell", "--github"], "cannot be combined"),
      (["env", "create", "--proxy"], "--proxy requires --shell or --github"),
      (["env", "create", "--port", "a b", "--port", "a-b"], "would share DIORAMA_PORT_A_B"),
      (["env", "create", "--upstream", "api=ftp://x"], "--upstream api: 'ftp://x' is not an origin"),
      (["env", "create", "--clock", "frosen"], "did you mean 'frozen'?"),
      (["env", "update", "e"], "nothing to change"),
      (["env", "update", "e", "--advance", "1", "--mode", "replay"], "cannot be combined"),
      (["env", "update", "e", "--sleepers", "1"], "--sleepers requires"),
      (["env", "update", "e", "--advance", "1", "--set", "2018-10-08T09:00:00Z"], "cannot be combined"),
    ] {
      let outcome = try await Diorama.run(words, variables: ["DIORAMA_HOME": folder.path])
      expectOneLine(outcome, status: 64, naming: problem)
    }
    #expect(folder.names.isEmpty)
  }

  @Test(
    "every command prints help",
    arguments: [
      ["port"], ["port", "list"], ["port", "release"], ["env"], ["env", "list"], ["env", "show"], ["env", "create"],
      ["env", "enter"], ["env", "update"], ["env", "report"], ["env", "delete"],
    ])
  func help(_ words: [String]) async throws {
    let outcome = try await Diorama.run(words + ["--help"])
    #expect(outcome.status == 0)
    #expect(outcome.text.hasPrefix("usage: diorama \(words.joined(separator: " "))"))
    #expect(outcome.words.isEmpty)
  }
}
