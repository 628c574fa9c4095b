import Diorama
import LaunchContract
import Testing

extension ValueKey<Place> {
  static let location = ValueKey("location", default: .london, purpose: "Where the patient is.")
}

@Suite("Typed values of a contract")
struct ContractKeyTests {
  private let warnings = Collected<String>()

  private func values(_ values: [String: ContractValue]) -> Values {
    Values(values) { [warnings] in warnings.add($0) }
  }

  @Test("are what the test has handed over, else their defaults")
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

  @Test("are their defaults in an app without a contract")
  func live() throws {
    let controls = try AppControls.launch(arguments: ["app"], environment: [:]) { _ in }
    #expect(controls.values[.location] == .london)
  }

  @Test("keep the default where the test's value is none of their type, with one warning")
  func mismatch() {
    let given = values(["location": .string("51.5,-0.1")])
    for _ in 0..<2 { #expect(given[.location] == .london) }
    #expect(given["location"] == "51.5,-0.1")
    #expect(warnings.values.count == 1)
    #expect(warnings.values.first?.hasPrefix("the value location is 51.5,-0.1, which is no Place: ") == true)
  }

  @Test("change while the app runs, and can be followed")
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
