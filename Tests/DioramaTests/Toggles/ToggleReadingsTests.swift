import Diorama
import LaunchContract
import Testing

@Suite("The log of toggles that were read")
struct ToggleReadingsTests {
  @Test("has each toggle once for each value that the app got, in order")
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

  @Test("has the default where the contract's value cannot be used, and nothing that nobody reads")
  func defaults() {
    let fixture = TogglesFixture(["theme": .int(1), "unread": .bool(true)])
    _ = fixture.toggles[.theme]
    #expect(fixture.reports.values == [.init("theme", .string("light"))])
  }

  @Test("takes values of the app's own type as JSON")
  func json() {
    let fixture = TogglesFixture()
    _ = fixture.toggles[.place]
    let place = ContractValue.object(["latitude": .double(51.5), "name": .string("London, by the river")])
    #expect(fixture.reports.values == [.init("place", place)])
  }
}
