import Foundation

@testable import DioramaScenarios

/// The step definitions of the compatibility kit, in Swift.
let kits: [String: @Sendable () -> any StepDefinitions] = [
  "all-statuses": { Statuses() },
  "failedish-combinations": { FailedishStatuses() },
  "ambiguous": {
    Steps {
      Given(/^a (.*?) with (.*?)$/) { _ in }
      Given(/^a step with (.*?)$/) { _ in }
    }
  },
  "attachments": { Attachments() },
  "hooks-attachment": { AttachingHooks() },
  "examples-tables-attachment": { Images() },
  "backgrounds": { Orders() },
  "rules-backgrounds": { Orders() },
  "multiple-features": { Steps { Given("an order for {string}") { (_: String) in } } },
  "cdata": { Steps { Given("I have {int} <![CDATA[cukes]]> in my belly") { (_: Int) in } } },
  "minimal": { Steps { Given("I have {int} cukes in my belly") { (_: Int) in } } },
  "data-tables": { Transposition() },
  "data-tables-doc-strings": {
    Steps {
      Given("a step with a data table a doc string") { (_: DataTable, _: DocString) in }
      Given("a step with a doc string a data table") { (_: DocString, _: DataTable) in }
    }
  },
  "data-tables-with-expression": { Steps { Given("a {string} with a table") { (_: String, _: DataTable) in } } },
  "doc-strings": { Steps { Given("a doc string:") { (_: String) in } } },
  "doc-strings-with-expression": { Steps { Given("a {string} with a doc string:") { (_: String, _: String) in } } },
  "empty": { Steps {} },
  "examples-tables": { Cucumbers(hasFriends: true) },
  "examples-tables-undefined": { Cucumbers(hasFriends: false) },
  "examples-tables-undefined-multiple": { Cucumbers(hasFriends: false) },
  "global-hooks": {
    Steps {
      BeforeAll {}
      BeforeAll {}
      When("a step passes") {}
      When("a step fails") { throw KitError("Exception in step") }
      AfterAll {}
      AfterAll {}
    }
  },
  "global-hooks-afterall-error": {
    Steps {
      BeforeAll {}
      BeforeAll {}
      When("a step passes") {}
      AfterAll {}
      AfterAll { throw KitError("AfterAll hook went wrong") }
      AfterAll {}
    }
  },
  "global-hooks-attachments": { AttachingRunHooks() },
  "global-hooks-beforeall-error": {
    Steps {
      BeforeAll {}
      BeforeAll { throw KitError("BeforeAll hook went wrong") }
      BeforeAll {}
      When("a step passes") {}
      AfterAll {}
      AfterAll {}
    }
  },
  "hooks": {
    Steps {
      Before {}
      When("a step passes") {}
      When("a step fails") { throw KitError("Exception in step") }
      After {}
    }
  },
  "hooks-conditional": {
    Steps {
      Before(tags: "@passing-hook") {}
      Before(tags: "@fail-before") { throw KitError("Exception in conditional hook") }
      When("a step passes") {}
      After(tags: "@fail-after") { throw KitError("Exception in conditional hook") }
      After(tags: "@passing-hook") {}
    }
  },
  "hooks-named": {
    Steps {
      Before("A named before hook") {}
      When("a step passes") {}
      After("A named after hook") {}
    }
  },
  "hooks-skipped": {
    Steps {
      Before {}
      Before(tags: "@skip-before") { throw SkippedStep() }
      Before {}
      Given("a normal step") {}
      Given("a step that skips") { throw SkippedStep() }
      After {}
      After(tags: "@skip-after") { throw SkippedStep() }
      After {}
    }
  },
  "hooks-undefined": {
    Steps {
      Before {}
      After {}
    }
  },
  "markdown": { MarkdownSteps() },
  "parameter-types": {
    Steps {
      ParameterType("flight", capturing: "([A-Z]{3})-([A-Z]{3})") { Flight(from: $0[0] ?? "", to: $0[1] ?? "") }
      Given("{flight} has been delayed") { (flight: Flight) in
        guard flight == Flight(from: "LHR", to: "CDG") else { throw KitError("another flight") }
      }
    }
  },
  "pending": {
    Steps {
      Given("an implemented non-pending step") {}
      Given("an implemented step that is skipped") {}
      Given("an unimplemented pending step") { throw PendingStep() }
    }
  },
  "pending-exception": { Steps { Given("an unimplemented pending step") { throw PendingStep("TODO") } } },
  "regular-expression": { Steps { Given(/^a (.*?)(?: and a (.*?))?(?: and a (.*?))?$/) { _ in } } },
  "retry": {
    Steps {
      Given("a step that always passes") {}
      Given("a step that passes the second time") {
        if ScenarioContext.current?.attempt != 1 { throw KitError("Exception in step") }
      }
      Given("a step that passes the third time") {
        if ScenarioContext.current?.attempt != 2 { throw KitError("Exception in step") }
      }
      Given("a step that always fails") { throw KitError("Exception in step") }
    }
  },
  "retry-ambiguous": {
    Steps {
      Given("an ambiguous step") {}
      Given("an ambiguous step") {}
    }
  },
  "retry-pending": { Steps { Given("a pending step") { throw PendingStep() } } },
  "retry-undefined": { Steps {} },
  "rules": { Shop() },
  "skipped": {
    Steps {
      Given("a step that does not skip") {}
      Given("a step that is skipped") {}
      Given("I skip a step") { throw SkippedStep() }
    }
  },
  "skipped-exception": { Steps { Given("I skip a step") { throw SkippedStep("skipping") } } },
  "skipped-failing-hook": {
    Steps {
      Given("a step that skips") { throw SkippedStep() }
      After { throw KitError("whoops") }
    }
  },
  "stack-traces": { Steps { When("a step throws an exception") { throw KitError("BOOM") } } },
  "undefined": { Implemented() },
  "undefined-multiple": { Implemented() },
  "unknown-parameter-type": {
    Steps { Given("{airport} is closed because of a strike") { (_: Flight) in throw KitError("not called") } }
  },
  "unused-steps": {
    Steps {
      Given("a step that is used") {}
      Given("a step that is not used") {}
    }
  },
]

