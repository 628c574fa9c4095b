import Foundation
import Gherkin

/// `FeatureTestGenerator FEATURE OUTPUT MODULE`: a stand-in with one test for each scenario.
@main enum Main {
  static func main() {
    let path = CommandLine.arguments[1]
    let text = String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    do throws(GherkinErrors) {
      let document = try GherkinParser().parse(text, uri: path)
      try? generated(document, path).write(toFile: CommandLine.arguments[2], atomically: true, encoding: .utf8)
    } catch {
      print("\(path):1:1: error: \(error)")
      exit(1)
    }
  }

  private static func generated(_ document: GherkinDocument, _ path: String) -> String {
    var lines = [Int: String]()
    lines[1] = "import DioramaScenarios; import Testing; "
    guard let feature = document.feature else { return lines[1] ?? "" }
    lines[feature.location.line, default: ""] +=
      "@Suite(.feature(\(quoted(feature.name)), in: \(quoted(path)))) struct `Feature: \(feature.name)` {"
    var names = Set<String>()
    var last = 1
    for scenario in PackedScenario.all(in: document) {
      var name = scenario.name.filter { !"`\\\n".contains($0) }
      if !scenario.row.isEmpty { name += " (\(scenario.row.joined(separator: ", ")))" }
      while !names.insert(name).inserted { name += " again" }
      last = scenario.line
      lines[last] =
        "@Test(.scenario(\(quoted(scenario.packed)))) func `\(name)`() async throws { "
        + "try await DioramaScenarios.run(Features()) }"
    }
    lines[max(last, feature.location.line), default: ""] += " }"
    return (1...(lines.keys.max() ?? 1)).map { lines[$0] ?? "" }.joined(separator: "\n") + "\n"
  }

  private static func quoted(_ text: String) -> String {
    "\"" + text.unicodeScalars.map { scalar in
      switch scalar {
      case "\\", "\"": "\\\(scalar)"
      case _ where scalar.value < 0x20: "\\u{\(String(scalar.value, radix: 16))}"
      default: String(scalar)
      }
    }.joined() + "\""
  }
}
