package import Basics
import CGnuTLS
package import Foundation

/// A certificate chain with its private key, for TLS sessions of a server.
///
/// A session must not outlive this object: GnuTLS neither copies nor counts the credentials that
/// `gnutls_credentials_set(3)` sets.
///
/// Sendable, since nothing changes it after its creation: "credentials structures … can be shared" between threads
/// (GnuTLS manual, Thread safety).
final class ServerCredentials: @unchecked Sendable {
  let handle: gnutls_certificate_credentials_t

  /// - Parameters:
  ///   - chain: certificates as DER, the server's own first.
  ///   - key: the private key of the first one.
  /// - Throws: `CodedError` if GnuTLS fails.
  init(chain: [[UInt8]], key: PrivateKey) throws(CodedError) {
    var certificates: [gnutls_x509_crt_t?] = []
    // gnutls_certificate_set_x509_key copies certificates and key.
    defer { certificates.forEach { gnutls_x509_crt_deinit($0) } }
    for bytes in chain {
      var certificate: gnutls_x509_crt_t?
      try check(gnutls_x509_crt_init(&certificate), "create a certificate")
      certificates.append(certificate)
      let code = withDatum(bytes) { gnutls_x509_crt_import(certificate, &$0, GNUTLS_X509_FMT_DER) }
      try check(code, "read a certificate")
    }
    var handle: gnutls_certificate_credentials_t?
    try check(gnutls_certificate_allocate_credentials(&handle), "create TLS credentials")
    guard let handle else { throw CodedError(.inputOutput, "GnuTLS has no memory for TLS credentials") }
    self.handle = handle
    // The key is known to match. The check would sign something, which takes as long as issuing the certificate.
    gnutls_certificate_set_flags(handle, UInt32(GNUTLS_CERTIFICATE_SKIP_KEY_CERT_MATCH.rawValue))
    let code = gnutls_certificate_set_x509_key(handle, &certificates, Int32(certificates.count), key.exported)
    try check(min(code, 0), "use a certificate")
  }

  /// - Parameters:
  ///   - certificates: PEM, the server's own certificate first.
  ///   - key: its private key as PEM, without a password.
  /// - Throws: `CodedError` if they can't be read, or don't belong together.
  init(certificates: [UInt8], key: [UInt8]) throws(CodedError) {
    var handle: gnutls_certificate_credentials_t?
    try check(gnutls_certificate_allocate_credentials(&handle), "create TLS credentials")
    guard let handle else { throw CodedError(.inputOutput, "GnuTLS has no memory for TLS credentials") }
    self.handle = handle
    let code = withDatum(certificates) { certificates in
      withDatum(key) { key in gnutls_certificate_set_x509_key_mem(handle, &certificates, &key, GNUTLS_X509_FMT_PEM) }
    }
    try check(min(code, 0), "use the certificate with its key")
  }

  deinit { gnutls_certificate_free_credentials(handle) }
}

