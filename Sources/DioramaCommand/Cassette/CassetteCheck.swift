import Cassettes
import EnvironmentService
import Foundation

/// `diorama cassette check`: whether a cassette can be replayed, and taking up what a killed recording left.
enum CassetteCheck {
  static func run(_ arguments: [String], terminal: Terminal) throws -> Int32 {
    let options = try Options(arguments, table: table, command: "cassette check")
    if options.has("--help") {
      print(help, terminator: "")
      return 0
    }
    var status: Int32 = 0
    var results: [Result] = []
    for location in try CassetteCommand.locations(options, command: "cassette check") {
      var result = Result(cassette: location.har)
      do {
        try terminal.progress("checking \(location.har)") {
          if options.has("--recover") { result.recovered = try CassetteRecovery.recover(location)?.added }
          let contents = try CassetteVerifier.verify(location)
          result.interactions = contents.interactions
          result.strings = contents.strings
          result.rules = location.declaredRules
          if let path = location.declaredRules { _ = try EnvironmentSpecification.readRules(path) }
          result.unfinished = try CassetteSealer.unfinished(location)
        }
      } catch let error as EnvironmentError {
        result.problem = error.message
        status = status == 0 ? error.kind.rawValue : status
      }
      results.append(result)
      if !options.has("--json") { result.write(to: terminal) }
    }
    if options.has("--json") { try printJSON(results) }
    return status
  }

  private struct Result: Encodable {
    var cassette: String
    var interactions: Int?
    var strings: Int?
    /// The file of rules that holds for it.
    var rules: String?
    /// Interactions taken over from an unfinished recording.
    var recovered: Int?
    /// Interactions of an unfinished recording that is still there.
    var unfinished: Int?
    var problem: String?

    func write(to terminal: Terminal) {
      if let recovered { print("\(cassette): took up \(counted(recovered, "interaction")) of an unfinished recording") }
      if let problem { return terminal.error(problem) }
      let rules = rules.map { ", rules in \($0)" } ?? ""
      print("\(cassette): ok, \(counted(interactions ?? 0, "interaction")), \(counted(strings ?? 0, "string"))\(rules)")
      if let unfinished {
        terminal.line(
          "beside it is an unfinished recording of \(counted(unfinished, "interaction")); --recover makes it the cassette"
        )
      }
    }
  }

  private static let table: [Options.Option] = [
    .init("--recover", nil, "make an unfinished recording the cassette; the old one is kept as PATH.previous.har"),
    .init("--json", nil, "as JSON"),
  ]

  private static let help = """
    usage: diorama cassette check [--recover] [--json] PATH …

    Reads a cassette whole: HAR, string store, bodies, and the rules that hold for it. Ends with 65 when something is
    broken, 66 when nothing is there.

    \(Options.describe(table))
    """
}
