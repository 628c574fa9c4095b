import DioramaScenarios
import DioramaTesting
import Foundation
import Testing

@Suite("Page objects on a program's output")
struct PageApplicationTests {
  struct ChoosePIN: PageObject {
    let screen: ApplicationScreen
    func isPresented() async throws -> Bool { try await screen.visibleText().contains("choose a PIN:") }
    func choose(_ pin: String) async throws -> SignedIn {
      try await screen.enter(pin)
      return try await SignedIn(screen)
    }
  }

  struct SignedIn: PageObject {
    let screen: ApplicationScreen
    func isPresented() async throws -> Bool { try await screen.visibleText().contains("signed in at ") }
  }

  struct LogIn: PageObject {
    let screen: ApplicationScreen
    func isPresented() async throws -> Bool { try await screen.visibleText().hasSuffix("log in with your PIN:\n") }
    func enter(_ pin: String) async throws { try await screen.enter(pin) }
  }

  @Test(
    "follow a patient who signs in and mistypes the PIN",
    .environment(
      .mock, upstreams: ["clinic": "https://clinic.example"], toggles: ["skip-onboarding": true],
      clock: .manual()))
  func visit() async throws {
    let environment = try TestEnvironment.current
    try await environment.stub(.post("/v1/users")) {
      .json(["id": "1", "email": "ann@example.com", "token": "t"], status: 201)
    }
    try await environment.stub(.post("/v1/sessions")) { .json([String: String](), status: 201) }
    let app = TestApplication(executable: "clinic")
    app.launchArguments = ["visit"]
    try await app.launch()
    let screen = ApplicationScreen(app)
    _ = try await ChoosePIN(screen).choose("1234")
    let picture = try await screen.screenshot(quality: .medium)
    #expect(picture.text?.hasPrefix("signed in at ") == true)
    try await environment.clock.advance(by: .seconds(900), afterSleepers: 1)
    try await LogIn(screen).enter("9999")
    try await screen.wait(forText: "that is not your PIN")
    try await LogIn(screen).enter("1234")
    _ = try await SignedIn(screen)
    let error = try await #require(throws: ScreenError.self) {
      _ = try await ChoosePIN(screen, timeout: .milliseconds(50))
    }
    #expect(error.kind == .notPresented)
    #expect(error.description.contains("signed in at "))
    app.closeInput()
    await app.terminate()
  }

  @Test("say how the program ended, with its standard error, when it shows no page")
  func ended() async throws {
    let app = TestApplication(executable: "/bin/sh", in: .outside)
    app.launchArguments = ["-c", "echo no backend >&2; exit 3"]
    try await app.launch()
    let error = try await #require(throws: ScreenError.self) { _ = try await SignedIn(ApplicationScreen(app)) }
    #expect(error.description.hasPrefix("SignedIn was not presented before the screen ended; the screen is empty"))
    #expect(error.description.contains("sh: it exited with status 3"))
    #expect(error.description.hasSuffix("no backend"))
  }
}
