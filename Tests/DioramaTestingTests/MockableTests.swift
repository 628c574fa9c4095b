import DioramaTesting
import Foundation
import Testing

@Suite("Mocks of Codable types")
struct MockableTests {
  enum Unit: String, Codable, CaseIterable { case milligram, drop }
  enum Route: Codable, Equatable { case oral, injected(site: String) }

  struct Prescription: Codable, Equatable, Mockable {
    struct Patient: Codable, Equatable {
      var name: String
      var birthday: Date
    }
    var id: Int
    var day: Int8
    var dose: Double
    var price: Decimal
    var unit: Unit
    var isUrgent: Bool
    var leaflet: URL
    var code: UUID
    var scan: Data
    var patient: Patient
    var tags: [String]
    var days: Set<Int>
    var notes: [String: String]
    var comment: String?
    var repeats: [Prescription]
    var former: [Prescription]?
  }

  @Test("have a value in every property, the same for the same seed")
  func values() throws {
    let mock = try Prescription.mock()
    #expect(try Prescription.mock() == mock)
    #expect((1...9999).contains(mock.id))
    #expect((1...127).contains(mock.day))
    #expect(mock.patient.name.wholeMatch(of: /name-[a-z0-9]{6}/) != nil)
    #expect(mock.patient.birthday.formatted(.iso8601).hasPrefix("2021-"))
    #expect(mock.leaflet.host() == "example.com")
    #expect(mock.scan.count == 16)
    #expect(mock.tags.count == 2)
    #expect(mock.tags.allSatisfy { $0.hasPrefix("tags-") })
    #expect(Set(mock.tags).count == 2)
    #expect(mock.days.count == 2)
    #expect(mock.notes == [:])
    #expect(mock.comment?.hasPrefix("comment-") == true)
    #expect(try JSONDecoder().decode(Prescription.self, from: JSONEncoder().encode(mock)) == mock)
    // Other versions of Diorama have to make the same values.
    #expect("\(mock.id) \(mock.dose) \(mock.unit) \(mock.patient.name)" == "1981 423.69 drop name-8rokmg")
  }

  @Test("differ from seed to seed, and change by key path")
  func changed() throws {
    let mock = try Prescription.mock(seed: "other")
    #expect(try mock != Prescription.mock())
    let changed = mock.with(\.dose, 12).with(\.patient.name, "Ann")
    #expect(changed.dose == 12)
    #expect(changed.patient.name == "Ann")
    #expect(changed.id == mock.id)
    #expect(try Set((0..<200).map { try Prescription.mock(seed: "\($0)").unit }).count == 2)
  }

  @Test("end where a type contains itself")
  func recursive() throws {
    final class Node: Codable, Mockable {
      var name = "", next: Node?, children: [Node] = []
    }
    let node = try Node.mock()
    #expect(node.next == nil)
    #expect(node.children.isEmpty)
    struct Slot: Codable, Hashable { var day: Int }
    struct Plan: Codable, Mockable { var bySlot: [Slot: Plan] }
    #expect(try Plan.mock().bySlot.isEmpty)
    final class Endless: Codable, Mockable { var other: Endless }
    let error = #expect(throws: DioramaTestingError.self) { try Endless.mock() }
    #expect(error?.description.contains("'other.other.other'") == true)
    #expect(try Prescription.mock().repeats == [])
    #expect(try Prescription.mock().former == [])
  }

  @Test("of types that refuse arbitrary values need an example")
  func refused() throws {
    struct Form: Codable, Mockable { var route: Route }
    let error = #expect(throws: DioramaTestingError.self) { try Form.mock() }
    #expect(error?.kind == .usage)
    let text = error?.description ?? ""
    #expect(text.hasPrefix("Form can't be mocked: the property 'route' refuses a generated value: "), "\(text)")
    #expect(
      text.hasSuffix("; if it is an enumeration, make it CaseIterable; otherwise, provide mockExample"), "\(text)")
    struct Given: Codable, Mockable {
      var route: Example
      struct Example: Codable, Mockable, Equatable {
        var route: Route
        static var mockExample: Example? { Example(route: .injected(site: "arm")) }
      }
    }
    #expect(try Given.mock().route.route == .injected(site: "arm"))
  }
}