struct KitError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

private struct Flight: Equatable {
  let from: String
  let to: String
}

private struct FailedishStatuses: StepDefinitions {
  var steps: [Step] {
    Given(/^a step$/) { _ in }
    Given(/^a skipped step$/) { _ in throw SkippedStep() }
    Given(/^a pending step$/) { _ in throw PendingStep() }
    Given(/^an ambiguous (.*?)$/) { _ in }
    Given(/^(.*?) ambiguous step$/) { _ in }
    Given(/^a failing step$/) { _ in throw KitError("whoops") }
  }
}

private struct Statuses: StepDefinitions {
  var steps: [Step] {
    Given(/^a step$/) { _ in }
    Given(/^a failing step$/) { _ in throw KitError("whoops") }
    Given(/^a pending step$/) { _ in throw PendingStep() }
    Given(/^a skipped step$/) { _ in throw SkippedStep() }
    Given(/^an ambiguous (.*?)$/) { _ in }
    Given(/^(.*?) ambiguous step$/) { _ in }
  }
}

private struct Implemented: StepDefinitions {
  var steps: [Step] {
    Given("an implemented step") {}
    Given("a step that will be skipped") {}
  }
}

private struct Orders: StepDefinitions {
  var steps: [Step] {
    Given("an order for {string}") { (_: String) in }
    When("an action") {}
    Then("an outcome") {}
  }
}

private final class Transposition: StepDefinitions {
  private var transposed: [[String]] = []
  var steps: [Step] {
    When("the following table is transposed:") { (table: [[String]]) in
      self.transposed = (table.first ?? []).indices.map { column in table.map { $0[column] } }
    }
    Then("it should be:") { (table: [[String]]) in
      guard self.transposed == table else { throw KitError("not transposed") }
    }
  }
}

private final class Cucumbers: StepDefinitions {
  private let hasFriends: Bool
  private var count = 0
  private var friends = 0
  init(hasFriends: Bool) { self.hasFriends = hasFriends }

  private func check(_ value: Int, _ expected: Int) throws {
    guard value == expected else {
      // The message that the kit expects is that of its own assertion.
      throw KitError("Expected values to be strictly equal:\n\n\(value) !== \(expected)\n")
    }
  }

