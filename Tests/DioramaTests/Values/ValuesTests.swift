import Diorama
import LaunchContract
import Testing

@Suite("Values of an app that runs")
struct ValuesTests {
  @Test("are replaced all at once, in every copy")
  func update() throws {
    let values = Values(["location": .string("51.5,-0.1"), "tries": .int(3)]) { Issue.record("warned: \($0)") }
    let copy = values
    values.update(["location": .string("48.9,2.4")])
    #expect(copy["location"] == "48.9,2.4")
    #expect(copy["tries"] == nil)
    #expect(try copy.decode("tries", as: Int.self) == nil)
  }
}
