import Foundation
import TestSupport
import Testing

@Suite("Control characters in what others wrote", .timeLimit(.minutes(5)))
struct HostileTextTests {
  /// As JSON writes it: a title for the terminal, a line of its own, a colour by C1, another direction.
  private static let written = #"\u001b]0;x\u0007\r\n::error::\u009b31m\u202e\u2028z"#
  private static let shown = #"\u{1b}]0;x\u{7}\r\n::error::\u{9b}31m\u{202e}\u{2028}z"#
  private static let api = "http://127.0.0.1:1"

  private let folder: Folder

  init() throws { folder = try Folder() }

  private func entry(_ target: String, _ answer: String = "{}") -> String {
    """
    {"startedDateTime": "2018-10-08T09:00:00Z", "time": 1, "request": {"method": "GET", "url": "\(Self.api)\(target)",
    "headers": []}, "response": {"status": 200, "statusText": "OK",
    "headers": [{"name": "Content-Type", "value": "application/json"}],
    "content": {"mimeType": "application/json", "text": "\(answer)"}}}
    """
  }

  @discardableResult
  private func write(_ name: String, _ entries: String...) throws -> String {
    try folder.write(
      """
      {"log": {"version": "1.2", "creator": {"name": "diorama", "version": "1"}, "_diorama": {"format": 1,
      "recordedAt": "2018-10-08T09:00:00Z", "locale": "\(Self.written)", "upstreams": {"api": "\(Self.api)"}},
      "entries": [\(entries.joined(separator: ","))]}}
      """, to: "\(name).har")
    return folder.file(name)
  }

  /// Runs it, and expects that no terminal acts on what it writes.
  ///
  /// - Parameters:
  ///   - words: the command line.
  ///   - variables: of its process.
  ///   - shows: whether it shows the text.
  ///   - location: the test's.
  /// - Returns: how it ended.
  /// - Throws: where it cannot be run.
  @discardableResult
  private func run(
    _ words: String..., variables: [String: String?] = [:], shows: Bool = true,
    location: SourceLocation = #_sourceLocation
  ) async throws -> Child.Outcome {
    let outcome = try await Diorama.run(words, variables: variables)
    for text in [outcome.text, outcome.words] {
      let steering = text.unicodeScalars.filter {
        $0 != "\n" && ($0.properties.generalCategory == .control || $0.properties.isBidiControl)
          || [.lineSeparator, .paragraphSeparator].contains($0.properties.generalCategory)
      }
      #expect(steering.isEmpty, "\(words): \(text.debugDescription)", sourceLocation: location)
      #expect(!text.split(separator: "\n").contains { $0.hasPrefix("::") }, sourceLocation: location)
    }
    if shows {
      let all = outcome.text + outcome.words
      #expect(all.contains(Self.shown), "\(words): \(all)", sourceLocation: location)
    }
    return outcome
  }

