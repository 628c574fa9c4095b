import Diorama
import LaunchContract
import Testing

@Suite("A toggle's details, in OpenFeature's words")
struct ToggleDetailsTests {
  @Test("say STATIC for what the test has set, with the value's text as its variant")
  func given() {
    let place = ContractValue.object(["latitude": .int(1), "name": .string("")])
    let toggles = TogglesFixture(["theme": .string("dark"), "place": place]).toggles
    let theme = toggles.details(.theme)
    #expect(theme.flagKey == "theme")
    #expect(theme.value == .dark)
    #expect(theme.reason.rawValue == "STATIC")
    #expect(theme.variant == "dark")
    #expect(theme.errorCode == nil)
    #expect(toggles.details(.place).variant == nil)
  }

  @Test("say DEFAULT for what nobody has set, also in an app without a contract")
  func absent() throws {
    let live = try AppControls.launch(arguments: ["app"], environment: [:]) { _ in }
    for toggles in [TogglesFixture().toggles, live.toggles] {
      let details = toggles.details(.skipOnboarding)
      #expect(!details.value)
      #expect(details.reason.rawValue == "DEFAULT")
      #expect(details.variant == "false")
      #expect(details.errorMessage == nil)
    }
  }

  @Test("say ERROR and TYPE_MISMATCH for a value of another type")
  func mismatch() {
    let details = TogglesFixture(["theme": .int(1)]).toggles.details(.theme)
    #expect(details.value == .light)
    #expect(details.reason.rawValue == "ERROR")
    #expect(details.errorCode?.rawValue == "TYPE_MISMATCH")
    #expect(details.errorMessage == "the toggle theme is 1, which is none of light, dark")
    #expect(details.variant == nil)
  }

  @Test("say ERROR and FLAG_NOT_FOUND for a toggle that the app has not declared")
  func unknown() {
    let fixture = TogglesFixture(known: ["skip-onboarding", "themes"])
    let details = fixture.toggles.details(.theme)
    #expect(details.value == .light)
    #expect(details.reason.rawValue == "ERROR")
    #expect(details.errorCode?.rawValue == "FLAG_NOT_FOUND")
    #expect(fixture.toggles.details(.skipOnboarding).reason.rawValue == "DEFAULT")
    #expect(
      fixture.warnings.values == [
        "the toggle theme, which was read, is not declared by the app; the nearest is themes"
      ])
  }
}
