import Basics
import CGnuTLS

/// Java's key store format JKS, as far as trusted certificates need it.
///
/// All numbers are big-endian: the magic number, the version, the number of entries, the entries, and a digest. An entry
/// of a trusted certificate is the number 2, an alias, its creation in milliseconds since 1970, the certificate's type,
/// its length and its bytes. Every Java version reads the format, whatever the type of its own key store (JEP 229).
enum JavaKeyStore {
  private static let header: [UInt8] = [0xFE, 0xED, 0xFE, 0xED, 0, 0, 0, 2]
  private static let digestSize = 20
  /// What a Java key store of trusted certificates has as password everywhere. It protects nothing.
  private static let password = "changeit"

  /// Returns a key store that trusts all certificates, with the aliases `1`, `2` and so on.
  ///
  /// - Parameter certificates: the certificates as DER.
  /// - Returns: the contents of the file.
  /// - Throws: `CodedError` if GnuTLS does not offer SHA-1.
  static func make(_ certificates: [[UInt8]]) throws(CodedError) -> [UInt8] {
    let entries = certificates.enumerated().flatMap { entry(alias: "\($0 + 1)", $1) }
    return try store(count: certificates.count, entries)
  }

  /// Returns a copy of a key store that also trusts another certificate.
  ///
  /// - Parameters:
  ///   - certificate: the certificate as DER.
  ///   - alias: its name in the key store, in lower case; another entry of this name is replaced.
  ///   - existing: the key store, whatever its password.
  /// - Returns: nil if `existing` has another format, such as PKCS#12.
  /// - Throws: `CodedError` if GnuTLS does not offer SHA-1.
  static func adding(_ certificate: [UInt8], alias: String, to existing: [UInt8]) throws(CodedError) -> [UInt8]? {
    let start = header.count + 4
    guard existing.count >= start + digestSize, existing.starts(with: header) else { return nil }
    let count = existing[header.count..<start].reduce(0) { $0 << 8 | Int($1) }
    // The entries need not be understood: the new one comes after them.
    return try store(
      count: count + 1, existing[start..<(existing.count - digestSize)] + entry(alias: alias, certificate))
  }

  private static func store(count: Int, _ entries: some Sequence<UInt8>) throws(CodedError) -> [UInt8] {
    let content = header + number(count, bytes: 4) + entries
    // The password as UTF-16, a fixed text, and the content.
    let salt = password.utf16.flatMap { number(Int($0), bytes: 2) } + Array("Mighty Aphrodite".utf8)
    return content + (try digest(GNUTLS_DIG_SHA1, of: salt + content))
  }

  private static func entry(alias: String, _ certificate: [UInt8]) -> [UInt8] {
    // Created in 1970, since the time of the creation does not matter, and equal input has equal output.
    number(2, bytes: 4) + text(alias) + number(0, bytes: 8) + text("X.509") + number(certificate.count, bytes: 4)
      + certificate
  }

  private static func text(_ text: String) -> [UInt8] { number(text.utf8.count, bytes: 2) + Array(text.utf8) }

  private static func number(_ number: Int, bytes: Int) -> [UInt8] {
    (0..<bytes).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }
}
