import DioramaScenarios
import Foundation
import Testing
import XCTest

/// Compares in any test library: a failed assertion of XCTest is not recorded in Swift Testing.
struct Difference: Error, CustomStringConvertible {
  let description: String
}

func check<Value: Equatable>(_ value: Value, is expected: Value) throws {
  guard value != expected else { return }
  throw Difference(description: "\(value) is not \(expected)")
}

struct Person: Codable, Equatable {
  let name: String
}

extension Person: CodableMatchedStringRepresentable {}

/// The step definitions in the README of XCTest-Gherkin.
final class SomeStepDefinitions: StepDefiner {
  /// What the steps have done.
  var log: [String] = []
  var shown = ""
  var loggedInUser = Person(name: "Nick")

  override func defineSteps() {
    step("A situation that I want to start at") { self.shown = "0" }
    step("I do (?:a|another) thing") { self.shown = self.shown == "0" ? "50" : "100" }
    step("This value should be ([0-9]*)") { (matches: [String]) in try check(matches, is: [self.shown]) }
    step("This value, as a text, should be ([0-9]*)$") { (match: String) in try check(match, is: self.shown) }
    step("This value should lie between ([0-9]*) and ([0-9]*)") { (low: Int, high: Int) in
      let value = Int(self.shown) ?? 0
      try check(low < value && value < high, is: true)
    }
    step("This condition should be met as well") { self.log.append("met") }
    step("User is logged in as (.+)") { (match: Person) in try check(match, is: self.loggedInUser) }
    step("User is known as (?<aRegisteredUser>.+)") { (match: StepMatches<Person>) in
      try check(match["aRegisteredUser"], is: self.loggedInUser)
      try check(match[0], is: self.loggedInUser)
      try check(match["anotherUser"], is: nil)
    }
  }
}

/// The step definitions in the list that the README shows for a missing step.
final class SanitySteps: StepDefiner {
  var name = ""
  var calls: [String] = []

  override func defineSteps() {
    step("I have a working Gherkin environment") {}
    step("This test should not ([a-zA-Z0-9]*)") { (match: String) in try check(match, is: "fail") }
    step("This step should call another step") { try await self.step("This is another step") }
    step("This is another step") { self.calls.append("another") }
    step("I use the example name (?:Alice|Bob)") { self.calls.append("example") }
    step("The age should be ([0-9]*)") { (age: Int) in try check(age, is: 20) }
    step("The height should be ([0-9]*)") { (height: Double) in try check(height, is: 170) }
    step("It is called") { try check(self.calls, is: ["another"]) }
    // The feature in Russian.
    step("Я имею рабочее окружение Gherkin") { self.calls.append("окружение") }
    step("этот тест не должен завершиться ошибкой") { try check(self.calls, is: ["окружение"]) }
  }
}

/// The ambiguous steps in the README.
final class EmailSteps: StepDefiner {
  enum Form { case ambiguous, exact, anchored }
  let form: Form

  init(_ form: Form) { self.form = form }

  override func defineSteps() {
    step(form == .anchored ? "^email button$" : "email button") { throw Difference(description: "the wrong step") }
    if form == .exact { step(exactly: "I tap the email button") {} } else { step("I tap the email button") {} }
  }
}
