import Foundation
import Testing

@Suite("The backend's releases")
struct ReleaseTests {
  /// What a release answers.
  private func list(_ release: String) throws -> [[String: Any]] {
    let backend = try Backend("--release", release)
    let data = try Data(contentsOf: #require(URL(string: "\(backend.url)/v1/clinics")))
    let answer = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    return try #require(answer["clinics"] as? [[String: Any]])
  }

  @Test("keep the clinics' ids, and differ in a field and in a name")
  func clinics() throws {
    let first = try list("1")
    let second = try list("2")
    #expect(first.map { $0["id"] as? String } == second.map { $0["id"] as? String })
    #expect(first.map { $0["postcode"] as? String } == ["SW3", "E1", "E8"])
    #expect(second.allSatisfy { $0["postcode"] == nil })
    #expect(second.map { $0["name"] as? String } == ["Chelsea", "Shoreditch", "Dalston"])
  }
}
