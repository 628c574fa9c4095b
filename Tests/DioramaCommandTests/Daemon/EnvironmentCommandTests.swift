import ControlAPI
import Foundation
import LaunchContract
import TestSupport
import Testing

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

  @Test("makes a world for a shell, whatever is in its values, and reports how it held")
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

  @Test("records into a path from the shell's own folder, and replays it")
  func cassette() async throws {
    let daemon = try await RunningDaemon()
    let upstream = try Upstream()
    let outcome = try await script(
      #"""
      mkdir -p sub && cd sub
      one() { eval "$("$DIORAMA" env create --shell --cassette ../tape "$@")"; curl -s "$DIORAMA_ENDPOINT_API/a"; echo
        "$DIORAMA" env delete >>../reports; echo "$?"; }
      one --upstream api=\#(upstream.url); one
      """#, daemon)
    #expect(outcome.text == "/a 1\n0\n/a 1\n0\n", "\(outcome.words)")
    let reports = try folder.read("reports").split(separator: "\n")
    #expect(reports.first?.contains("\(folder.path)/tape.har written with 1 interaction") == true, "\(reports)")
    #expect(reports.last?.hasPrefix("replay ok: 1 request (1 replayed)") == true)
    await upstream.stop()
  }

  @Test("shows and changes what runs")
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

  @Test("ends what it cannot print")
  func unwritable() async throws {
    let daemon = try await RunningDaemon()
    let outcome = try await script(
      #"""
      "$DIORAMA" env create --mode mock >/dev/full; echo "$?"; "$DIORAMA" env list
      """#, daemon)
    #expect(outcome.text == "74\nthere is no environment\n", "\(outcome.words)")
  }

  @Test("refuses with the exit status that diorama run has")
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
}
