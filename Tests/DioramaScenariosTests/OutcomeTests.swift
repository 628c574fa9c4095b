import Basics
import Foundation
import Gherkin
import Testing

@testable import DioramaScenarios

private struct Trouble: Error {}

@Suite struct OutcomeTests {
  @Test("makes a fresh object for each scenario and each attempt")
  func freshObjects() async throws {
    final class Counting: StepDefinitions {
      var count = 0
      var steps: [DioramaScenarios.Step] {
        Given("one more") { self.count += 1 }
        Then("it is {int}") { (count: Int) in if self.count != count { throw Trouble() } }
      }
    }
    let text = "Feature: f\nScenario: a\nGiven one more\nThen it is 1\nScenario: b\nGiven one more\nThen it is 1\n"
    #expect(try await FeatureRun(text, Counting()).messages == [])
    let run = try await FeatureRun("Given one more\nThen it is 2", retries: 1, Counting())
    #expect(run.failures.map(\.isFinal) == [false, true])
  }

  @Test("fails the scenario at its line if the definitions cannot be created")
  func definitionsThatThrow() async throws {
    func make() throws -> any StepDefinitions { throw Trouble() }
    let run = try await FeatureRun("Given a", try make())
    #expect(run.messages == ["the step definitions cannot be created: Trouble()"])
    #expect(run.failures[0].place.line == 2)
    // Reports contain it, as a hook.
    #expect(run.statuses == [.failed, .skipped])
    #expect(run.log.results[0].message == run.messages[0])
  }

  @Test("fails without another attempt if the definitions cannot be created")
  func definitionsThatThrowOnce() async throws {
    let attempts = Guarded(0)
    func make() throws -> any StepDefinitions {
      try attempts.withLock {
        $0 += 1
        if $0 == 1 { throw Trouble() }
      }
      return Steps {}
    }
    let run = try await FeatureRun("Given a", retries: 2, observers: [ReportObserver { _ in }], try make())
    #expect(attempts.withLock { $0 } == 1)
    #expect(run.failures.map(\.isFinal) == [true])
  }

  @Test("reports all undefined steps with snippets and the nearest definitions, and skips the others")
  func undefined() async throws {
    let run = try await FeatureRun(
      "Given a patient named \"Zoë\"\nWhen she books 2 slotz\nThen she paid 1.5 \"euros\" \\ 3\n| a |",
      Steps {
        Given("a patient named {string}") { (_: String) in }
        When("she books {int} slot(s)") { (_: Int) in }
      })
    #expect(run.statuses == [.passed, .undefined, .undefined])
    #expect(run.messages[0].contains("similar: 'she books {int} slot(s)' (OutcomeTests.swift:"))
    #expect(run.messages[0].contains("When(\"she books {int} slotz\") { (int: Int) in\n  throw PendingStep()\n}"))
    #expect(run.messages[1].contains("table: DataTable) in\n  throw PendingStep()"))
    #expect(run.process.summary?.hasPrefix("diorama: 2 steps are undefined; add to your step definitions:") == true)
    #expect(run.process.summary?.contains("// booking.feature:4\nWhen(") == true)
  }

  @Test("puts what Swift reads as special into raw literals, and avoids keywords")
  func snippets() async throws {
    let run = try await FeatureRun(
      ##"Given a 5"# text and red"##,
      Steps { ParameterType("class", "red|green") { $0 } })
    #expect(run.messages[0].contains("##\""))
    #expect(run.messages[0].contains("class1: String"))
  }

  @Test("names both places of an ambiguous step")
  func ambiguous() async throws {
    let line = #line
    let run = try await FeatureRun(
      "Given a step\nThen another",
      Steps {
        Given("a step") {}
        Given("a {word}") { (_: String) in }
        Then("another") {}
      })
    #expect(run.statuses == [.ambiguous, .skipped])
    #expect(run.messages[0].contains("OutcomeTests.swift:\(line + 4))"))
    #expect(run.messages[0].contains("OutcomeTests.swift:\(line + 5))"))
  }

