import Diorama
import DioramaTesting
import Testing

@Suite("Credential store conformance checks")
struct MutantTests {
  @Test("find no violation in a correct store")
  func sound() {
    #expect(CredentialStoreConformance.violations(of: MutantStore(nil)) == [])
  }

  @Test("find each defect", arguments: Mutation.allCases)
  func mutant(_ mutation: Mutation) {
    let violations = CredentialStoreConformance.violations(of: MutantStore(mutation), groups: ["one", "two"], upTo: 1)
    #expect(violations != [])
  }

  @Test("report an unusable store as one violation")
  func useless() throws {
    let violations = CredentialStoreConformance.violations(of: InMemoryCredentialStore(faults: [.locked]))
    #expect(violations.count == 1)
    #expect(violations.first?.came.contains("locked") == true)
  }

  @Test("report the call, the expected result and the actual result")
  func words() throws {
    let violations = CredentialStoreConformance.violations(
      of: MutantStore(.updateOfNothingSucceeds), groups: [], upTo: 1)
    let first = try #require(violations.first)
    #expect(first.done.hasPrefix("missing credential: update to 1 bytes for account \"account\" of service"))
    #expect(first.expected.hasPrefix("the error notFound"))
    #expect(first.came == "success")
  }

  @Test("skip groups if the list of groups is empty")
  func withoutGroups() {
    #expect(CredentialStoreConformance.violations(of: MutantStore(.ignoresGroup), groups: []) == [])
  }
}
