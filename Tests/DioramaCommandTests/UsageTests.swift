import Foundation
import TestSupport
import Testing

@Suite("Invalid command lines", .timeLimit(.minutes(5)))
struct UsageTests {
  /// A command line, and texts that its error must contain.
  struct Mistake: CustomTestStringConvertible, Sendable {
    var arguments: [String]
    var named: [String]
    var testDescription: String { arguments.joined(separator: " ") }

    init(_ line: String, _ named: String...) {
      arguments = line.split(separator: " ").map { $0 == "''" ? "" : String($0) }
      self.named = named
    }
  }

  static let mistakes: [Mistake] = [
    .init("", "no command", "--help"),
    .init("rum", "'rum'", "did you mean run?"),
    .init("nonsense", "'nonsense'", "diorama --help"),
    .init("run", "no command", "diorama run --help"),
    .init("run --", "no command"),
    .init("run true", "'true'", "--"),
    .init("run --mode mock true -- true", "'true'", "after --"),
    .init("run --casette x -- true", "--casette", "did you mean --cassette?"),
    .init("run --frobnicate -- true", "--frobnicate"),
    .init("run -x -- true", "-x"),
    .init("run --cassette", "--cassette", "PATH"),
    .init("run --play-uniquely=yes -- true", "--play-uniquely"),
    .init("run --mode reply -- true", "'reply'", "did you mean 'replay'?"),
    .init("run --mode '' -- true", "mode"),
    .init("run --mode mock --order stricct -- true", "'stricct'", "did you mean 'strict'?", "state"),
    .init("run --mode mock --config", "--config", "FILE"),
    .init("run --mode record -- true", "--cassette"),
    .init("run --cassette '' --upstream a=http://b -- true", "--cassette"),
    .init("run --mode proxy --clock frosen -- true", "'frosen'", "did you mean 'frozen'?"),
    .init("run --mode mock --clock scaled -- true", "scaled:60"),
    .init("run --mode mock --clock scaled:0 -- true", "scaled:60"),
    .init("run --mode mock --clock scaled:-1 -- true", "scaled:60"),
    .init("run --mode mock --clock scaled:fast -- true", "scaled:60"),
    .init("run --mode mock --clock scaled:inf -- true", "scaled:60"),
    .init("run --mode mock --clock scaled:1e7 -- true", "scaled:60"),
    .init("run --mode mock --streams recordet -- true", "'recordet'", "did you mean 'recorded'?"),
    .init("run --mode mock --streams scaled:0 -- true", "scaled:10"),
    .init("run --mode mock --clock frozen:2 -- true", "frozen:2"),
    .init("run --mode mock --start yesterday -- true", "'yesterday'", "2018-10-08T09:00:00Z"),
    .init("run --mode mock --start 2018-02-30T09:00:00Z -- true", "2018-02-30"),
    .init("run --mode mock --start 2018-10-08 -- true", "2018-10-08"),
    .init("run --mode mock --clock system --start 2018-10-08T09:00:00Z -- true", "--start"),
    .init("run --mode mock --time-zone Europe/Lundon -- true", "Europe/Lundon"),
    .init("run --mode proxy --upstream api -- true", "--upstream", "NAME=VALUE"),
    .init("run --mode proxy --upstream =http://a -- true", "--upstream"),
    .init("run --mode proxy --upstream api=ftp://a -- true", "api", "ftp"),
    .init("run --mode proxy --upstream api=http:// -- true", "api"),
    .init("run --mode proxy --upstream api=http://a:99999 -- true", "api"),
    .init("run --mode proxy --upstream api=http://a/path -- true", "api"),
    .init("run --mode proxy --upstream a=http://b --upstream a=http://c -- true", "'a'", "twice"),
    .init("run --mode proxy --upstream a-b=http://b --upstream A_B=http://c -- true", "DIORAMA_ENDPOINT_A_B"),
    .init("run --mode mock --toggle skip -- true", "--toggle", "NAME=VALUE"),
    .init("run --mode mock --default =1 -- true", "--default"),
    .init("run --mode mock --value x -- true", "--value"),
    .init("run --mode mock --credential clinic=env:HOME -- true", "SERVICE/ACCOUNT"),
    .init("run --mode mock --credential clinic/=env:HOME -- true", "SERVICE/ACCOUNT"),
    .init("run --mode mock --credential /token=env:HOME -- true", "SERVICE/ACCOUNT"),
    .init("run --mode mock --credential clinic/token=hunter2 -- true", "env:VAR"),
    .init("run --mode mock --credential clinic/token=env:DIORAMA_NO_SUCH -- true", "DIORAMA_NO_SUCH"),
    .init("run --mode mock --port '' -- true", "--port"),
    .init("run --mode mock --port a --port a -- true", "a", "twice"),
    .init("run --mode mock --port a-b --port a_b -- true", "DIORAMA_PORT_A_B"),
    .init("run --mode mock --port web --listen web -- true", "DIORAMA_PORT_WEB"),
    .init("run --mode mock --listen a:b -- true", "LISTEN_FDNAMES"),
    .init("run --mode mock --timeout soon -- true", "'soon'"),
    .init("run --mode mock --timeout 0 -- true", "'0'"),
    .init("run --mode mock --timeout -1 -- true", "'-1'"),
    .init("run --mode mock --timeout nan -- true", "'nan'"),
    .init("cassette", "show", "check"),
    .init("cassette shwo x", "did you mean show?"),
    .init("cassette show", "no cassette"),
    .init("cassette check", "no cassette"),
    .init("cassette show --jsn x", "did you mean --json?"),
    .init("cassette check --recover=1 x", "--recover"),
    .init("strings --key k", "--seed"),
    .init("strings --seed s", "--key"),
    .init("strings --seed s --key k extra", "'extra'"),
    .init("strings --seed s --key k --ordinal -1", "--ordinal", "'-1'"),
    .init("strings --seed s --key k --ordinal one", "--ordinal"),
    .init("strings --seed s --key k --ordinal 99999999999999999999", "--ordinal"),
    .init("strings --seed s --key ''", "key"),
    .init("strings --seed s --key a\u{1F}b", "key"),
    .init("strings --seed s --key k --length -1", "--length"),
    .init("strings --seed s --key k --length 1.5", "--length"),
    .init("strings --seed s --key k --alphabet ''", "alphabet"),
    .init("strings --seed s --key k --alphabet a", "alphabet"),
    .init("strings --seed s --key k --alphabet \(String(repeating: "ab", count: 129))", "alphabet"),
    .init("strings --seed s --key k --integer 5", "LOW..HIGH"),
    .init("strings --seed s --key k --integer 5..4", "LOW..HIGH"),
    .init("strings --seed s --key k --integer 1...4", "LOW..HIGH"),
    .init("strings --seed s --key k --integer 0..9223372036854775808", "LOW..HIGH"),
    .init("strings --seed s --key k --uuid --integer 1..2", "--uuid", "--integer"),
    .init("strings --seed s --key k --uuid --length 3", "--length"),
    .init("strings --seed s --key k --integer 1..2 --alphabet ab", "--alphabet"),
    .init("strings --seed s --key k --choice a --shuffle 3", "--choice", "--shuffle"),
    .init("strings --seed s --key k --email a.b --alphabet ab", "--alphabet", "--email"),
    .init("strings --seed s --key k --email a@b", "domain"),
    .init("strings --seed s --key k --shuffle -1", "--shuffle"),
    .init("strings --seed s --batch", "--seed", "--batch"),
    .init("strings --seed s --key k --version4", "--version4", "--uuid"),
    .init("version extra", "'extra'"),
  ]

