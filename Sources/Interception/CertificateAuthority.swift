package import Basics
import CGnuTLS
package import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The certificate authority of one environment, which issues a certificate for each host that its programs connect to.
///
/// Its private key exists only in memory, so its certificates are useless after the end of the process.
///
/// ```swift
/// let authority = try CertificateAuthority(environment: "login-1", dates: [.now, start])
/// let credentials = try authority.credentials(for: "api.example.com")
/// ```
package final class CertificateAuthority: Sendable {
  /// The certificate, which programs have to trust.
  package let trusted: AuthorityCertificate

  /// The certificate as DER (X.509).
  package var certificate: [UInt8] { trusted.certificate }
  /// The certificate as PEM, with a final newline.
  package var pem: String { trusted.pem }
  var name: DistinguishedName { trusted.name }
  /// Until when certificates are valid.
  package let expiry: Date

  private let key: PrivateKey
  private let keyIdentifier: [UInt8]
  private let validity: [UInt8]
  private let leaves: Guarded<Leaves>
  private let leafKey: PrivateKey

  private let capacity: Int

  /// What was issued so far.
  private struct Leaves {
    var credentials: [String: ServerCredentials] = [:]
    /// The hosts in the order in which they came: a ring that begins at `oldest`.
    var hosts: [String] = []
    var oldest = 0
  }

  /// Creates a key and its certificate.
  ///
  /// - Parameters:
  ///   - environment: the ID of the environment, which is part of the certificate's name.
  ///   - dates: the instants at which certificates must be valid, such as now and the date of the environment's clock.
  ///     They are valid from one day before the earliest to 30 days after the latest.
  ///   - capacity: the number of hosts whose certificates are kept, at least 1. Beyond it, those of the first
  ///     host are dropped.
  /// - Throws: `CodedError` if there is no date, or if GnuTLS fails.
  package init(environment: String, dates: [Date], capacity: Int = 10_000) throws(CodedError) {
    guard let earliest = dates.min(), let latest = dates.max() else {
      throw CodedError(.usage, "a certificate authority needs a date at which its certificates are valid")
    }
    self.capacity = capacity
    key = try PrivateKey()
    leafKey = try PrivateKey()
    let name = AuthorityCertificate.name(environment: environment)
    keyIdentifier = try Self.keyIdentifier(of: key)
    let end = Self.seconds(latest, after: 30 * 86_400)
    expiry = Date(timeIntervalSince1970: Double(end))
    validity = DER.sequence(DER.time(Self.seconds(earliest, after: -86_400)), DER.time(end))
    let certificate = try Self.certificate(
      for: key.publicKey, subject: name, issuer: name, signer: key, validity: validity,
      extensions: [
        // Issues certificates of servers, but not of other authorities.
        Self.extend(Self.basicConstraints, isCritical: true, DER.sequence(DER.isTrue, DER.integer([0]))),
        // keyCertSign and cRLSign.
        Self.extend(Self.keyUsage, isCritical: true, DER.bitString([0x06], unusedBits: 1)),
        Self.extend(Self.subjectKeyIdentifier, DER.octetString(keyIdentifier)),
      ])
    trusted = AuthorityCertificate(environment: environment, certificate: certificate)
    leaves = Guarded(Leaves())
  }

  /// Returns the certificate for a host, with its private key and this authority's certificate.
  ///
  /// It is issued at the first call for a host, and kept.
  ///
  /// - Parameter host: a host name, whose case does not matter, or an IPv4 or IPv6 address. IPv4 addresses may have the
  ///   form `::ffff:192.0.2.1` of dual-stack sockets.
  /// - Returns: the credentials. A TLS session does not retain them: keep this object until the session's end.
  /// - Throws: `CodedError` if the host is not valid, or if GnuTLS fails.
  func credentials(for host: String) throws(CodedError) -> ServerCredentials {
    let host = host.asciiLowercased
    // The lock is held while the certificate is signed: it is issued once, and GnuTLS's keys are used by one thread.
    return try leaves.withLock { leaves throws(CodedError) in
      if let known = leaves.credentials[host] { return known }
      let issued = try issue(host)
      if leaves.hosts.count < capacity {
        leaves.hosts.append(host)
      } else {
        leaves.credentials[leaves.hosts[leaves.oldest]] = nil
        leaves.hosts[leaves.oldest] = host
        leaves.oldest = (leaves.oldest + 1) % capacity
      }
      leaves.credentials[host] = issued
      return issued
    }
  }

  private func issue(_ host: String) throws(CodedError) -> ServerCredentials {
    guard let names = HostNames.alternativeNames(of: host) else {
      throw CodedError(
        .usage, "no certificate can be issued for '\(host)', which is neither a host name in ASCII nor an IP address")
    }
    let leaf = try Self.certificate(
      for: leafKey.publicKey,
      // What is longer than a common name can be has only the subject alternative name, which is what clients check.
      subject: DistinguishedName(organization: "Diorama", commonName: host.utf8.count <= 64 ? host : nil),
      issuer: name, signer: key, validity: validity,
      extensions: [
        Self.extend(Self.basicConstraints, isCritical: true, DER.sequence()),
        // digitalSignature.
        Self.extend(Self.keyUsage, isCritical: true, DER.bitString([0x80], unusedBits: 7)),
        Self.extend(Self.extendedKeyUsage, DER.sequence(DER.identifier(Self.serverAuthentication))),
        Self.extend(Self.subjectAlternativeName, DER.element(0x30, names)),
        Self.extend(Self.authorityKeyIdentifier, DER.sequence(DER.element(0x80, keyIdentifier))),
      ])
    return try ServerCredentials(chain: [leaf, certificate], key: leafKey)
  }

  /// Makes the self-signed certificate of a server, valid for ten years.
  ///
  /// - Parameters:
  ///   - hosts: host names in any case, and IP addresses.
  ///   - key: the server's key.
  ///   - now: the current time.
  /// - Returns: the certificate as DER.
  /// - Throws: `CodedError` if a host is not valid, or if GnuTLS fails.
  static func selfSigned(for hosts: [String], key: PrivateKey, now: Date) throws(CodedError) -> [UInt8] {
    var names: [UInt8] = []
    for host in hosts {
      guard let encoded = HostNames.alternativeNames(of: host.asciiLowercased) else {
        throw CodedError(
          .usage, "no certificate can be made for '\(host)', which is neither a host name in ASCII nor an IP address")
      }
      names += encoded
    }
    let name = DistinguishedName(organization: "Diorama", commonName: "Diorama daemon")
    return try certificate(
      for: key.publicKey, subject: name, issuer: name, signer: key,
      validity: DER.sequence(DER.time(seconds(now, after: -86_400)), DER.time(seconds(now, after: 3653 * 86_400))),
      extensions: [
        extend(basicConstraints, isCritical: true, DER.sequence()),
        // digitalSignature.
        extend(keyUsage, isCritical: true, DER.bitString([0x80], unusedBits: 7)),
        extend(extendedKeyUsage, DER.sequence(DER.identifier(serverAuthentication))),
        extend(subjectAlternativeName, DER.element(0x30, names)),
        extend(subjectKeyIdentifier, DER.octetString(try keyIdentifier(of: key))),
      ])
  }

  private static func seconds(_ date: Date, after offset: Double) -> Int {
    // The years 0000 to 9999; the lower bound for dates that are no numbers.
    let seconds = (date.timeIntervalSince1970 + offset).rounded(.down)
    return seconds >= -62_167_219_200 ? Int(min(seconds, 253_402_300_799)) : -62_167_219_200
  }

  // MARK: X.509 (RFC 5280)

  private static let basicConstraints = DER.Identifier(2, 5, 29, 19)
  private static let keyUsage = DER.Identifier(2, 5, 29, 15)
  private static let extendedKeyUsage = DER.Identifier(2, 5, 29, 37)
  private static let subjectAlternativeName = DER.Identifier(2, 5, 29, 17)
  private static let subjectKeyIdentifier = DER.Identifier(2, 5, 29, 14)
  private static let authorityKeyIdentifier = DER.Identifier(2, 5, 29, 35)
  private static let serverAuthentication = DER.Identifier(1, 3, 6, 1, 5, 5, 7, 3, 1)
  private static let ecdsaWithSHA256 = DER.sequence(DER.identifier(DER.Identifier(1, 2, 840, 10_045, 4, 3, 2)))

  private static func extend(_ type: DER.Identifier, isCritical: Bool = false, _ value: [UInt8]) -> [UInt8] {
    DER.sequence(DER.identifier(type), isCritical ? DER.isTrue : [], DER.octetString(value))
  }

  /// Any value that differs between keys will do. This one needs no SHA-1 (RFC 7093, section 2).
  private static func keyIdentifier(of key: PrivateKey) throws(CodedError) -> [UInt8] {
    try Array(digest(GNUTLS_DIG_SHA256, of: key.publicKey).prefix(20))
  }

  // Encoded here and not by gnutls_x509_crt_sign2, which writes 1944 as UTCTime, and thus as 2044.
  private static func certificate(
    for publicKey: [UInt8], subject: DistinguishedName, issuer: DistinguishedName, signer: PrivateKey,
    validity: [UInt8], extensions: [[UInt8]]
  ) throws(CodedError) -> [UInt8] {
    var serial = (0..<16).map { _ in UInt8.random(in: 0...0xFF) }
    // Positive, and without leading zeros.
    serial[0] = serial[0] & 0x3F | 0x40
    let body = DER.sequence(
      // Version 3.
      DER.element(0xA0, DER.integer([2])), DER.integer(serial), ecdsaWithSHA256, issuer.encoded, validity,
      subject.encoded, publicKey, DER.element(0xA3, DER.element(0x30, Array(extensions.joined()))))
    return try DER.sequence(body, ecdsaWithSHA256, DER.bitString(signer.sign(body)))
  }
}