  @Test("fails for a pending step, and skips after a skipped one")
  func pendingAndSkipped() async throws {
    let steps = Steps {
      Given("pending") { throw PendingStep("later") }
      Given("skipped") { throw SkippedStep("not here") }
      Given("a step") {}
    }
    let pending = try await FeatureRun("Given pending\nGiven a step", retries: 2, steps)
    #expect(pending.statuses == [.pending, .skipped])
    #expect(pending.messages == ["pending: later"])
    #expect(pending.failures[0].isFinal)
    let skipped = try await FeatureRun("Given skipped\nGiven nothing like it", steps)
    #expect(skipped.statuses == [.skipped, .skipped])
    #expect(skipped.messages == [])
    guard case .skipped("not here") = skipped.outcomes[0] else { throw Trouble() }
  }

  @Test("performs other steps, and fails for undefined ones")
  func perform() async throws {
    let seen = Guarded<[String]>([])
    let steps = Steps {
      Given("a visit") {
        let steps = Steps {}
        try await steps.perform("a patient \"Zoë\"")
        try await steps.perform("rows", table: [["a"], ["b"]])
        try await steps.perform("nothing")
      }
      Given("a patient {string}") { (name: String) in seen.withLock { $0.append(name) } }
      Given("rows") { (rows: [String]) in seen.withLock { $0 += rows } }
    }
    let run = try await FeatureRun("Given a visit", steps)
    #expect(seen.withLock { $0 } == ["Zoë", "a", "b"])
    #expect(run.messages[0].hasPrefix("undefined step: nothing\n"))
  }

  @Test("retries only what its tag or the runner asks for, and says that failures before are not final")
  func retries() async throws {
    let steps = Steps {
      Given("it passes at attempt {int}") { (attempt: Int) in
        if ScenarioContext.current?.attempt != attempt { throw Trouble() }
      }
    }
    let once = try await FeatureRun("Given it passes at attempt 1", steps)
    #expect(once.statuses == [.failed])
    let text = "Feature: f\n@retry:2\nScenario: s\nGiven it passes at attempt 1"
    let twice = try await FeatureRun(text, steps)
    #expect(twice.statuses == [.failed, .passed])
    #expect(twice.failures.map(\.isFinal) == [false])
    _ = await twice.process.finish()
    guard case .runFinished(hasSucceeded: true) = twice.log.events.last else { throw Trouble() }
    let wrong = try await FeatureRun(text.replacing("@retry:2", with: "@retry:many"), steps)
    #expect(wrong.messages[0].hasPrefix("'@retry:many' is not valid"))
    #expect(wrong.statuses.filter { $0 != .skipped } == [.failed])
  }

  @Test("runs definitions on the main actor")
  func mainActor() async throws {
    let run = try await FeatureRun(
      "Given the main actor", Steps { Given("the main actor") { @MainActor in MainActor.assertIsolated() } })
    #expect(run.statuses == [.passed])
  }

  @Test("runs hooks after a scenario whose test is cancelled")
  func cancellation() async throws {
    let seen = Guarded<[String]>([])
    let task = Task {
      try await FeatureRun(
        "Given a long wait\nThen no more",
        Steps {
          Given("a long wait") {
            withUnsafeCurrentTask { $0?.cancel() }
            try Task.checkCancellation()
          }
          Then("no more") { seen.withLock { $0.append("step") } }
          After { seen.withLock { $0.append("hook") } }
        })
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(seen.withLock { $0 } == ["hook"])
  }

  @Test("names the running step in failures of expectations")
  func places() async throws {
    let run = try await FeatureRun(
      "Given x\nWhen it fails",
      Steps {
        Given("x") {}; When("it fails") { throw Trouble() }
      })
    #expect(run.failures[0].step == "in booking.feature:4: When it fails")
  }
}

@Suite struct HookTests {
  @Test("runs hooks in order, those after in reverse, by tags")
  func order() async throws {
    let seen = Guarded<[String]>([])
    func add(_ text: String) { seen.withLock { $0.append(text) } }
    let run = try await FeatureRun(
      "@a\nFeature: f\nScenario: s\nGiven x",
      Steps {
        Before { add("b1") }
        Before(tags: "@a and not @b") { add("b2") }
        Before(tags: "not @a") { add("never") }
        BeforeStep { add("bs") }
        AfterStep { add("as1") }
        AfterStep { add("as2") }
        Given("x") { add("x") }
        After { add("a1") }
        After { add("a2") }
      })
    #expect(run.messages == [])
    #expect(seen.withLock { $0 } == ["b1", "b2", "bs", "x", "as2", "as1", "a2", "a1"])
  }

