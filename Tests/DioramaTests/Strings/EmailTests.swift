import Diorama
import LaunchContract
import Testing

@Suite("Random e-mail addresses")
struct EmailTests {
  @Test("are the string of the same key and use, at the domain")
  func derived() throws {
    let strings = try fixture(.init(policy: .derive)).strings
    #expect(try strings.email("email") == "z0r1lpyugt7o@example.com")
    #expect(try strings.email("email", domain: "clinic.example", length: 4) == "1hjq@clinic.example")
  }

  @Test("are recorded and replayed whole")
  func whole() throws {
    let entry = StringEntry(value: "ann@example.com", parameters: .email(length: 12, domain: "example.com"))
    try withControlServer { server in
      _ = try fixture(.init(policy: .report), control: server.control).strings.email("email")
      #expect(
        try server.uses() == [
          .init(
            key: "email", ordinal: 0, status: .recorded, value: "z0r1lpyugt7o@example.com",
            parameters: .email(length: 12, domain: "example.com"))
        ])
    }
    #expect(try replay(["user": [entry]]).strings.email("user") == "ann@example.com")
    let error = #expect(throws: DioramaError.self) {
      try replay(["user": [entry]]).strings.email("user", domain: "clinic.example")
    }
    #expect(error?.description.contains("it was recorded as an e-mail address of 12 at example.com") == true)
  }

  @Test("are really random without a contract")
  func live() throws {
    let found = try (0..<50).map { _ in try RandomStrings.live.email("user", domain: "a.example", length: 10) }
    #expect(Set(found).count == 50)
    #expect(found.allSatisfy { $0.hasSuffix("@a.example") && $0.utf8.count == 20 })
  }

  @Test(
    "refuse lengths and domains that no address has",
    arguments: [(0, "a.example"), (65, "a.example"), (-1, "a.example")]
      + ["", "a@b", "a b", "a\u{3000}b", "a\nb", String(repeating: "a", count: 256)].map { (12, $0) })
  func refused(length: Int, domain: String) throws {
    for strings in [RandomStrings.live, try fixture(.init(policy: .derive)).strings] {
      let error = #expect(throws: DioramaError.self) { try strings.email("user", domain: domain, length: length) }
      #expect(error?.kind == .invalidRequest)
      #expect(error?.description.contains("\n") == false)
    }
  }
}