/// The certificate of an environment's authority, without its key.
package struct AuthorityCertificate: Sendable {
  /// The certificate as DER (X.509).
  package let certificate: [UInt8]
  let name: DistinguishedName

  /// - Parameters:
  ///   - environment: the ID of the environment for which the certificate was made.
  ///   - certificate: the certificate as DER.
  package init(environment: String, certificate: [UInt8]) {
    self.certificate = certificate
    name = Self.name(environment: environment)
  }

  /// The certificate as PEM, with a final newline.
  package var pem: String { PEM.encode(certificate) }

  static func name(environment: String) -> DistinguishedName {
    // A common name has at most 64 characters (RFC 5280, appendix A.1).
    let prefix = "Diorama environment "
    let id = String(String.UnicodeScalarView(environment.unicodeScalars.prefix(64 - prefix.count)))
    return DistinguishedName(organization: "Diorama", commonName: prefix + id)
  }
}

/// The subject alternative names of hosts (RFC 5280, section 4.2.1.6).
enum HostNames {
  /// Returns the encoded names, or nil if `host` is neither a host name nor an IP address.
  ///
  /// - Parameter host: in lower case.
  /// - Returns: the elements of the extension's sequence.
  static func alternativeNames(of host: String) -> [UInt8]? {
    if let address = address(AF_INET, host, count: 4) { return DER.element(0x87, address) }
    if let address = address(AF_INET6, host, count: 16) {
      let isMapped = address.starts(with: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF])
      // A client that connects to 192.0.2.1 expects the IPv4 address.
      return DER.element(0x87, address) + (isMapped ? DER.element(0x87, Array(address.suffix(4))) : [])
    }
    let labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let isValid = labels.allSatisfy { 1...63 ~= $0.count && $0.allSatisfy(letters.contains) }
    return isValid && host.utf8.count <= 253 ? DER.element(0x82, Array(host.utf8)) : nil
  }

  // Underscores are not part of host names, but occur, for example in names of containers.
  private static let letters = Set("abcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  private static func address(_ family: Int32, _ text: String, count: Int) -> [UInt8]? {
    // inet_pton would read only what comes before a NUL.
    guard !text.utf8.contains(0) else { return nil }
    var bytes = [UInt8](repeating: 0, count: count)
    return inet_pton(family, text, &bytes) == 1 ? bytes : nil
  }
}
