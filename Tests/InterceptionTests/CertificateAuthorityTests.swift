import Basics
import Foundation
import TestSupport
import Testing

@testable import Interception

@Suite("Certificates of an environment", .timeLimit(.minutes(5)))
struct CertificateAuthorityTests {
  private let folder: CertificateFolder

  init() throws { folder = try CertificateFolder() }

  private func authority(_ dates: String...) throws -> CertificateAuthority {
    let authority = try CertificateAuthority(
      environment: "e1", dates: dates.isEmpty ? [.now] : dates.map { try #require(RFC3339.parse($0)) })
    try folder.write("ca.pem", authority.pem.utf8)
    return authority
  }

  /// Writes the certificate for a host to `leaf.pem`, and returns what OpenSSL prints about it.
  @discardableResult
  private func leaf(_ host: String, of authority: CertificateAuthority) async throws -> String {
    let chain = try authority.credentials(for: host).certificates
    #expect(chain.count == 2 && chain.last == authority.certificate)
    try folder.write("leaf.pem", PEM.encode(chain[0]).utf8)
    return try await folder.run("openssl", "x509", "-in", "leaf.pem", "-noout", "-text")
  }

  @Test("are a root that can issue certificates of servers only, and names its environment")
  func root() async throws {
    let authority = try authority()
    let text = try await folder.run("openssl", "x509", "-in", "ca.pem", "-noout", "-text")
    #expect(text.contains("Subject: O = Diorama, CN = Diorama environment e1\n"))
    #expect(text.contains("Issuer: O = Diorama, CN = Diorama environment e1\n"))
    #expect(text.contains("X509v3 Basic Constraints: critical\n                CA:TRUE, pathlen:0"))
    #expect(text.contains("X509v3 Key Usage: critical\n                Certificate Sign, CRL Sign"))
    #expect(text.contains("X509v3 Subject Key Identifier"))
    #expect(text.contains("ASN1 OID: prime256v1"))
    #expect(text.contains("Signature Algorithm: ecdsa-with-SHA256"))
    try folder.write("ca.der", authority.certificate)
    #expect(try await folder.run("openssl", "x509", "-inform", "der", "-in", "ca.der") == authority.pem)
    try await folder.run("openssl", "verify", "-x509_strict", "-check_ss_sig", "-CAfile", "ca.pem", "ca.pem")
  }

  @Test("verify for a host name in any case, and for no other one")
  func names() async throws {
    let authority = try authority()
    let text = try await leaf("API.example.com", of: authority)
    #expect(text.contains("Subject: O = Diorama, CN = api.example.com\n"))
    #expect(text.contains("X509v3 Subject Alternative Name: \n                DNS:api.example.com\n"))
    #expect(text.contains("X509v3 Extended Key Usage: \n                TLS Web Server Authentication\n"))
    #expect(text.contains("X509v3 Basic Constraints: critical\n                CA:FALSE\n"))
    #expect(text.contains("X509v3 Key Usage: critical\n                Digital Signature\n"))
    #expect(text.contains("X509v3 Authority Key Identifier"))
    try await verify("-verify_hostname", "api.example.com")
    await #expect(throws: CertificateFolder.Failure.self) { try await verify("-verify_hostname", "www.example.com") }
    #expect(try authority.credentials(for: "api.example.com") === authority.credentials(for: "API.example.com"))
  }

  @Test("verify for IP addresses", arguments: ["192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1"])
  func addresses(host: String) async throws {
    try await leaf(host, of: try authority())
    try await verify("-verify_ip", host)
    if host.hasPrefix("::ffff:") { try await verify("-verify_ip", "192.0.2.1") }
  }

  @Test(
    "are valid from a day before the first date to 30 days after the last one",
    arguments: [
      (["1999-12-31T23:00:00Z"], "Dec 30 23:00:00 1999 GMT", "Jan 30 23:00:00 2000 GMT"),
      (["2026-11-28T12:00:00Z", "2018-10-08T09:00:00.5Z"], "Oct  7 09:00:00 2018 GMT", "Dec 28 12:00:00 2026 GMT"),
      (["1950-01-01T00:00:00Z"], "Dec 31 00:00:00 1949 GMT", "Jan 31 00:00:00 1950 GMT"),
      (["1944-08-25T00:00:00Z"], "Aug 24 00:00:00 1944 GMT", "Sep 24 00:00:00 1944 GMT"),
      (["2049-12-02T00:00:00Z"], "Dec  1 00:00:00 2049 GMT", "Jan  1 00:00:00 2050 GMT"),
      (["2050-01-02T00:00:00Z"], "Jan  1 00:00:00 2050 GMT", "Feb  1 00:00:00 2050 GMT"),
      (["2500-01-01T00:00:00Z"], "Dec 31 00:00:00 2499 GMT", "Jan 31 00:00:00 2500 GMT"),
      (["9999-12-31T00:00:00Z"], "Dec 30 00:00:00 9999 GMT", "Dec 31 23:59:59 9999 GMT"),
      (["0000-01-01T12:00:00Z"], "Jan  1 00:00:00 0 GMT", "Jan 31 12:00:00 0 GMT"),
    ])
  func dates(dates: [String], notBefore: String, notAfter: String) async throws {
    let authority = try CertificateAuthority(
      environment: "e1", dates: dates.map { try #require(RFC3339.parse($0)) })
    let year = try #require(notAfter.split(separator: " ").dropLast().last)
    #expect(Int(RFC3339.format(authority.expiry).prefix(4)) == Int(year))
    try folder.write("ca.pem", authority.pem.utf8)
    for text in [
      try await leaf("a.example", of: authority),
      try await folder.run("openssl", "x509", "-in", "ca.pem", "-noout", "-text"),
    ] {
      #expect(text.contains("Not Before: \(notBefore)\n"))
      #expect(text.contains("Not After : \(notAfter)\n"))
    }
    let date = try #require(RFC3339.parse(dates[0]))
    try await verify("-attime", "\(Int(date.timeIntervalSince1970))")
  }

  @Test(
    "use UTCTime for the years 1950 to 2049 only",
    arguments: [
      (-631_152_001, "191231235959", true), (-631_152_000, "500101000000", false),
      (2_524_607_999, "491231235959", false), (2_524_608_000, "500101000000", true),
    ])
  func time(seconds: Int, digits: String, isLong: Bool) {
    let time = DER.time(seconds)
    #expect(time[0] == (isLong ? 0x18 : 0x17))
    #expect(String(decoding: time.dropFirst(2), as: UTF8.self).hasSuffix(digits.suffix(10) + "Z"))
    #expect(time.count == (isLong ? 17 : 15))
  }

  @Test("need a date")
  func noDate() {
    #expect(throws: CodedError.self) { try CertificateAuthority(environment: "e1", dates: []) }
  }

  @Test("fit long names of environments and hosts")
  func long() async throws {
    let authority = try CertificateAuthority(environment: String(repeating: "é", count: 300), dates: [.now])
    try folder.write("ca.pem", authority.pem.utf8)
    let host = (1...4).map { _ in String(repeating: "a", count: 61) }.joined(separator: ".") + ".info"
    #expect(try await leaf(host, of: authority).contains("Subject: O = Diorama\n"))
    try await verify("-verify_hostname", host)
  }

  @Test("have different positive serial numbers")
  func serialNumbers() throws {
    let authority = try authority()
    // Version and serial number come first in the inner sequence, whose header is as long as the outer one.
    let numbers = try (0..<50).map { index in
      let leaf = try authority.credentials(for: "h\(index).example").certificates[0]
      let start = try #require(leaf.indices.dropFirst(8).first { leaf[$0...].starts(with: [0x02, 0x10]) })
      return Array(leaf[(start + 2)..<(start + 18)])
    }
    #expect(Set(numbers).count == 50)
    #expect(numbers.allSatisfy { 0x40...0x7F ~= $0[0] })
  }

  @Test(
    "are not issued for what is not a host",
    arguments: [
      "", ".", "a..b", "example.com.", "*.example.com", "a b", "a\0b", "1.2.3.4\0", "münchen.example", "[::1]",
      "fe80::1%lo",
      "a/b", "a:1", "\u{212A}.example", String(repeating: "a", count: 64) + ".example",
      String(repeating: "a.", count: 127) + "a",
    ])
  func invalid(host: String) throws {
    let authority = try authority()
    let error = #expect(throws: CodedError.self) { try authority.credentials(for: host) }
    #expect(error?.problem.contains("'\(host.escapedForTerminal)'") == true)
  }

  @Test("are kept for a number of hosts, and longer while they are used")
  func bounded() throws {
    let authority = try CertificateAuthority(environment: "e1", dates: [.now], capacity: 3)
    let kept = try ["a", "b", "c"].map { try authority.credentials(for: $0) }
    #expect(try authority.credentials(for: "a") === kept[0])
    _ = try authority.credentials(for: "d")
    #expect(try authority.credentials(for: "b") === kept[1])
    #expect(try authority.credentials(for: "a") !== kept[0])
    #expect(try authority.credentials(for: "c") === kept[2])
    #expect(try authority.credentials(for: "b") !== kept[1])
    #expect(kept[0].certificates.count == 2)
  }

  @Test("are issued once by many threads")
  func threads() async throws {
    let authority = try authority()
    let all = try await withThrowingTaskGroup(of: [ServerCredentials].self) { group in
      for _ in 0..<16 {
        group.addTask {
          try await onThread { try (0..<100).map { try authority.credentials(for: "h\($0).example") } }
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    for one in all { #expect(zip(one, all[0]).allSatisfy { $0 === $1 }) }
  }

  private func verify(_ options: String...) async throws {
    try await folder.run(["openssl", "verify", "-x509_strict", "-CAfile", "ca.pem"] + options + ["leaf.pem"])
  }
}
