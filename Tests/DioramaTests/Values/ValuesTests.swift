import Basics
import Diorama
import LaunchContract
import Testing

@Suite("Values")
struct ValuesTests {
  @Test("are replaced at once in every copy")
  func update() throws {
    let values = Values(["location": .string("51.5,-0.1"), "tries": .int(3)]) { Issue.record("warned: \($0)") }
    let copy = values
    values.update(["location": .string("48.9,2.4")])
    #expect(copy["location"] == "48.9,2.4")
    #expect(copy["tries"] == nil)
    #expect(try copy.decode("tries", as: Int.self) == nil)
  }
}

extension ValueKey<Place> {
  static let location = ValueKey("location", default: .london, purpose: "Where the patient is.")
}

@Suite("Value keys")
struct ValueKeyTests {
  private let warnings = Collected<String>()

  private func values(_ values: [String: JSON]) -> Values {
    Values(values) { [warnings] in warnings.add($0) }
  }

  @Test("have the test's values, otherwise their defaults")
  func typed() {
    let given = values([
      "location": .object(["latitude": .int(1), "name": .string("x")]), "tries": .int(3), "theme": .string("dark"),
    ])
    for _ in 0..<2 {
      #expect(given[.location] == Place(latitude: 1, name: "x"))
      #expect(given[ValueKey("tries", default: 1)] == 3)
      #expect(given[ValueKey("theme", default: Theme.light)] == .dark)
      #expect(given[ValueKey("user", default: "Ann")] == "Ann")
      #expect(given[ValueKey("rate", default: 0.5)] == 0.5)
      #expect(given[ValueKey("isOn", default: true)])
    }
    #expect(warnings.values.isEmpty)
  }

  @Test("have their defaults without a contract")
  func live() throws {
    let controls = try AppControls.launch(arguments: ["app"], environment: [:]) { _ in }
    #expect(controls.values[.location] == .london)
  }

  @Test("use the default for a value of the wrong type, with one warning")
  func mismatch() {
    let given = values(["location": .string("51.5,-0.1")])
    for _ in 0..<2 { #expect(given[.location] == .london) }
    #expect(given["location"] == "51.5,-0.1")
    #expect(warnings.values.count == 1)
    #expect(warnings.values.first?.hasPrefix("the value location is 51.5,-0.1, which is not a valid Place: ") == true)
  }

  @Test("can change and be followed while the app runs")
  func update() async {
    let given = values(["tries": .int(1)])
    let tries = ValueKey("tries", default: 0)
    var changes = given.changes(of: tries).makeAsyncIterator()
    #expect(given[tries] == 1)
    given.update(["tries": .int(2)])
    #expect(given[tries] == 2)
    #expect(await changes.next() == 2)
  }
}
