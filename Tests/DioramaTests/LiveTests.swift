import Diorama
import Foundation
import Testing

@Suite("An app without a contract")
struct LiveTests {
  private let controls: AppControls

  init() throws {
    controls = try AppControls.launch(arguments: ["app"], environment: [:]) { Issue.record("warned: \($0)") }
  }

  @Test("launches, in a process that has no contract either")
  func launches() throws {
    _ = try AppControls.launch()
  }

  @Test("has the machine's time, zone and locale")
  func clock() async throws {
    let before = Date()
    let now = controls.clock.now
    #expect((before...Date()).contains(now))
    #expect(controls.clock.timeZone == .current)
    #expect(controls.clock.locale == .current)
    try await controls.clock.sleep(for: .zero)
  }

  @Test("has really random strings, UUIDs and integers")
  func strings() throws {
    let strings = try (0..<100).map { _ in try controls.strings.string("email", length: 12) }
    #expect(Set(strings).count == 100)
    #expect(strings.allSatisfy { $0.count == 12 && $0.allSatisfy(RandomStrings.lettersAndDigits.contains) })
    #expect(try controls.strings.uuid("id") != controls.strings.uuid("id"))
    let numbers = try (0..<200).map { _ in try controls.strings.integer("age", in: -1...1) }
    #expect(Set(numbers) == [-1, 0, 1])
    #expect(try controls.strings.string("binary", length: 30, alphabet: "01").allSatisfy { "01".contains($0) })
  }

  @Test("refuses the same keys, lengths and alphabets as a recording would")
  func rules() {
    #expect(throws: DioramaError.self) { try controls.strings.string("", length: 1) }
    #expect(throws: DioramaError.self) { try controls.strings.uuid("a\nb") }
    #expect(throws: DioramaError.self) { try controls.strings.string("k", length: -1) }
    #expect(throws: DioramaError.self) { try controls.strings.string("k", length: 1, alphabet: "x") }
  }

  @Test("has every toggle at its default, no values, and its own backends")
  func rest() throws {
    #expect(controls.toggles[Toggle("on", default: true)])
    #expect(controls.toggles[Toggle("pages", default: 7)] == 7)
    #expect(controls.values["location"] == nil)
    let url = try #require(URL(string: "https://dev.api1.com/v2"))
    #expect(controls.endpoint("api", default: url) == url)
  }
}