  @Test("exit with 64 and one line that names the mistake", arguments: mistakes)
  func mistake(_ mistake: Mistake) async throws {
    let outcome = try await Diorama.run(mistake.arguments)
    expectOneLine(outcome, status: 64)
    for text in mistake.named { #expect(outcome.words.contains(text), "\(outcome.words)") }
  }

  @Test("a missing credential file exits with 74 and is named")
  func credentialFile() async throws {
    let outcome = try await Diorama.run(
      "run", "--mode", "mock", "--credential", "clinic/token=file:/no/such/file", "--", "true")
    expectOneLine(outcome, status: 74, naming: "clinic/token", "/no/such/file")
  }

  @Test("an error of several lines is joined")
  func oneLine() async throws {
    expectOneLine(try await Diorama.run("a\nb"), status: 64)
    expectOneLine(try await Diorama.run("run", "--mode", "a\r\nb", "--", "true"), status: 64)
  }

  @Test(
    "--help exits with 0 and prints to standard output",
    arguments: ["", "run", "cassette", "cassette show", "cassette check", "strings", "version"])
  func help(command: String) async throws {
    for word in ["--help", "-h"] {
      let outcome = try await Diorama.run(command.split(separator: " ").map(String.init) + [word])
      #expect(outcome.status == 0)
      #expect(outcome.words.isEmpty)
      #expect(outcome.text.contains("usage: diorama \(command)"), "\(outcome.text)")
      #expect(outcome.text.split(separator: "\n").allSatisfy { $0.count <= (command == "run" ? 120 : 80) })
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

  @Test("version prints the version")
  func version() async throws {
    for word in ["version", "--version"] {
      let outcome = try await Diorama.run(word)
      #expect(outcome.status == 0)
      #expect(outcome.text.wholeMatch(of: /diorama \d+\.\d+\.\d+\n/) != nil)
    }
  }
}
