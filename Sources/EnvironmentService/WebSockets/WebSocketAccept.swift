import CGnuTLS
import Foundation
import HTTPMessages

extension WebSocketHandshake {
  /// The value of `Sec-WebSocket-Accept` for a key: its SHA-1 with a suffix, in Base64 (RFC 6455, 4.2.2).
  ///
  /// Not a security function.
  static func accept(_ key: String) -> String {
    let text = Array((key + suffix).utf8)
    var digest = [UInt8](repeating: 0, count: 20)
    _ = text.withUnsafeBytes {
      gnutls_hash_fast(GNUTLS_DIG_SHA1, $0.baseAddress, $0.count, &digest)
    }
    return Data(digest).base64EncodedString()
  }
}
