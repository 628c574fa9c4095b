import Diorama
import DioramaTesting
import Testing

@Suite("What the conformance kit notices")
struct MutantTests {
  @Test("nothing in a store without a mistake")
  func sound() {
    #expect(CredentialStoreConformance.violations(of: MutantStore(nil)) == [])
  }

  @Test("a mistake", arguments: Mutation.allCases)
  func mutant(_ mutation: Mutation) {
    let violations = CredentialStoreConformance.violations(of: MutantStore(mutation), groups: ["one", "two"], upTo: 1)
    #expect(violations != [])
  }

  @Test("a store that cannot be used at all, in one line")
  func useless() throws {
    let violations = CredentialStoreConformance.violations(of: InMemoryCredentialStore(faults: [.locked]))
    #expect(violations.count == 1)
    #expect(violations.first?.came.contains("locked") == true)
  }

  @Test("says what was done, what should have come and what came")
  func words() throws {
    let violations = CredentialStoreConformance.violations(
      of: MutantStore(.updateOfNothingSucceeds), groups: [], upTo: 1)
    let first = try #require(violations.first)
    #expect(first.done.hasPrefix("where there is nothing: update to 1 bytes for account \"account\" of service"))
    #expect(first.expected.hasPrefix("the error notFound"))
    #expect(first.came == "success")
  }

  @Test("nothing of groups where none may be used")
  func withoutGroups() {
    #expect(CredentialStoreConformance.violations(of: MutantStore(.ignoresGroup), groups: []) == [])
  }
}
