import Basics
import Diorama
import LaunchContract
import Testing

@Suite("Toggle types")
struct ToggleTypesTests {
  private enum Level: Int, Sendable {
    case low = 1
    case high
  }

  @Test("support enumerations with string and integer raw values")
  func choices() {
    let fixture = TogglesFixture(["theme": .string("dark"), "level": .int(2)])
    #expect(fixture.toggles[.theme] == .dark)
    #expect(fixture.toggles[Toggle("level", default: Level.low)] == .high)
    #expect(fixture.warnings.values.isEmpty)
  }

  @Test("support values of the app's own type as JSON")
  func codable() {
    let fixture = TogglesFixture([
      "place": .object(["latitude": .double(48.9), "name": .string("Paris")]), "hosts": .array([.string("a")]),
      "nickname": .null,
    ])
    for _ in 0..<3 {
      #expect(fixture.toggles[.place] == Place(latitude: 48.9, name: "Paris"))
      #expect(fixture.toggles[Toggle("hosts", default: [String]())] == ["a"])
      #expect(fixture.toggles[Toggle<String?>("nickname", default: "Ann")] == nil)
    }
    #expect(TogglesFixture().toggles[.place] == .london)
  }

  @Test("report the expected type and use the default")
  func mismatch() {
    let fixture = TogglesFixture(["theme": .string("drak"), "place": .object(["name": .string("Paris")])])
    for _ in 0..<2 {
      #expect(fixture.toggles[.theme] == .light)
      #expect(fixture.toggles[.place] == .london)
    }
    #expect(
      fixture.warnings.values == [
        "the toggle theme is drak, which is not one of light, dark; the app uses its default",
        #"the toggle place is {"name":"Paris"}, which is not a valid Place: 'latitude' is missing; "#
          + "the app uses its default",
      ])
  }

  @Test("may differ for one name in several declarations")
  func oneName() {
    let fixture = TogglesFixture(["n": .int(1)])
    #expect(fixture.toggles[Toggle("n", default: 0)] == 1)
    #expect(fixture.toggles[Toggle("n", default: 0.5)] == 1.0)
    #expect(fixture.toggles[Toggle("n", default: "text")] == "text")
    #expect(fixture.toggles[Toggle("m", default: 1)] == 1)
    #expect(fixture.toggles[Toggle("m", default: 2)] == 2)
  }

  @Test("keep every bit of an integer", arguments: [0, 1, -1, Int.max, Int.min])
  func integers(_ number: Int) {
    let fixture = TogglesFixture(["n": .int(number)])
    let toggle = Toggle("n", default: 7)
    #expect(fixture.toggles[toggle] == number)
    #expect(fixture.toggles[toggle] == number)
  }

  @Test("keep every bit of a floating-point number", arguments: [0.1, -0.0, 2.5e-308, 1.7976931348623157e308])
  func fractions(_ number: Double) {
    let fixture = TogglesFixture(["n": .double(number)])
    let toggle = Toggle("n", default: 0.5)
    #expect(fixture.toggles[toggle].bitPattern == number.bitPattern)
    #expect(fixture.toggles[toggle].bitPattern == number.bitPattern)
  }

  @Test("can read another toggle while they are decoded")
  func nested() {
    struct Curious: Codable, Sendable {
      @TaskLocal static var toggles: Toggles?
      var isSkipping: Bool

      init(isSkipping: Bool) { self.isSkipping = isSkipping }
      init(from decoder: any Decoder) throws { isSkipping = Self.toggles?[.skipOnboarding] ?? false }
    }
    let fixture = TogglesFixture(["curious": .object([:]), "skip-onboarding": .bool(true)])
    Curious.$toggles.withValue(fixture.toggles) {
      #expect(fixture.toggles[Toggle("curious", default: Curious(isSkipping: false))].isSkipping)
    }
  }
}
