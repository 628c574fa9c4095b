import Foundation
import Testing

@testable import DioramaCommand

@Suite("Step definitions in Swift files")
struct SwiftStepsTests {
  private func steps(_ source: String) -> SwiftSteps {
    var steps = SwiftSteps()
    steps.add(source, path: "Steps.swift")
    return steps
  }

  @Test(
    "reads string literals",
    arguments: [
      (#""a b""#, "a b"), (#""a \"b\" \\ \t \u{e9}""#, "a \"b\" \\ \t é"), (##"#"a "b" \d \#n"#"##, "a \"b\" \\d \n"),
      (###"##"a "# b"##"###, "a \"# b"), (#""a" + " b""#, "a b"), (##"#"""#"##, "\""),
      ("\"\"\"\n    a\n      b\n    \"\"\"", "a\n  b"), ("\"\"\"\n  a \\\n  b\n  \"\"\"", "a b"),
      ("\"\"\"\r\n  a\r\n  b\r\n  \"\"\"", "a\nb"),
    ])
  func strings(_ literal: String, _ text: String) throws {
    let found = steps("Given(\(literal)) { }")
    #expect(found.definitions.map(\.source) == [text])
    #expect(found.definitions.first?.kind == .expression)
  }

  @Test(
    "reads regular expressions",
    arguments: [
      (#"/she books (?<n>\d+)/"#, #"she books (?<n>\d+)"#), (#"#/a\/b "c"/#"#, #"a/b "c""#),
      ("#/\n  a \\ b # comment\n  (c)\n/#", #"a\ b(c)"#),
    ])
  func regularExpressions(_ literal: String, _ source: String) {
    let found = steps("When(\(literal)) { match in }")
    #expect(found.definitions.map(\.source) == [source])
    #expect(found.definitions.first?.kind == .regex)
  }

  @Test("tells definitions from steps by the closure or second argument")
  func uses() {
    let found = steps(
      """
      Given("a") { }
      When("b", perform: run)
      Then("c")
      And("d", file: #file, line: #line)
      But(exactly: "e") { }
      step("f") { (match: String) in }
      step("g")
      perform("h")
      self.Step("i") { }
      other.Given("no") { }
      func Given(_ text: String) { }
      """)
    #expect(found.definitions.map(\.source) == ["a", "b", "e", "f", "i"])
    #expect(found.definitions.map(\.kind) == [.expression, .expression, .exact, .pattern, .expression])
    #expect(found.uses.map(\.text) == ["c", "d", "g", "h"])
    #expect(found.uses.map(\.isChecked) == [true, true, false, false])
  }

  @Test("finds nothing in comments, strings and interpolations")
  func hidden() {
    let found = steps(
      #"""
      // Given("a") { }
      /* Given("b") { } /* nested */ Given("c") { } */
      let text = "Given(\"d\") { }" + "\(run { Given("e") { } })"
      let long = """
        Given("f") { }
        """
      let half = total / 2 / count
      Given("g") { }
      """#)
    #expect(found.definitions.map(\.source) == ["g"])
    #expect(found.definitions.first?.place == FilePlace(path: "Steps.swift", line: 8, column: 1))
  }

  @Test("keeps the documentation above a definition")
  func documentation() {
    let found = steps(
      "/// A patient\n/// of the clinic.\nGiven(\"a\") { }\n\n/// Other.\n\nGiven(\"b\") { }\n/** Long. */\nThen(\"c\") { }"
    )
    #expect(found.definitions.map(\.documentation) == ["A patient\nof the clinic.", nil, "Long."])
  }

  @Test("notes expressions that are no literals")
  func notes() {
    let found = steps(#"Given("a \(b)") { }; When(text) { }; Then("c \(d)")"#)
    #expect(found.definitions.isEmpty)
    #expect(found.notes.count == 2)
    #expect(found.uses.count == 1)
  }

  @Test("reads the cases of enums")
  func enums() {
    let found = steps(
      """
      enum Vehicle: String, CaseIterable {
        case car, bike = "bi cycle"
        case `default`
        var wheels: Int { switch self { case .car: 4; case let other: 2 } }
        enum Inner: Int { case one = -1, two }
      }
      """)
    #expect(found.enums["Vehicle"] == ["car", "bi cycle", "default"])
    #expect(found.enums["Inner"] == ["one", "two"])
  }

  @Test("matches with the parameter types of the files")
  func parameterTypes() {
    let library = StepLibrary(
      steps(
        #"""
        enum Vehicle { case car, bike }
        ParameterType("color", "red|blue") { $0 }
        ParameterType("ride", Booking.Vehicle.self)
        Given("a {color} {vehicle}") { }
        Given("a {ride} in {place}") { }
        """#))
    #expect(library.failures.isEmpty)
    #expect(library.matches("a red car") == [0])
    #expect(library.matches("a green car").isEmpty)
    #expect(library.matches("a bike in the yard") == [1])
    #expect(library.notes.map(\.message) == ["the parameter type {place} was not found; it matches anything"])
    #expect(library.definitions[0].parameters == ["color", "vehicle"])
  }

  @Test("matches a StepDefiner's expressions anywhere, in any case of letters, after exact texts")
  func definer() {
    let library = StepLibrary(steps(#"step("email button") { }; step(exactly: "I tap the email button") { }"#))
    #expect(library.matches("see the EMAIL button now") == [0])
    #expect(library.matches("I tap the email button") == [1])
  }

  @Test("reports expressions that are not valid")
  func invalid() {
    let library = StepLibrary(steps(#"Given("a {b") { }; step("(") { }; When(/(/) { }"#))
    #expect(library.failures.map(\.place.column) == [1, 20, 35])
    #expect(library.definitions.isEmpty)
  }

  @Test("writes code for a missing definition")
  func snippets() {
    let library = StepLibrary(steps(#"ParameterType("color", "red|blue") { $0 }"#))
    #expect(
      library.snippet("Given", #"3 red balls "x""#, hasTable: true, hasDocString: false)
        == """
        Given("{int} {color} balls {string}") { (int: Int, color: Color, string: String, rows: [[String: String]]) in
          throw PendingStep()
        }
        """)
    #expect(
      library.snippet("Step", #"a \ (b)"#, hasTable: false, hasDocString: false).hasPrefix(##"Step(#"a \\ \(b)"#) {"##))
  }

  @Test("VS Code's settings find definitions in Swift")
  func editor() throws {
    let article = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Sources/DioramaTesting/DioramaTesting.docc/FeaturesCommand.md").standardizedFileURL
    let text = try String(contentsOf: article, encoding: .utf8)
    let json = try #require(text.firstMatch(of: /```json\n([^`]*)```/)).1
    let settings = try object(String(json))
    let part = try #require(settings["cucumberautocomplete.gherkinDefinitionPart"] as? String)
    // How the extension (3.0.5) completes the setting.
    let expression = try NSRegularExpression(
      pattern: #"^((?:[^'"/]*?[^\w])|.{0})"# + part + #"[^/'"`\w]*?(/|'|"|`)((?:(?=(?:\\)*)\\.|.)*?)\3"#,
      options: .caseInsensitive)
    for (line, source) in [
      (#"    Given("a patient named {string}") { (name: String) in"#, "a patient named {string}"),
      (#"When(/she books (\d+) slots?/) { match in"#, #"she books (\d+) slots?"#),
      (#"When(#/she books (\d+)/#) { match in"#, #"she books (\d+)"#), (##"Then(#"a \d"#) { }"##, #"a \d"#),
      (#"  But(exactly: "it is fine") {"#, "it is fine"), (#"Step("x") { }; let y = "z""#, "x"),
    ] {
      let match = expression.firstMatch(in: line, range: NSRange(location: 0, length: line.utf16.count))
      let range = try #require(match.flatMap { Range($0.range(at: 4), in: line) }, "\(line)")
      #expect(line[range] == source)
    }
    for line in [#"let x = given("a")"#, "// nothing", #"print("Given a patient")"#, #"XCTAssert(x, "a")"#] {
      let match = expression.firstMatch(in: line, range: NSRange(location: 0, length: line.utf16.count))
      #expect(match == nil || line.contains("given("), "\(line)")
    }
  }
}
