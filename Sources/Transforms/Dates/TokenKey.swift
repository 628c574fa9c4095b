package import Basics
import Cassettes
import CGnuTLS
import LaunchContract

/// A key that signs tokens with GnuTLS: a secret for HS256, HS384 and HS512, or a private key for RS, PS and ES with
/// the same sizes (RFC 7518, section 3).
package final class TokenKey: @unchecked Sendable {
  private enum Kind {
    case secret([UInt8])
    case privateKey(gnutls_privkey_t, algorithm: gnutls_pk_algorithm_t)
  }

  private let kind: Kind
  private let keyID: String?

  /// - Parameters:
  ///   - text: a private key in PEM format, or a secret.
  ///   - keyID: restricts the key to tokens with this key ID; nil for all tokens.
  /// - Throws: `CodedError` if the PEM text contains no private key, or the key is empty.
  package init(_ text: String, keyID: String?) throws(CodedError) {
    self.keyID = keyID
    guard text.contains("-----BEGIN ") else {
      // A final line break belongs to the file, not to the secret.
      let secret = text.hasSuffix("\n") ? String(text.dropLast()) : text
      guard !secret.isEmpty else { throw CodedError(.broken, "the key is empty") }
      kind = .secret(Array(secret.utf8))
      return
    }
    var key: gnutls_privkey_t?
    guard gnutls_privkey_init(&key) == 0, let key else { throw CodedError(.broken, "GnuTLS has no room for a key") }
    var bytes = Array(text.utf8)
    let code = bytes.withUnsafeMutableBufferPointer { bytes in
      var datum = gnutls_datum_t(data: bytes.baseAddress, size: UInt32(bytes.count))
      return gnutls_privkey_import_x509_raw(key, &datum, GNUTLS_X509_FMT_PEM, nil, 0)
    }
    guard code == 0 else {
      gnutls_privkey_deinit(key)
      throw CodedError(.broken, "it is no private key as PEM: \(String(cString: gnutls_strerror(code)))")
    }
    let algorithm = gnutls_privkey_get_pk_algorithm(key, nil)
    kind = .privateKey(key, algorithm: gnutls_pk_algorithm_t(rawValue: UInt32(max(0, algorithm))))
  }

  deinit {
    if case .privateKey(let key, _) = kind { gnutls_privkey_deinit(key) }
  }

  /// Returns the signature in token format, or nil if this key does not apply.
  package func sign(_ algorithm: String, keyID: String?, _ message: [UInt8]) -> [UInt8]? {
    guard self.keyID == nil || self.keyID == keyID, algorithm.utf8.count == 5 else { return nil }
    let size = algorithm.suffix(3)
    switch (kind, algorithm.prefix(2)) {
    case (.secret(let secret), "HS"): return Self.code(size, secret, message)
    case (.privateKey(let key, GNUTLS_PK_RSA), "RS"): return Self.signature(Self.rsa[size], key, message)
    case (.privateKey(let key, GNUTLS_PK_RSA), "PS"), (.privateKey(let key, GNUTLS_PK_RSA_PSS), "PS"):
      return Self.signature(Self.pss[size], key, message)
    case (.privateKey(let key, GNUTLS_PK_ECDSA), "ES"):
      guard let half = Self.halves[size] else { return nil }
      return Self.signature(Self.ecdsa[size], key, message).flatMap { Self.raw($0, half: half) }
    default: return nil
    }
  }

  private static func code(_ size: Substring, _ secret: [UInt8], _ message: [UInt8]) -> [UInt8]? {
    guard let algorithm = macs[size] else { return nil }
    var code = [UInt8](repeating: 0, count: Int(gnutls_hmac_get_len(algorithm)))
    return gnutls_hmac_fast(algorithm, secret, secret.count, message, message.count, &code) == 0 ? code : nil
  }

  private static func signature(
    _ algorithm: gnutls_sign_algorithm_t?, _ key: gnutls_privkey_t, _ message: [UInt8]
  ) -> [UInt8]? {
    guard let algorithm else { return nil }
    var message = message
    return message.withUnsafeMutableBufferPointer { message in
      var data = gnutls_datum_t(data: message.baseAddress, size: UInt32(message.count))
      var signature = gnutls_datum_t()
      // Deterministic signatures if GnuTLS supports them for this key (RFC 6979).
      let reproducible = UInt32(GNUTLS_PRIVKEY_FLAG_REPRODUCIBLE.rawValue)
      guard
        gnutls_privkey_sign_data2(key, algorithm, reproducible, &data, &signature) == 0
          || gnutls_privkey_sign_data2(key, algorithm, 0, &data, &signature) == 0
      else { return nil }
      defer { diorama_gnutls_free(signature.data) }
      return Array(UnsafeBufferPointer(start: signature.data, count: Int(signature.size)))
    }
  }

  /// Converts an ECDSA signature from DER to the token format: both numbers, each with a fixed length.
  private static func raw(_ signature: [UInt8], half: Int) -> [UInt8]? {
    var signature = signature
    return signature.withUnsafeMutableBufferPointer { bytes in
      var data = gnutls_datum_t(data: bytes.baseAddress, size: UInt32(bytes.count))
      var r = gnutls_datum_t()
      var s = gnutls_datum_t()
      guard gnutls_decode_rs_value(&data, &r, &s) == 0 else { return nil }
      defer {
        diorama_gnutls_free(r.data)
        diorama_gnutls_free(s.data)
      }
      var result: [UInt8] = []
      for number in [r, s] {
        let digits = UnsafeBufferPointer(start: number.data, count: Int(number.size)).drop { $0 == 0 }
        guard digits.count <= half else { return nil }
        result += [UInt8](repeating: 0, count: half - digits.count) + digits
      }
      return result
    }
  }

  private static let macs: [Substring: gnutls_mac_algorithm_t] = [
    "256": GNUTLS_MAC_SHA256, "384": GNUTLS_MAC_SHA384, "512": GNUTLS_MAC_SHA512,
  ]
  private static let rsa: [Substring: gnutls_sign_algorithm_t] = [
    "256": GNUTLS_SIGN_RSA_SHA256, "384": GNUTLS_SIGN_RSA_SHA384, "512": GNUTLS_SIGN_RSA_SHA512,
  ]
  private static let pss: [Substring: gnutls_sign_algorithm_t] = [
    "256": GNUTLS_SIGN_RSA_PSS_RSAE_SHA256, "384": GNUTLS_SIGN_RSA_PSS_RSAE_SHA384,
    "512": GNUTLS_SIGN_RSA_PSS_RSAE_SHA512,
  ]
  private static let ecdsa: [Substring: gnutls_sign_algorithm_t] = [
    "256": GNUTLS_SIGN_ECDSA_SHA256, "384": GNUTLS_SIGN_ECDSA_SHA384, "512": GNUTLS_SIGN_ECDSA_SHA512,
  ]
  private static let halves: [Substring: Int] = ["256": 32, "384": 48, "512": 66]
}
