import Basics
import Diorama
import Foundation
import LaunchContract
import Testing

@Suite("Control registry")
struct ControlRegistryTests {
  private let registry: ControlRegistry = [
    .toggle(.skipOnboarding), .toggle(.theme), .value(.location),
    .userDefault("hasSeenPushPrompt", Bool.self, purpose: "Whether push was offered."),
  ]

  private func launch(_ contract: String, _ registry: ControlRegistry? = nil) throws -> AppControls {
    try AppControls.launch(
      arguments: ["app"], environment: ["DIORAMA_CONTRACT": contract], declaring: registry ?? self.registry
    ) { Issue.record("warned: \($0)") }
  }

  @Test("prints as a table")
  func table() {
    let lines = "\(registry)".split(separator: "\n").map { $0.split(separator: "  ", omittingEmptySubsequences: true) }
    let cells = lines.map { $0.map { $0.trimmingCharacters(in: .whitespaces) } }
    #expect(
      cells == [
        ["kind", "name", "type", "default", "purpose"],
        ["toggle", "skip-onboarding", "Bool", "false", "Goes straight to the booking."],
        ["toggle", "theme", "Theme: light, dark", "light"],
        [
          "value", "location", "Place", #"{"latitude":51.5,"name":"London, by the river"}"#, "Where the patient is.",
        ],
        ["user default", "hasSeenPushPrompt", "Bool", "Whether push was offered."],
      ])
    let columns = "\(registry)".split(separator: "\n").map { $0.prefix(33).suffix(19).first }
    #expect(columns == ["n", "s", "t", "l", "h"])
  }

  @Test("accepts a contract with declared names")
  func declared() throws {
    let controls = try launch(
      #"{"version":1,"toggles":{"theme":"dark"},"values":{"location":{"latitude":1,"name":"x"}},"#
        + #""defaults":{"hasSeenPushPrompt":true}}"#)
    #expect(controls.toggles[.theme] == .dark)
    #expect(controls.values[.location].name == "x")
  }

  @Test("rejects undeclared names, each with the nearest name")
  func undeclared() throws {
    let error = #expect(throws: DioramaError.self) {
      try launch(
        #"{"version":1,"toggles":{"skip-onbording":true},"values":{"loction":"x"},"defaults":{"hasSeenPush":1}}"#)
    }
    #expect(error?.kind == .contract)
    #expect(
      error?.description == "launch contract: "
        + "toggles.skip-onbording: this toggle is not declared by the app; the nearest is skip-onboarding; "
        + "values.loction: this value is not declared by the app; the nearest is location; "
        + "defaults.hasSeenPush: this user default is not declared by the app; the nearest is hasSeenPushPrompt")
  }

  @Test("does not check user defaults if none is declared, and nothing without a registry")
  func unchecked() throws {
    _ = try launch(#"{"version":1,"defaults":{"AppleLanguages":["en"]}}"#, [.toggle(.theme)])
    _ = try AppControls.launch(
      arguments: ["app"], environment: ["DIORAMA_CONTRACT": #"{"version":1,"toggles":{"skip-onbording":true}}"#]
    ) { Issue.record("warned: \($0)") }
    #expect(throws: DioramaError.self) { try launch(#"{"version":1,"toggles":{"x":1}}"#, []) }
  }

  @Test("rejects a duplicate name")
  func twice() {
    let error = #expect(throws: DioramaError.self) {
      try launch(#"{"version":1}"#, [.toggle(.theme), .toggle(.theme)])
    }
    #expect(error?.description.contains("the toggle theme is declared more than once") == true)
  }

  @Test("checks nothing without a contract")
  func live() throws {
    let controls = try AppControls.launch(declaring: [.toggle(.theme), .toggle(.theme)])
    #expect(controls.toggles[.theme] == .light)
  }

  @Test("warns of undeclared names in an update")
  func update() {
    let fixture = TogglesFixture(known: ["theme"])
    for _ in 0..<2 { fixture.toggles.update(["thme": .string("dark")]) }
    #expect(
      fixture.warnings.values == [
        "the toggle thme, which the test has set, is not declared by the app; the nearest is theme"
      ])
  }
}
