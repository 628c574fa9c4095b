import EnvironmentConfiguration
import Foundation
import Testing

@testable import DioramaTesting

@Suite("Redaction rules of a test")
struct RedactionTests {
  private typealias Rules = TestEnvironment.RedactionRules

  @Test("are written and read as a file has them, and refuse what they do not know")
  func codable() throws {
    let rules = Rules(
      headers: ["X-S"], query: ["token"], json: ["$..pin"], form: ["pin"], patterns: ["x+"],
      keep: .init(headers: ["Cookie"], credentials: ["s/a"]))
    #expect(try JSONDecoder().decode(Rules.self, from: JSONEncoder().encode(rules)) == rules)
    #expect(throws: (any Error).self) { try JSONDecoder().decode(Rules.self, from: Data(#"{"header": []}"#.utf8)) }
  }

  @Test("are those of the suite and of the test together")
  func merged() throws {
    let suite = TestEnvironment.Configuration(redaction: Rules(headers: ["X-A"]))
    let test = TestEnvironment.Configuration(redaction: Rules(headers: ["X-B"], query: ["q"]))
    #expect(test.inside(suite).settings.redaction == Rules(headers: ["X-A", "X-B"], query: ["q"]).rules)
  }

  @Test("that cannot be used are refused before the test")
  func refused() async throws {
    let error = await #expect(throws: DioramaTestingError.self) {
      try await TestEnvironment.provision(mode: .mock, redaction: .init(json: ["user"]))
    }
    #expect(error?.description.contains("redaction: $.json[0]: 'user' is no JSON path") == true)
  }
}
