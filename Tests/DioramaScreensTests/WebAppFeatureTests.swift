import Basics
@testable import DioramaScenarios
import DioramaScreens
import DioramaTesting
import Foundation
import Gherkin
import Testing

/// A feature file about a web app that a mock backend serves, with its pages as structs.
@Suite("A feature about a web app")
struct WebAppFeatureTests {
  struct LoginPage: PageObject {
    let screen: ChromiumPage
    func isPresented() async throws -> Bool { try await screen.has(.role("heading", "Log in")) }
    func logIn(_ name: String) async throws -> SlotsPage {
      try await screen.type(name, into: .role("textbox", "Name"))
      try await screen.click(.role("button", "Log in"))
      return try await SlotsPage(screen)
    }
  }

  struct SlotsPage: PageObject {
    let screen: ChromiumPage
    func isPresented() async throws -> Bool { try await screen.has(.role("heading", "Free slots")) }
    func book(_ time: String, timeout: Duration?) async throws -> ConfirmationPage {
      try await screen.click(.role("link", "Book \(time)"), timeout: timeout)
      return try await ConfirmationPage(screen)
    }
  }

  struct ConfirmationPage: PageObject {
    let screen: ChromiumPage
    func isPresented() async throws -> Bool { try await screen.visibleText().contains("is yours") }
  }

  final class Features: StepDefinitions {
    private let timeout: Duration?

    init(timeout: Duration?) { self.timeout = timeout }

    var steps: [DioramaScenarios.Step] {
      CommonPageSteps([LoginPage.self, SlotsPage.self, ConfirmationPage.self], timeout: timeout)
      Given("the web site is open") {
        let page = try await ChromiumPage()
        try await page.open(TestEnvironment.current.endpoint("web"))
        _ = try await LoginPage(page)
      }
      When("{word} logs in") { name in _ = try await LoginPage(ScenarioScreens.latest()).logIn(name) }
      When("she books the slot at {word}") { time in
        _ = try await SlotsPage(ScenarioScreens.latest()).book(time, timeout: self.timeout)
      }
      Then("she reads {string}") { text in try await ScenarioScreens.latest(ChromiumPage.self).wait(forText: text) }
      Then("no request has failed") {
        let browser = try ScenarioScreens.latest(ChromiumPage.self)
        #expect(browser.failedRequests == [])
      }
      After { try await ScenarioScreens.latest(ChromiumPage.self).close() }
    }
  }

  static let login = """
    <!DOCTYPE html><meta charset=utf-8><title>Clinic</title><h1>Log in</h1>
    <form action=/slots><label>Name <input name=name></label><button>Log in</button></form>
    """
  /// The slots come from the backend, after the page has loaded.
  static let slots = """
    <!DOCTYPE html><meta charset=utf-8><title>Clinic</title><div id=main>loading …</div><script>
    const name = new URLSearchParams(location.search).get('name')
    fetch('/api/slots').then(answer => answer.json()).then(slots => {
      main.innerHTML = '<h1>Free slots</h1>' + slots.map(time => `<p><a href="#">Book ${time}</a>`).join('')
      main.onclick = event => main.textContent = `${name}, ${event.target.textContent.slice(5)} is yours`
    })
    </script>
    """

  /// Runs each scenario of a feature in an environment that serves the web app.
  ///
  /// - Returns: the failures, each with its line.
  private func failures(of feature: String, timeout: Duration? = nil) async throws -> [String] {
    let environment = try TestEnvironment.current
    let html = "text/html; charset=utf-8"
    try await environment.stub(.get("/")) { .text(Self.login, type: html) }
    try await environment.stub(.get("/slots")) { .text(Self.slots, type: html) }
    try await environment.stub(.get("/api/slots")) { .json(["09:00", "09:30"]) }
    let document = try GherkinParser().parse(feature, uri: "web.feature")
    let failures = Guarded<[String]>([])
    for scenario in PackedScenario.all(in: document) {
      let progress = ScenarioProgress()
      try await ScenarioScreens.$current.withValue(ScenarioScreens()) {
        _ = try await ScenarioRunner(
          scenario: scenario,
          source: FeatureSource(name: document.feature?.name ?? "", path: "/web.feature", module: "Tests"),
          progress: progress, process: ScenarioProcess(observers: []),
          fail: { message, place in
            progress.note(message)
            failures.withLock { $0.append("\(place.line): \(message)") }
          }, makeDefinitions: { Features(timeout: timeout) }
        ).run()
      }
    }
    return failures.withLock { $0 }
  }

  @Test("passes, with chained pages, rows of examples and the common steps", .environment(.mock, upstreams: web))
  func passes() async throws {
    let failures = try await failures(
      of: """
        Feature: Booking on the web
          Background:
            Given the web site is open
            Then I should see the login page

          Scenario Outline: A patient books a slot
            When <name> logs in
            Then I see the slots page
            When she books the slot at <time>
            Then it is the confirmation page
            And she reads "<name>, <time> is yours"
            And no request has failed

            Examples:
              | name | time  |
              | Ann  | 09:00 |
              | Zoë  | 09:30 |
        """)
    #expect(failures == [])
  }

  @Test("fails with what the page shows, and with the nearest link", .environment(.mock, upstreams: web))
  func fails() async throws {
    let failures = try await failures(
      of: """
        Feature: Booking on the web
          Scenario: The wrong page
            Given the web site is open
            When Ann logs in
            Then it is the confirmation page
          Scenario: The wrong slot
            Given the web site is open
            When Ann logs in
            And she books the slot at 09:31
        """, timeout: .seconds(2))
    #expect(failures.count == 2)
    let page = try #require(failures.first)
    #expect(
      page.hasPrefix("5: ConfirmationPage was not presented within 2.0 seconds; SlotsPage is presented instead; "))
    #expect(page.contains("    Free slots\n"))
    #expect(page.contains("(in the step defined at WebAppFeatureTests.swift:"))
    let link = try #require(failures.last)
    #expect(link.hasPrefix("9: timed out after 2.0 seconds waiting for the link 'Book 09:31'; "))
    #expect(link.contains("the nearest of 2 with the role link: 'Book 09:30'"))
  }

  private static let web = ["web": "https://clinic.example"]
}
