import Basics
import EnvironmentConfiguration
import Testing

@testable import DioramaCommand

@Suite("An option whose value can be left out")
struct OptionTests {
  private static let table = [
    Options.Option("--isolate", "[=KIND]", "", choices: ["auto", "proxy"]), Options.Option("--name", "NAME", ""),
  ]

  @Test(
    "takes a value after '=' only",
    arguments: [
      (["--isolate", "proxy"], ["auto"], ["proxy"]), (["--isolate=proxy"], ["proxy"], []),
      (["--isolate", "--name", "x"], ["auto"], []), (["--isolate", "--", "ls"], ["auto"], []), ([], nil, []),
    ])
  func value(arguments: [String], values: [String]?, operands: [String]) throws {
    let options = try Options(arguments, table: Self.table, command: "run")
    #expect(options.values["--isolate"] == values && options.operands == operands)
  }

  @Test("is shown with the '='")
  func help() { #expect(Options.describe(Self.table).contains("--isolate[=KIND]")) }
}

@Suite("The options that the advice to record repeats")
struct RepeatedOptionTests {
  @Test("are those of the run as they were written, without the mode, the cassette and output")
  func options() throws {
    let words = [
      "--cassette", "c/ep", "--env", "API_URL=api", "--port", "web", "--isolate=proxy", "--map",
      "http://a.test=http://127.0.0.1:1", "--value", "name=it's", "--report", "r.json", "--quiet", "--mode", "replay",
      "--timeout", "3", "--no-config", "--", "sh", "x",
    ]
    let parsed = try Options(words, table: RunCommand.table, command: "run")
    #expect(
      RunOptions.repeated(parsed) == [
        "--env API_URL=api", "--port web", "--isolate=proxy", "--map http://a.test=http://127.0.0.1:1",
        #"--value 'name=it'\''s'"#, "--timeout 3", "--no-config",
      ])
  }
}

@Suite("Options of diorama run that are not valid")
struct WrongOptionTests {
  @Test(
    "are refused with a message that names what to write",
    arguments: [
      (["--clock", "frozn"], "frozen, ticking, scaled:RATE or manual"),
      (
        ["--isolate", "--map", "api.example.com=http://127.0.0.1:1"],
        "--map: 'api.example.com' is not an origin; write https://api.example.com=URL"
      ),
      (
        ["--isolate", "--allow", "a", "--deny", "a"],
        "--deny: 'a' is allowed, too (--allow); remove it from one of them"
      ),
    ])
  func messages(words: [String], message: String) throws {
    let parsed = try Options(words + ["--no-config", "--", "ls"], table: RunCommand.table, command: "run")
    let error = #expect(throws: CodedError.self) { try RunOptions(parsed, environment: [:]) }
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
  }
}