  @Test("are shown escaped by cassette show, check, diff, prune, import and export, and stay in their JSON")
  func cassettes() async throws {
    let key = Self.written.replacing("\\", with: #"\\"#)
    let tape = try write("tape", entry("/\(Self.written)"), entry("/b", #"{\"a\#(key)\": 1}"#))
    let other = try write("other", entry("/b"))
    let shown = try await run("cassette", "show", tape)
    #expect(shown.text.split(separator: "\n").last?.hasSuffix("\(Self.api)/b") == true)
    let listing = try object(try await run("cassette", "show", "--json", tape, shows: false).text)
    let urls = (listing["interactions"] as? [[String: Any]])?.compactMap { $0["url"] as? String }
    #expect(urls?.first == "\(Self.api)/\u{1B}]0;x\u{7}\r\n::error::\u{9B}31m\u{202E}\u{2028}z")
    try await run("cassette", "check", tape, shows: false)
    try await run("cassette", "diff", tape, other)
    try await run("cassette", "diff", "--json", tape, other, shows: false)
    // Nothing listens there.
    try await run("cassette", "check", "--live", tape, shows: false)
    try folder.write("openapi: 3.1.0\npaths: {}\n", to: "api.yaml")
    try await run("cassette", "check", "--openapi", folder.file("api.yaml"), tape)
    try await run("cassette", "export", tape, "--to", folder.file("out"), "--as", "wiremock", shows: false)
    try await run(
      "cassette", "import", folder.file("tape.har"), "--to", folder.file("imported"), "--upstream",
      "x\u{1B}\n=http://none.test", shows: false)
    try await run("run", "--cassette", tape, "--report", folder.file("report"), "--", "true")
    try await run("cassette", "prune", tape, "--dry-run", "--report", folder.file("report"))
  }

  @Test("are shown escaped by check --live")
  func live() async throws {
    let upstream = try Upstream()
    let tape = entry("/b") + ", " + entry("/\(Self.written)")
    try write("tape", tape.replacing(Self.api, with: upstream.url))
    // It cannot be sent.
    let outcome = try await run("cassette", "check", "--live", folder.file("tape"))
    #expect(outcome.status == 69)
    #expect(outcome.lines.count == 1, "\(outcome.words)")
    await upstream.stop()
  }

  @Test("are shown escaped in the report and the errors of a run, in colours as well")
  func reports() async throws {
    let tape = try write("tape", entry("/\(Self.written)"))
    let plain = try await run("run", "--cassette", tape, "--", "true")
    #expect(plain.lines.count == 2, "\(plain.words)")
    let coloured = try await Diorama.run(
      ["run", "--cassette", tape, "--", "true"], variables: ["CLICOLOR_FORCE": "1"])
    #expect(coloured.words.contains("\u{1B}[33munused: interaction 0, GET \(Self.api)/\(Self.shown)\u{1B}[0m"))
    let error = try await run("cassette", "show", folder.file("a\u{1B}\n\u{9B}\u{202E}b"), shows: false)
    #expect(error.words.contains(#"/a\u{1b}\n\u{9b}\u{202e}b.har"#), "\(error.words)")
    let usage = try await run("run", "--a\u{1B}\nb", shows: false)
    #expect(usage.lines.count == 1 && usage.words.contains(#"--a\u{1b}\nb"#), "\(usage.words)")
  }

  @Test("are shown escaped by contract show and check")
  func contracts() async throws {
    let text = #"{"version": 1, "environment": {"id": "e", "name": "n"}, "mode": "T", "values": {"T": "T"}, "T": 1}"#
    try folder.write(text.replacing("T", with: Self.written), to: "contract.json")
    try await run("contract", "show", folder.file("contract.json"))
    try await run("contract", "show", "--json", folder.file("contract.json"), shows: false)
    try await run("contract", "check", folder.file("contract.json"))
  }

  @Test("are shown escaped by env list, show, report and delete, serve --status and port list")
  func environments() async throws {
    let daemon = try await RunningDaemon()
    // The API takes no control characters in names, but bidi controls.
    let name = "tape\u{202E}"
    let tape = try write(name, entry("/\(Self.written)"))
    let state = ["DIORAMA_HOME": daemon.folder]
    let created = try await Diorama.run(
      "env", "create", "--cassette", tape, "--mode", "replay", "--port", "p", variables: state)
    #expect(created.status == 0, "\(created.words)")
    let id = created.text.split(separator: "\n").joined()
    for words in [["env", "list"], ["env", "show", id], ["serve", "--status"]] {
      let lines = try await Diorama.run(words, variables: state)
      #expect(lines.text.contains(#"tape\u{202e}"#), "\(words): \(lines.text)")
      let json = try await Diorama.run(words + ["--json"], variables: state)
      #expect(json.text.contains(#"tape\u202e"#), "\(words): \(json.text)")
      for text in [lines.text, json.text] {
        #expect(!text.unicodeScalars.contains { $0 == "\u{202E}" }, "\(words)")
      }
    }
    try await run("port", "list", variables: state, shows: false)
    try await run("env", "report", id, variables: state)
    try await run("env", "report", id, "--json", variables: state, shows: false)
    try await run("env", "delete", id, variables: state)
  }
}
