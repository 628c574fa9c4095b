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