  var steps: [Step] {
    Given("there are {int} cucumbers") { (count: Int) in self.count = count }
    if hasFriends { Given("there are {int} friends") { (friends: Int) in self.friends = friends } }
    When("I eat {int} cucumbers") { (count: Int) in self.count -= count }
    Then("I should have {int} cucumbers") { (count: Int) in try self.check(self.count, count) }
    if hasFriends {
      Then("each person can eat {int} cucumbers") { (share: Int) in
        try self.check(self.count / (1 + self.friends), share)
      }
    }
  }
}

private final class Shop: StepDefinitions {
  private var money = 0
  private var stock: [String] = []
  private var chocolate: String?
  var steps: [Step] {
    Given("the customer has {int} cents") { (money: Int) in self.money = money }
    Given("there are chocolate bars in stock") { self.stock = ["Mars"] }
    Given("there are no chocolate bars in stock") { self.stock = [] }
    When("the customer tries to buy a {int} cent chocolate bar") { (price: Int) in
      if self.money >= price { self.chocolate = self.stock.popLast() }
    }
    Then("the sale should not happen") { if self.chocolate != nil { throw KitError("sold") } }
    Then("the sale should happen") { if self.chocolate == nil { throw KitError("not sold") } }
  }
}

private struct MarkdownSteps: StepDefinitions {
  var steps: [Step] {
    Given("some TypeScript code:") { (_: String) in }
    Given("some classic Gherkin:") { (_: String) in }
    When("we use a data table and attach something and then {word}") { (word: String, _: [[String]]) in
      self.log("We are logging some plain text (\(word))")
      if word == "fail" { throw KitError("You asked me to fail") }
    }
    Then("this might or might not run") {}
  }
}

private func file(_ name: String) throws -> [UInt8] {
  [UInt8](try Data(contentsOf: CompatibilityKit.folder.appending(path: name)))
}

private struct Attachments: StepDefinitions {
  var steps: [Step] {
    When("the string {string} is attached as {string}") { (text: String, type: String) in
      self.attach(text, mediaType: type)
    }
    When("the string {string} is logged") { (text: String) in self.log(text) }
    When("text with ANSI escapes is logged") {
      self.log(
        "This displays a \u{1B}[31mr\u{1B}[0m\u{1B}[91ma\u{1B}[0m\u{1B}[33mi\u{1B}[0m\u{1B}[32mn\u{1B}[0m"
          + "\u{1B}[34mb\u{1B}[0m\u{1B}[95mo\u{1B}[0m\u{1B}[35mw\u{1B}[0m")
    }
    When("the following string is attached as {string}:") { (type: String, text: String) in
      self.attach(text, mediaType: type)
    }
    When("an array with {int} bytes is attached as {string}") { (count: Int, type: String) in
      self.attach((0..<count).map { UInt8($0) }, mediaType: type)
    }
    When("a PDF document is attached and renamed") {
      self.attach(try file("attachments/document.pdf"), mediaType: "application/pdf", name: "renamed.pdf")
    }
    When("a link to {string} is attached") { (url: String) in self.link(url) }
    When("the string {string} is attached as {string} before a failure") { (text: String, type: String) in
      self.attach(text, mediaType: type)
      throw KitError("whoops")
    }
  }
}

private struct AttachingHooks: StepDefinitions {
  var steps: [Step] {
    Before { self.attach(try file("hooks-attachment/cucumber.svg"), mediaType: "image/svg+xml") }
    When("a step passes") {}
    After { self.attach(try file("hooks-attachment/cucumber.svg"), mediaType: "image/svg+xml") }
  }
}

private struct AttachingRunHooks: StepDefinitions {
  var steps: [Step] {
    BeforeAll { self.attach("Attachment from BeforeAll hook") }
    When("a step passes") {}
    AfterAll { self.attach("Attachment from AfterAll hook") }
  }
}

private struct Images: StepDefinitions {
  var steps: [Step] {
    When("a JPEG image is attached") {
      self.attach(try file("examples-tables-attachment/cucumber.jpeg"), mediaType: "image/jpeg")
    }
    When("a PNG image is attached") {
      self.attach(try file("examples-tables-attachment/cucumber.png"), mediaType: "image/png")
    }
  }
}
