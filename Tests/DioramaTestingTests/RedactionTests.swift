import EnvironmentConfiguration
import Foundation
import Testing

@testable import DioramaTesting

@Suite("Redaction rules settings")
struct RedactionTests {
  private typealias Rules = TestEnvironment.RedactionRules

  @Test("are encoded and decoded as in a file, and reject unknown members")
  func codable() throws {
    let rules = Rules(
      headers: ["X-S"], query: ["token"], json: ["$..pin"], form: ["pin"], patterns: ["x+"],
      keep: .init(headers: ["Cookie"], credentials: ["s/a"]))
    #expect(try JSONDecoder().decode(Rules.self, from: JSONEncoder().encode(rules)) == rules)
    #expect(throws: (any Error).self) { try JSONDecoder().decode(Rules.self, from: Data(#"{"header": []}"#.utf8)) }
  }

  @Test("combine those of the suite and of the test")
  func merged() throws {
    let suite = TestEnvironment.Configuration(redaction: Rules(headers: ["X-A"]))
    let test = TestEnvironment.Configuration(redaction: Rules(headers: ["X-B"], query: ["q"]))
    #expect(test.inside(suite).settings.redaction == Rules(headers: ["X-A", "X-B"], query: ["q"]).rules)
  }

  @Test("fail before the test if they are invalid")
  func refused() async throws {
    let error = await #expect(throws: DioramaTestingError.self) {
      try await TestEnvironment.provision(mode: .mock, redaction: .init(json: ["user"]))
    }
    #expect(error?.description.contains("redaction.json[0]: 'user' is not a valid JSON path") == true)
  }
}
