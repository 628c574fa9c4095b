import Foundation
import Testing

@testable import DioramaScenarios

/// What the closures of steps have received.
private final class Received: StepDefinitions {
  var values: [String] = []
  let make: (Received) -> [DioramaScenarios.Step]
  init(@StepsBuilder _ make: @escaping (Received) -> [DioramaScenarios.Step]) { self.make = make }
  var steps: [DioramaScenarios.Step] { make(self) }
  func add(_ values: Any...) { self.values += values.map { "\($0)" } }
}

private enum Vehicle: String, CaseIterable { case car, cargoBike = "cargo bike" }
private struct Visit: Decodable, Equatable {
  let startTime: String
  let minutes: Int
  let note: String?
}

@Suite struct StepMatchingTests {
  private func received(
    _ text: String, @StepsBuilder _ steps: @escaping (Received) -> [DioramaScenarios.Step]
  ) async throws -> [String] {
    let definitions = Received(steps)
    let run = try await FeatureRun(text, definitions)
    #expect(run.messages == [])
    return definitions.values
  }

  @Test("passes 0 to 6 values")
  func arities() async throws {
    let values = try await received(
      "Given none\nGiven 1\nGiven 1 2\nGiven 1 2 3\nGiven 1 2 3 4\nGiven 1 2 3 4 5\nGiven 1 2 3 4 5 6"
    ) { r in
      Given("none") { r.add("-") }
      Given("{int}") { (a: Int) in r.add(a) }
      Given("{int} {int}") { (a: Int, b: Int) in r.add(a, b) }
      Given("{int} {int} {int}") { (a: Int, b: Int, c: Int) in r.add(a, b, c) }
      Given("{int} {int} {int} {int}") { (a: Int, b: Int, c: Int, d: Int) in r.add(a, b, c, d) }
      Given("{int} {int} {int} {int} {int}") { (a: Int, b: Int, c: Int, d: Int, e: Int) in r.add(a, b, c, d, e) }
      Given("{int} {int} {int} {int} {int} {int}") { (a: Int, b: Int, c: Int, d: Int, e: Int, f: Int) in
        r.add(a, b, c, d, e, f)
      }
    }
    #expect(values.joined() == "-112123123412345123456")
  }

  @Test("converts captures to the closure's types")
  func types() async throws {
    let values = try await received(
      """
      Given true, 1.25 and 0.10
      Given a cargo bike
      Given the visit {"startTime": "9:00", "minutes": 20}
      Given count 7
      Given a red light
      """
    ) { r in
      Given("{word}, {double} and {word}") { (a: Bool, b: Double, c: Decimal) in r.add(a, b, c) }
      Given("a {vehicle}") { (vehicle: Vehicle) in r.add(vehicle) }
      Given("the visit {visit}") { (visit: Visit) in r.add(visit.minutes) }
      Given("count {int}") { (count: Int?) in r.add(count ?? -1) }
      ParameterType("color", "red|green") { $0.uppercased() }
      Given("a {color} light") { (color: String) in r.add(color) }
    }
    #expect(values == ["true", "1.25", "0.1", "cargoBike", "20", "7", "RED"])
  }

  @Test("passes the captures of regular expressions by number and by name")
  func regularExpressions() async throws {
    let values = try await received("When she booked slot 7 today\nWhen she left\n| 1 |") { r in
      When(/she booked slot (?<number>\d+) (\w+)/) { match in r.add(match.number, match.2) }
      When(/she (left)/) { (_: (Substring, Substring), table: [[String]]) in r.add(table) }
    }
    #expect(values == ["7", "today", #"[["1"]]"#])
  }

  @Test("takes an exact text without special characters")
  func exactText() async throws {
    let values = try await received("Given a {string} (or /two/)") { r in
      Given(exactly: "a {string} (or /two/)") { r.add("exact") }
    }
    #expect(values == ["exact"])
  }

  @Test("converts tables")
  func tables() async throws {
    let table = "\n| start time | Minutes | note |\n| 9:00 | 20 | |\n| 10:00 | 5 | new |\n"
    let values = try await received(
      "Given visits\(table)Given rows\(table)Given hashes\(table)Given whole\(table)Given optional\(table)"
        + "Given numbers\n| 1 |\n| 2 |\nGiven words\n| a |\n| b |\nGiven missing"
    ) { r in
      Given("visits") { (visits: [Visit]) in
        r.add(
          visits == [
            Visit(startTime: "9:00", minutes: 20, note: nil), Visit(startTime: "10:00", minutes: 5, note: "new"),
          ])
      }
      Given("rows") { (rows: [[String]]) in r.add(rows.count) }
      Given("hashes") { (rows: [[String: String]]) in r.add(rows[1]["note"] ?? "") }
      Given("whole") { (table: DataTable) in r.add(table.hashes.count) }
      Given("optional") { (visits: [Visit]?) in r.add(visits?.count ?? -1) }
      Given("numbers") { (numbers: [Int]) in r.add(numbers) }
      Given("words") { (words: [String]) in r.add(words) }
      Given("missing") { (visits: [Visit]?) in r.add(visits == nil) }
    }
    #expect(values == ["true", "3", "new", "2", "2", "[1, 2]", #"["a", "b"]"#, "true"])
  }

  @Test("converts doc strings")
  func docStrings() async throws {
    let json = "\n\"\"\"json\n{\"startTime\": \"9:00\", \"minutes\": 20}\n\"\"\"\n"
    let values = try await received("Given text\(json)Given whole\(json)Given value\(json)") { r in
      Given("text") { (text: String) in r.add(text.count) }
      Given("whole") { (text: DocString) in r.add(text.mediaType ?? "") }
      Given("value") { (visit: Visit) in r.add(visit.minutes) }
    }
    #expect(values == ["36", "json", "20"])
  }

  @Test(
    "names the step's line and the definition when values do not fit",
    arguments: [
      ("Given 1 2", "the closure takes 1 of 2 values"),
      ("Given one 1", "the closure takes more than the step provides: 1 value"),
      ("Given a word x", "'x' is not a valid Int"),
      ("Given none\n| a |", "the step has a table, which the closure does not take"),
      ("Given none\n\"\"\"\na\n\"\"\"", "the step has a doc string, which the closure does not take"),
      (
        "Given visits\n| start time | minutes |\n| 9:00 | x |",
        "row 2 of the table: column 'minutes': 'x' is not a valid Int"
      ),
      ("Given visits\n| minutes |\n| 1 |", "row 2 of the table: there is no column 'startTime'"),
    ])
  func misfits(text: String, message: String) async throws {
    let run = try await FeatureRun(
      text,
      Steps {
        Given("{int} {int}") { (_: Int) in }
        Given("one {int}") { (_: Int, _: Int) in }
        Given("a word {word}") { (_: Int) in }
        Given("none") {}
        Given("visits") { (_: [Visit]) in }
      })
    let failure = try #require(run.failures.first)
    #expect(failure.message.contains(message))
    #expect(failure.message.contains("(in the step defined at StepMatchingTests.swift:"))
    #expect(failure.place.line == 3)
    #expect(failure.place.fileID == "Tests/booking.feature")
    #expect(run.statuses == [.failed])
  }
}
