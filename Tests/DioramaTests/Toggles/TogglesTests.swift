import Basics
import Diorama
import Foundation
import LaunchContract
import Testing

@Suite("Toggles under a contract")
struct TogglesTests {
  private let warnings = Collected<String>()

  private func toggles(_ values: [String: JSON]) throws -> Toggles {
    try controls(values, control: nil).toggles
  }

  private func controls(_ values: [String: JSON], control: LaunchContract.Control?) throws -> AppControls {
    var contract = LaunchContract(
      environment: .init(id: "", name: ""), mode: "mock", clock: .init(kind: .system), seed: "", toggles: values)
    contract.control = control
    return try AppControls(contract) { [warnings] in warnings.add($0) }
  }

  @Test("have the test's values of four types, otherwise their defaults")
  func types() throws {
    let toggles = try toggles(["skip-onboarding": .bool(true), "pages": .int(3), "rate": .int(2), "name": .string("x")])
    #expect(toggles[.skipOnboarding])
    #expect(toggles[Toggle("pages", default: 1)] == 3)
    #expect(toggles[Toggle("rate", default: 0.5)] == 2.0)
    #expect(toggles[Toggle("name", default: "")] == "x")
    #expect(toggles[Toggle("unset", default: "default")] == "default")
    #expect(warnings.values.isEmpty)
  }

  @Test("warn once of a value of the wrong type, and use the default")
  func otherType() throws {
    let toggles = try toggles(["skip-onboarding": .string("perhaps")])
    #expect(!toggles[.skipOnboarding])
    #expect(!toggles[.skipOnboarding])
    #expect(warnings.values.count == 1)
    #expect(warnings.values.first?.contains("skip-onboarding is perhaps, which is not a valid Bool") == true)
  }

  @Test("report the first reading of each value to the environment")
  func usage() throws {
    try withControlServer { server in
      let controls = try controls(["skip-onboarding": .bool(true)], control: server.control)
      for _ in 0..<3 {
        _ = controls.toggles[.skipOnboarding]
        _ = controls.toggles[Toggle("pages", default: 7)]
      }
      controls.flush()
      let reports = try server.requests.map { try JSONDecoder().decode(UsageReport.self, from: $0.body).toggles }
      #expect(
        reports.flatMap { $0 }.sorted { $0.key < $1.key }.map(\.value) == [.int(7), .bool(true)])
      #expect(reports.flatMap(\.keys).sorted() == ["pages", "skip-onboarding"])
      #expect(server.requests.allSatisfy { $0.path == "/__diorama/usage" })
    }
  }

  @Test("keep their value if the environment does not respond")
  func unreported() throws {
    let server = try ControlServer { _ in nil }
    server.stop()
    let controls = try controls(["skip-onboarding": .bool(true)], control: server.control)
    #expect(controls.toggles[.skipOnboarding])
    controls.flush()
    #expect(warnings.values.count == 1)
  }
}

/// The toggles of a contract, with their warnings and reports.
struct TogglesFixture {
  let warnings = Collected<String>()
  let reports = Collected<Reading>()
  let toggles: Toggles

  struct Reading: Sendable, Equatable {
    var name: String
    var value: JSON

    init(_ name: String, _ value: JSON) {
      self.name = name
      self.value = value
    }
  }

  init(_ values: [String: JSON] = [:], known: [String]? = nil) {
    toggles = Toggles(
      values, known: known, report: { [reports] in reports.add(Reading($0, $1)) },
      warn: { [warnings] in warnings.add($0) })
  }
}

/// An enumeration for a toggle.
enum Theme: String, CaseIterable, Codable, Sendable {
  case light, dark
}

/// A type of the app.
struct Place: Codable, Sendable, Equatable {
  var latitude: Double
  var name: String

  static let london = Place(latitude: 51.5, name: "London, by the river")
}

extension Toggle<Bool> {
  static let skipOnboarding = Toggle("skip-onboarding", default: false, purpose: "Goes straight to the booking.")
  static let neverAskForPassword = Toggle("never-ask-for-password", default: false)
}

extension Toggle<Theme> {
  static let theme = Toggle("theme", default: .light)
}

extension Toggle<Place> {
  static let place = Toggle("place", default: .london)
}

@Suite("Log of toggle readings")
struct ToggleReadingsTests {
  @Test("has each toggle once for each value that the app read, in order")
  func once() {
    let fixture = TogglesFixture(["theme": .string("dark")])
    for _ in 0..<3 {
      _ = fixture.toggles[.theme]
      _ = fixture.toggles[.skipOnboarding]
    }
    fixture.toggles.update(["theme": .string("dark"), "skip-onboarding": .bool(true)])
    for _ in 0..<3 {
      _ = fixture.toggles[.theme]
      _ = fixture.toggles[.skipOnboarding]
    }
    fixture.toggles.update([:])
    _ = fixture.toggles[.skipOnboarding]
    let expected: [TogglesFixture.Reading] = [
      .init("theme", .string("dark")), .init("skip-onboarding", .bool(false)), .init("skip-onboarding", .bool(true)),
    ]
    #expect(fixture.reports.values == expected)
    #expect(fixture.toggles.readings.map { TogglesFixture.Reading($0.name, $0.value) } == expected)
  }

  @Test("has the default for an unusable value, and no toggle that was not read")
  func defaults() {
    let fixture = TogglesFixture(["theme": .int(1), "unread": .bool(true)])
    _ = fixture.toggles[.theme]
    #expect(fixture.reports.values == [.init("theme", .string("light"))])
  }

  @Test("decode values of the app's own type from JSON")
  func json() {
    let fixture = TogglesFixture()
    _ = fixture.toggles[.place]
    let place = JSON.object(["latitude": .double(51.5), "name": .string("London, by the river")])
    #expect(fixture.reports.values == [.init("place", place)])
  }
}

@Suite("Toggle details as in OpenFeature")
struct ToggleDetailsTests {
  @Test("have the reason STATIC for a test's value, with its text as variant")
  func given() {
    let place = JSON.object(["latitude": .int(1), "name": .string("")])
    let toggles = TogglesFixture(["theme": .string("dark"), "place": place]).toggles
    let theme = toggles.details(.theme)
    #expect(theme.flagKey == "theme")
    #expect(theme.value == .dark)
    #expect(theme.reason.rawValue == "STATIC")
    #expect(theme.variant == "dark")
    #expect(theme.errorCode == nil)
    #expect(toggles.details(.place).variant == nil)
  }

  @Test("have the reason DEFAULT if no test sets the toggle, also without a contract")
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

  @Test("have the reason ERROR and TYPE_MISMATCH for a value of the wrong type")
  func mismatch() {
    let details = TogglesFixture(["theme": .int(1)]).toggles.details(.theme)
    #expect(details.value == .light)
    #expect(details.reason.rawValue == "ERROR")
    #expect(details.errorCode?.rawValue == "TYPE_MISMATCH")
    #expect(details.errorMessage == "the toggle theme is 1, which is not one of light, dark")
    #expect(details.variant == nil)
  }

  @Test("have the reason ERROR and FLAG_NOT_FOUND for an undeclared toggle")
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
