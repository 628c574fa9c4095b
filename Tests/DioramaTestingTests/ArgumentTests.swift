import DioramaTesting
import Testing

@Suite("Toggles and user defaults as arguments")
struct ArgumentTests {
  @Test(
    "follow the test's own arguments, unless they are turned off",
    .environment(.mock, toggles: ["skip-onboarding": true], defaults: ["name": "Ann"]))
  func pairs() async throws {
    let app = shell(#"printf '%s|' "$@""#, "book", in: .current)
    try await app.launch()
    try await app.wait(for: .exited(0))
    #expect(app.standardOutput == "book|-skip-onboarding|<true/>|-name|Ann|")
    app.passesArgumentPairs = false
    try await app.launch()
    try await app.wait(for: .exited(0))
    #expect(app.standardOutput == "book|")
  }
}