  @Test("keeps a step's error when hooks after it fail, and tells them that it has failed")
  func stepHooks() async throws {
    let seen = Guarded<[Bool]>([])
    let run = try await FeatureRun(
      "Given x",
      Steps {
        Given("x") { throw KitError("first") }
        AfterStep { seen.withLock { $0.append(ScenarioContext.current?.hasFailed == true) } }
        AfterStep { throw KitError("second") }
      })
    #expect(seen.withLock { $0 } == [true])
    #expect(run.messages.count == 2)
    #expect(run.log.results[0].message?.contains("first") == true)
  }

  @Test("skips the steps and later Before hooks after a hook that fails, but not the After hooks")
  func failingHook() async throws {
    let run = try await FeatureRun(
      "Given x",
      Steps {
        Before { throw KitError("no") }; Before {}; Given("x") {}; After {}
      })
    #expect(run.statuses == [.failed, .skipped, .skipped, .passed])
  }

  @Test("hands attachments to the test library, at the place of the step or hook; logs and links go to reports alone")
  func attachments() async throws {
    let steps = Steps {
      Given("x") {
        ScenarioContext.current?.attach([1, 2], mediaType: "image/png")
        Steps {}.attach("seen", name: "notes.txt")
        Steps {}.log("a line")
        Steps {}.link("https://example.com")
      }
      After { ScenarioContext.current?.attach([3], mediaType: "application/vnd.diorama.report+json") }
    }
    let run = try await FeatureRun("Given x", steps)
    #expect(run.attachments.map(\.0.fileName) == ["attachment.png", "notes.txt", "attachment.json"])
    #expect(run.attachments.map(\.0.bytes) == [[1, 2], Array("seen".utf8), [3]])
    #expect(run.attachments.prefix(2).allSatisfy { $0.place.line == 3 && $0.place.fileID == "Tests/booking.feature" })
    #expect(run.attachments.last?.place.fileID.hasSuffix("OutcomeTests.swift") == true)
  }

  @Test("runs BeforeAll once for scenarios that run in parallel, and AfterAll at the end")
  func runHooks() async throws {
    let log = EventLog()
    let process = ScenarioProcess(observers: [log])
    let count = Guarded(0)
    @Sendable func definitions() -> Steps {
      Steps {
        BeforeAll {
          await Task.yield()
          count.withLock { $0 += 1 }
        }
        AfterAll { count.withLock { $0 += 10 } }
        Given("x") { if count.withLock({ $0 }) != 1 { throw Trouble() } }
      }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for line in 1...20 {
        group.addTask {
          _ = try await ScenarioRunner(
            scenario: .init(
              name: "s", line: line, column: 1, steps: [.init(keyword: "Given ", text: "x", line: line, column: 1)]),
            source: FeatureSource(name: "f", path: "/f.feature", module: "M"), progress: ScenarioProgress(),
            process: process, fail: { message, _ in Issue.record("\(message)") }, makeDefinitions: definitions
          ).run()
        }
      }
      try await group.waitForAll()
    }
    #expect(await process.finish() == [])
    #expect(await process.finish() == [])
    #expect(count.withLock { $0 } == 11)
  }
}
