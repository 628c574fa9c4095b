package import Basics
import CGnuTLS

/// SHA-256 of bytes that arrive in parts, by GnuTLS.
package final class ContentDigest: @unchecked Sendable {
  private var handle: gnutls_hash_hd_t?

  init() throws(CodedError) {
    let code = gnutls_hash_init(&handle, GNUTLS_DIG_SHA256)
    guard code == 0 else {
      throw CodedError(.inputOutput, "GnuTLS has no SHA-256 (code \(code)); install a complete libgnutls")
    }
  }

  deinit {
    // Without a place for the digest, GnuTLS only frees the handle.
    if let handle { gnutls_hash_deinit(handle, nil) }
  }

  /// The digest of bytes in hexadecimal.
  package static func hexadecimal(of bytes: [UInt8]) throws(CodedError) -> String {
    let digest = try ContentDigest()
    bytes.withUnsafeBytes(digest.update)
    return digest.finish()
  }

  func update(_ bytes: UnsafeRawBufferPointer) {
    guard let handle else { return }
    _ = gnutls_hash(handle, bytes.baseAddress, bytes.count)
  }

  /// The digest in hexadecimal. Call it once; later calls return an empty string.
  func finish() -> String {
    guard let finished = handle.take() else { return "" }
    var digest = [UInt8](repeating: 0, count: 32)
    gnutls_hash_deinit(finished, &digest)
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
