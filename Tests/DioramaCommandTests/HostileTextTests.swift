import Foundation
import TestSupport
import Testing

@Suite("Control characters in foreign text", .timeLimit(.minutes(5)))
struct HostileTextTests {
  /// In JSON: a terminal title, a line break, a C1 color sequence, and a directional mark.
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

  /// Runs a command, and expects no control characters in its output.
  ///
  /// - Parameters:
  ///   - words: the arguments.
  ///   - variables: additional variables.
  ///   - shows: whether the output contains the text.
  ///   - location: the test's location.
  /// - Returns: the outcome.
  /// - Throws: if the command can't be run.
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

  @Test("are escaped by cassette show, check, diff, prune, import and export, and kept in JSON")
  func cassettes() async throws {
    let key = Self.written.replacing("\\", with: #"\\"#)
    let booking = try write("booking", entry("/\(Self.written)"), entry("/b", #"{\"a\#(key)\": 1}"#))
    let other = try write("other", entry("/b"))
    let shown = try await run("cassette", "show", booking)
    #expect(shown.text.split(separator: "\n").last?.hasSuffix("\(Self.api)/b") == true)
    let listing = try object(try await run("cassette", "show", "--json", booking, shows: false).text)
    let urls = (listing["interactions"] as? [[String: Any]])?.compactMap { $0["url"] as? String }
    #expect(urls?.first == "\(Self.api)/\u{1B}]0;x\u{7}\r\n::error::\u{9B}31m\u{202E}\u{2028}z")
    try await run("cassette", "check", booking, shows: false)
    try await run("cassette", "diff", booking, other)
    try await run("cassette", "diff", "--json", booking, other, shows: false)
    // Nothing listens on that port.
    try await run("cassette", "check", "--live", booking, shows: false)
    try folder.write("openapi: 3.1.0\npaths: {}\n", to: "api.yaml")
    try await run("cassette", "check", "--openapi", folder.file("api.yaml"), booking)
    try await run("cassette", "export", booking, "--to", folder.file("out"), "--as", "wiremock", shows: false)
    try await run(
      "cassette", "import", folder.file("booking.har"), "--to", folder.file("imported"), "--upstream",
      "x\u{1B}\n=http://none.test", shows: false)
    try await run(
      "run", "--cassette", booking, "--allow-no-requests", "--report", folder.file("report"), "--", "true")
    try await run("cassette", "prune", booking, "--dry-run", "--report", folder.file("report"))
  }

  @Test("are escaped by check --live")
  func live() async throws {
    let upstream = try Upstream()
    let booking = entry("/b") + ", " + entry("/\(Self.written)")
    try write("booking", booking.replacing(Self.api, with: upstream.url))
    // This URL can't be sent.
    let outcome = try await run("cassette", "check", "--live", folder.file("booking"))
    #expect(outcome.status == 69)
    #expect(outcome.lines.count == 1, "\(outcome.words)")
    await upstream.stop()
  }

  @Test("are escaped in reports and errors of a run, also with colors")
  func reports() async throws {
    let booking = try write("booking", entry("/\(Self.written)"))
    let plain = try await run("run", "--cassette", booking, "--allow-no-requests", "--", "true")
    #expect(plain.lines.count == 2, "\(plain.words)")
    let coloured = try await Diorama.run(
      ["run", "--cassette", booking, "--allow-no-requests", "--", "true"], variables: ["CLICOLOR_FORCE": "1"])
    #expect(coloured.words.contains("\u{1B}[33munused: interaction 0, GET \(Self.api)/\(Self.shown)\u{1B}[0m"))
    let error = try await run("cassette", "show", folder.file("a\u{1B}\n\u{9B}\u{202E}b"), shows: false)
    #expect(error.words.contains(#"/a\u{1b}\n\u{9b}\u{202e}b.har"#), "\(error.words)")
    let usage = try await run("run", "--a\u{1B}\nb", shows: false)
    #expect(usage.lines.count == 1 && usage.words.contains(#"--a\u{1b}\nb"#), "\(usage.words)")
  }

  @Test("are escaped by contract show and check")
  func contracts() async throws {
    let text = #"{"version": 1, "environment": {"id": "e", "name": "n"}, "mode": "T", "values": {"T": "T"}, "T": 1}"#
    try folder.write(text.replacing("T", with: Self.written), to: "contract.json")
    try await run("contract", "show", folder.file("contract.json"))
    try await run("contract", "show", "--json", folder.file("contract.json"), shows: false)
    try await run("contract", "check", folder.file("contract.json"))
  }

  @Test("are escaped by env list, show, report and delete, serve --status and port list")
  func environments() async throws {
    let daemon = try await RunningDaemon()
    // The API refuses control characters in names, but not directional marks.
    let name = "booking\u{202E}"
    let booking = try write(name, entry("/\(Self.written)"))
    let state = ["DIORAMA_HOME": daemon.folder]
    let created = try await Diorama.run(
      "env", "create", "--cassette", booking, "--mode", "replay", "--port", "p", variables: state)
    #expect(created.status == 0, "\(created.words)")
    let id = created.text.split(separator: "\n").joined()
    for words in [["env", "list"], ["env", "show", id], ["serve", "--status"]] {
      let lines = try await Diorama.run(words, variables: state)
      #expect(lines.text.contains(#"booking\u{202e}"#), "\(words): \(lines.text)")
      let json = try await Diorama.run(words + ["--json"], variables: state)
      #expect(json.text.contains(#"booking\u202e"#), "\(words): \(json.text)")
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
