import Diorama
import Testing

@Suite("Credential errors")
struct CredentialErrorTests {
  @Test("have the keychain's status codes")
  func numbers() {
    let expected: [CredentialError.Kind: Int32] = [
      .notFound: -25_300, .duplicate: -25_299, .locked: -25_308, .missingEntitlement: -34_018, .cancelled: -128,
      .invalid: -50, .notText: -26_275, .unavailable: -25_291, .failed: -36,
    ]
    for kind in CredentialError.Kind.allCases {
      #expect(kind.status == expected[kind])
      #expect(CredentialError(kind, for: nil).status == expected[kind])
    }
    #expect(CredentialError(.failed, "no", status: -67_000).status == -67_000)
    #expect(CredentialError(.locked, "no", status: -67_000).status == -25_308)
  }

  @Test("describe any key on one line", arguments: CredentialError.Kind.allCases)
  func words(_ kind: CredentialError.Kind) {
    let error = CredentialError(kind, for: CredentialKey(service: "a\nb", account: "c\r\n\"d", group: "g"))
    #expect(error.description.contains(#"account "c\r\n\"d" of service "a\nb" in group "g""#))
    #expect(error.description.split(whereSeparator: \.isNewline).count == 1)
  }

  @Test("report invalid keys")
  func keys() {
    for key in [
      CredentialKey(service: "a\0", account: ""), CredentialKey(service: "", account: "\0"),
      CredentialKey(service: "", account: "", group: ""), CredentialKey(service: "", account: "", group: "g\0"),
    ] {
      let error = #expect(throws: CredentialError.self) { try key.validate() }
      #expect(error?.kind == .invalid)
    }
    #expect(throws: Never.self) { try CredentialKey(service: "", account: "").validate() }
  }

  @Test("keys are compared and sorted by their bytes")
  func identity() {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    #expect(composed == decomposed)
    #expect(CredentialKey(service: composed, account: "") != CredentialKey(service: decomposed, account: ""))
    #expect(Set([composed, decomposed].map { CredentialKey(service: "", account: $0) }).count == 2)
    #expect(CredentialKey(service: "ab", account: "c") != CredentialKey(service: "a", account: "bc"))
    let sorted =
      [("a", "b", nil), ("a", "b", "A"), ("a", "b", "a"), ("a", "c", nil), ("b", "a", nil), ("e\u{301}", "", nil)]
      .map { CredentialKey(service: $0.0, account: $0.1, group: $0.2) } + [
        CredentialKey(service: "\u{E9}", account: "")
      ]
    #expect(sorted.reversed().sorted() == sorted)
  }
}
