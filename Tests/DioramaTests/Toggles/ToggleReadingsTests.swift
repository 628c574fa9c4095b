import Diorama
import LaunchContract
import Testing

@Suite("The log of toggles that were read")
struct ToggleReadingsTests {
  @Test("has each toggle once for each value that the app got, in order")
  func once() {
    let world = TogglesWorld(["theme": .string("dark")])
    for _ in 0..<3 {
      _ = world.toggles[.theme]
      _ = world.toggles[.skipOnboarding]
    }
    world.toggles.update(["theme": .string("dark"), "skip-onboarding": .bool(true)])
    for _ in 0..<3 {
      _ = world.toggles[.theme]
      _ = world.toggles[.skipOnboarding]
    }
    world.toggles.update([:])
    _ = world.toggles[.skipOnboarding]
    let expected: [TogglesWorld.Reading] = [
      .init("theme", .string("dark")), .init("skip-onboarding", .bool(false)), .init("skip-onboarding", .bool(true)),
    ]
    #expect(world.reports.values == expected)
    #expect(world.toggles.readings.map { TogglesWorld.Reading($0.name, $0.value) } == expected)
  }

  @Test("has the default where the contract's value cannot be used, and nothing that nobody reads")
  func defaults() {
    let world = TogglesWorld(["theme": .int(1), "unread": .bool(true)])
    _ = world.toggles[.theme]
    #expect(world.reports.values == [.init("theme", .string("light"))])
  }

  @Test("takes values of the app's own type as JSON")
  func json() {
    let world = TogglesWorld()
    _ = world.toggles[.place]
    let place = ContractValue.object(["latitude": .double(51.5), "name": .string("London, by the river")])
    #expect(world.reports.values == [.init("place", place)])
  }
}
