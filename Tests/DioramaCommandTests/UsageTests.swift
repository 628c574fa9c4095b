import Foundation
import TestSupport
import Testing

/// A command line of `WrongInputs.txt`, with the exit status and the message that it must lead to.
struct WrongInput: Sendable, CustomTestStringConvertible {
  static let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "WrongInputs.txt")

  /// The line as it is in the file, after `$ `.
  let line: String
  let status: Int32
  let message: String
  var testDescription: String { line }

  static let all: [WrongInput] = {
    let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
    return text.components(separatedBy: "\n\n").compactMap { entry in
      let lines = entry.split(separator: "\n")
      guard lines.count == 2, lines[0].hasPrefix("$ "), let close = lines[1].firstIndex(of: "]") else { return nil }
      let status = Int32(lines[1][..<close].dropFirst()) ?? -1
      return WrongInput(
        line: String(lines[0].dropFirst(2)), status: status, message: String(lines[1][close...].dropFirst(2)))
    }
  }()

  /// The arguments, and the variables in front of them.
  private var command: (variables: [String: String?], arguments: [String]) {
    var words = line.split(separator: " ").map { $0 == "''" ? "" : String($0) }
    var variables: [String: String?] = [:]
    while let word = words.first, word != "diorama", let equals = word.firstIndex(of: "=") {
      variables[String(word[..<equals])] = String(word[word.index(after: equals)...])
      words.removeFirst()
    }
    return (variables, Array(words.dropFirst()))
  }

  /// Runs the command line in a folder with all kinds of files.
  func run() async throws -> Child.Outcome {
    let folder = try Folder()
    let har = #"""
      {"log": {"version": "1.2", "creator": {"name": "t", "version": "1"}, "entries": [
      {"startedDateTime": "2018-10-08T09:00:00Z", "time": 1, "request": {"method": "GET", "url": "http://h.test/a"},
      "response": {"status": 200, "content": {"size": 1, "mimeType": "text/plain", "text": "a"}}}]}}
      """#
    let later =
      #"{"log": {"version": "1.2", "creator": {"name": "Diorama"}, "_diorama": {"format": 99}, "entries": []}}"#
    for (name, text) in [
      ("c.har", har), ("broken.har", #"{"log": {"#), ("later.har", later), ("plain", "words\n"),
      ("broken.json", "{]"), ("typo.json", #"{"upstream": {}}"#),
      ("relation.json", #"{"clock": {"timeZone": "Europe/Lundon"}}"#), ("daemon-typo.json", #"{"limit": {}}"#),
      ("daemon-limit.json", #"{"limits": {"leases": 0}}"#),
    ] { try folder.write(text, to: name) }
    for name in ["folder", "empty"] {
      try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: false)
    }
    try #require(mkfifo(folder.file("pipe.har"), 0o600) == 0)
    try #require(symlink("loop.har", folder.file("loop.har")) == 0)
    try #require(symlink("nowhere/c.har", folder.file("dangling.har")) == 0)
    let (variables, arguments) = command
    var outcome = try await Diorama.run(
      arguments, variables: variables.merging(["DIORAMA_HOME": folder.file("daemon")]) { $1 }, folder: folder.path)
    outcome.errors = Array(outcome.words.replacing(folder.path, with: "FOLDER").utf8)
    return outcome
  }
}

@Suite("Wrong inputs", .timeLimit(.minutes(5)))
struct UsageTests {
  @Test("exit with their status and one line that names the mistake", arguments: WrongInput.all)
  func wrongInput(_ input: WrongInput) async throws {
    let outcome = try await input.run()
    #expect(outcome.words == "diorama: \(input.message)\n")
    #expect(outcome.status == input.status)
    #expect(outcome.text.isEmpty, "\(outcome.text)")
  }

  @Test("are tried for every command")
  func coverage() async throws {
    // An entry that cannot be read would not be tried.
    let entries = try String(contentsOf: WrongInput.file, encoding: .utf8).split(separator: "\n").filter {
      $0.hasPrefix("$")
    }
    #expect(WrongInput.all.count == entries.count)
    #expect(entries.count >= 60)
    let commands = [
      "help", "completion", "version", "doctor", "run", "verify", "cassette", "cassette show", "cassette check",
      "cassette diff",
      "cassette prune", "cassette import", "cassette export", "rules", "rules suggest", "contract", "contract show",
      "contract check", "strings", "serve", "port", "port list", "port release", "token", "token create",
      "token revoke", "env", "env create", "env list",
      "env show", "env update",
      "env report", "env delete", "features", "features check", "features list", "features format", "features steps",
      "features report",
    ]
    for command in commands {
      // The command itself has to be tried, not only one of its subcommands.
      let isTried = WrongInput.all.contains { input in
        guard let end = input.line.firstRange(of: "diorama \(command)")?.upperBound else { return false }
        let next = input.line[end...].split(separator: " ").first ?? ""
        return !commands.contains("\(command) \(next)")
      }
      #expect(isTried, "\(command)")
    }
    guard ProcessInfo.processInfo.environment["DIORAMA_UPDATE"] == "1" else { return }
    var text = try String(contentsOf: WrongInput.file, encoding: .utf8)
    for input in WrongInput.all {
      let outcome = try await input.run()
      let words = outcome.words.trimmingCharacters(in: .newlines).replacing("diorama: ", with: "", maxReplacements: 1)
      text = text.replacing(
        "$ \(input.line)\n[\(input.status)] \(input.message)\n", with: "$ \(input.line)\n[\(outcome.status)] \(words)\n"
      )
    }
    try text.write(to: WrongInput.file, atomically: true, encoding: .utf8)
  }

  @Test("an argument that is not UTF-8 is refused, since it would name another file")
  func encoding() async throws {
    let folder = try Folder()
    let script =
      #"cd "$1" && "$0" cassette show "$(printf 'b\377')"; "$0" run --mode mock -- printf "$(printf 'b\377')""#
    let diorama = String(decoding: try Diorama.words([])[0], as: UTF8.self)
    let outcome = try await onThread {
      try Child(
        ["sh", "-c", script, diorama, folder.path].map { Array($0.utf8) }, environment: Diorama.environment()
      ).finish()
    }
    #expect(
      outcome.lines.first == "diorama: argument 3 is not UTF-8: 'b\u{FFFD}'; rename the file; see diorama --help",
      "\(outcome.words)")
    // The arguments of the command are its own.
    #expect(outcome.output == [0x62, 0xFF], "\(outcome.words)")
  }

  @Test("an error of several lines is joined")
  func oneLine() async throws {
    expectOneLine(try await Diorama.run("a\nb"), status: 64)
    expectOneLine(try await Diorama.run("run", "--mode", "a\r\nb", "--", "true"), status: 64)
  }

  @Test(
    "--help exits with 0 and prints to standard output, as help does",
    arguments: [
      "", "run", "verify", "cassette", "cassette show", "cassette check", "cassette diff", "cassette prune",
      "cassette import",
      "cassette export", "rules", "rules suggest", "contract", "contract show", "contract check", "strings", "version",
      "completion", "help", "doctor",
      "serve", "features", "features check", "features list", "features format", "features steps", "features report",
    ])
  func help(command: String) async throws {
    let words = command.split(separator: " ").map(String.init)
    for arguments in [words + ["--help"], words + ["-h"], ["help"] + words] {
      let outcome = try await Diorama.run(arguments)
      #expect(outcome.status == 0)
      #expect(outcome.words.isEmpty)
      #expect(outcome.text.hasPrefix("usage: diorama \(command)"), "\(outcome.text)")
      #expect(outcome.text.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(outcome.text)")
    }
  }

  @Test("the help of run lists every documented option")
  func options() async throws {
    let text = try await Diorama.run("run", "--help").text
    for option in [
      "cassette", "mode", "upstream", "seed", "clock", "start", "time-zone", "locale", "toggle", "default", "value",
      "credential", "port", "listen", "report", "journal", "timeout",
    ] { #expect(text.contains("--\(option) ")) }
  }

  @Test("version prints the version and commit")
  func version() async throws {
    for word in ["version", "--version"] {
      let outcome = try await Diorama.run(word)
      #expect(outcome.status == 0)
      #expect(outcome.text.wholeMatch(of: /diorama \d+\.\d+\.\d+ \(commit [0-9a-z-]+\)\n/) != nil, "\(outcome.text)")
    }
  }
}