/// The certificate and the private key of a server that clients reach by its own name.
///
/// ```swift
/// let (certificate, key) = try ServerIdentity.make(for: ["ci.example.com"], now: .now)
/// let identity = try ServerIdentity(certificates: certificate, key: key)
/// print(identity.fingerprint)
/// ```
package final class ServerIdentity: Sendable {
  let credentials: ServerCredentials
  /// `sha256:` and the SHA-256 digest of the public key (SubjectPublicKeyInfo) in hexadecimal, for clients that accept
  /// only this key.
  package let fingerprint: String
  private let certificate: [UInt8]

  /// - Parameters:
  ///   - certificates: PEM, the server's own certificate first, then intermediate ones.
  ///   - key: its private key as PEM, without a password.
  /// - Throws: `CodedError` if they can't be read, or don't belong together.
  package init(certificates: [UInt8], key: [UInt8]) throws(CodedError) {
    guard let first = PEM.certificates(in: certificates).first else {
      throw CodedError(.broken, "there is no certificate in PEM form")
    }
    certificate = Array(first)
    credentials = try ServerCredentials(certificates: certificates, key: key)
    let digest = try digest(GNUTLS_DIG_SHA256, of: Self.publicKey(of: certificate))
    fingerprint = "sha256:" + digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// Makes a self-signed certificate that is valid for ten years.
  ///
  /// - Parameters:
  ///   - hosts: the names and IP addresses by which clients reach the server.
  ///   - now: the current time.
  ///   - key: the private key as PEM; nil for a new one.
  /// - Returns: the certificate and the key as PEM.
  /// - Throws: `CodedError` if a host is not valid, or if GnuTLS fails.
  package static func make(
    for hosts: [String], now: Date, key: [UInt8]? = nil
  ) throws(CodedError) -> (certificate: [UInt8], key: [UInt8]) {
    let key = try PrivateKey(pem: key)
    let certificate = try CertificateAuthority.selfSigned(for: hosts, key: key, now: now)
    return (Array(PEM.encode(certificate).utf8), try key.pem)
  }

  /// Whether the certificate has this name or IP address and has not expired.
  package func isValid(for host: String, at date: Date) throws(CodedError) -> Bool {
    let certificate = try Self.imported(certificate)
    defer { gnutls_x509_crt_deinit(certificate) }
    return gnutls_x509_crt_check_hostname(certificate, host) != 0
      && gnutls_x509_crt_get_expiration_time(certificate) > Int(date.timeIntervalSince1970)
  }

  private static func imported(_ pem: [UInt8]) throws(CodedError) -> gnutls_x509_crt_t? {
    var certificate: gnutls_x509_crt_t?
    try check(gnutls_x509_crt_init(&certificate), "create a certificate")
    let code = withDatum(pem) { gnutls_x509_crt_import(certificate, &$0, GNUTLS_X509_FMT_PEM) }
    if code < 0 { gnutls_x509_crt_deinit(certificate) }
    try check(code, "read the certificate")
    return certificate
  }

  private static func publicKey(of pem: [UInt8]) throws(CodedError) -> [UInt8] {
    let certificate = try imported(pem)
    defer { gnutls_x509_crt_deinit(certificate) }
    var key: gnutls_pubkey_t?
    try check(gnutls_pubkey_init(&key), "create a public key")
    defer { gnutls_pubkey_deinit(key) }
    try check(gnutls_pubkey_import_x509(key, certificate, 0), "read the certificate's public key")
    var encoded = gnutls_datum_t()
    try check(gnutls_pubkey_export2(key, GNUTLS_X509_FMT_DER, &encoded), "encode a public key")
    defer { diorama_gnutls_free(encoded.data) }
    return Array(UnsafeBufferPointer(start: encoded.data, count: Int(encoded.size)))
  }
}

/// A private key for ECDSA on the curve P-256.
///
/// Sendable, since it is immutable; GnuTLS wants calls with one object not to overlap, which is up to the caller.
final class PrivateKey: @unchecked Sendable {
  private let handle: gnutls_privkey_t
  /// The same key in the form that gnutls_certificate_set_x509_key needs.
  let exported: gnutls_x509_privkey_t
  /// The SubjectPublicKeyInfo as DER.
  let publicKey: [UInt8]

  /// - Parameter pem: the key; nil for a new one.
  /// - Throws: `CodedError` if the key can't be read, or if GnuTLS fails.
  init(pem: [UInt8]? = nil) throws(CodedError) {
    var exported: gnutls_x509_privkey_t?
    try check(gnutls_x509_privkey_init(&exported), "create a private key")
    var handle: gnutls_privkey_t?
    var publicKey: gnutls_pubkey_t?
    var encoded = gnutls_datum_t()
    do throws(CodedError) {
      // GNUTLS_CURVE_TO_BITS is a macro that Swift cannot import: the curve with the highest bit set.
      let curve = UInt32(1) << 31 | GNUTLS_ECC_CURVE_SECP256R1.rawValue
      if let pem {
        let code = withDatum(pem) { gnutls_x509_privkey_import2(exported, &$0, GNUTLS_X509_FMT_PEM, nil, 0) }
        try check(code, "read a private key")
      } else {
        try check(gnutls_x509_privkey_generate2(exported, GNUTLS_PK_ECDSA, curve, 0, nil, 0), "generate a private key")
      }
      try check(gnutls_privkey_init(&handle), "create a private key")
      try check(gnutls_privkey_import_x509(handle, exported, 0), "use a private key")
      try check(gnutls_pubkey_init(&publicKey), "create a public key")
      defer { gnutls_pubkey_deinit(publicKey) }
      try check(gnutls_pubkey_import_privkey(publicKey, handle, 0, 0), "derive a public key")
      try check(gnutls_pubkey_export2(publicKey, GNUTLS_X509_FMT_DER, &encoded), "encode a public key")
    } catch {
      gnutls_privkey_deinit(handle)
      gnutls_x509_privkey_deinit(exported)
      throw error
    }
    guard let handle, let exported else { throw CodedError(.inputOutput, "GnuTLS has no memory for a private key") }
    self.handle = handle
    self.exported = exported
    self.publicKey = Array(UnsafeBufferPointer(start: encoded.data, count: Int(encoded.size)))
    diorama_gnutls_free(encoded.data)
  }

  deinit {
    // The imported form first, which refers to the other one.
    gnutls_privkey_deinit(handle)
    gnutls_x509_privkey_deinit(exported)
  }

  /// The key as PEM, without a password.
  var pem: [UInt8] {
    get throws(CodedError) {
      var encoded = gnutls_datum_t()
      try check(gnutls_x509_privkey_export2(exported, GNUTLS_X509_FMT_PEM, &encoded), "encode a private key")
      defer { diorama_gnutls_free(encoded.data) }
      return Array(UnsafeBufferPointer(start: encoded.data, count: Int(encoded.size)))
    }
  }

  /// Returns the signature as DER, made with SHA-256.
  func sign(_ message: [UInt8]) throws(CodedError) -> [UInt8] {
    var signature = gnutls_datum_t()
    let code = withDatum(message) {
      gnutls_privkey_sign_data2(handle, GNUTLS_SIGN_ECDSA_SHA256, 0, &$0, &signature)
    }
    try check(code, "sign a certificate")
    defer { diorama_gnutls_free(signature.data) }
    return Array(UnsafeBufferPointer(start: signature.data, count: Int(signature.size)))
  }
}

/// Returns the digest of bytes.
///
/// - Throws: `CodedError` if GnuTLS does not offer the algorithm.
func digest(_ algorithm: gnutls_digest_algorithm_t, of bytes: [UInt8]) throws(CodedError) -> [UInt8] {
  var digest = [UInt8](repeating: 0, count: Int(gnutls_hash_get_len(algorithm)))
  try check(gnutls_hash_fast(algorithm, bytes, bytes.count, &digest), "compute a digest")
  return digest
}

private func withDatum<Result>(_ bytes: [UInt8], _ body: (inout gnutls_datum_t) -> Result) -> Result {
  var bytes = bytes
  return bytes.withUnsafeMutableBufferPointer { bytes in
    var datum = gnutls_datum_t(data: bytes.baseAddress, size: UInt32(bytes.count))
    return body(&datum)
  }
}

private func check(_ code: Int32, _ action: String) throws(CodedError) {
  guard code < 0 else { return }
  throw CodedError(.inputOutput, "GnuTLS cannot \(action): \(String(cString: gnutls_strerror(code)))")
}
