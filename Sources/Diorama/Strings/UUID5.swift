import Foundation

#if canImport(Darwin)
  import CryptoKit
#else
  import CLibUUID
#endif

/// Name-based UUIDs, version 5 of RFC 9562, 5.5: the SHA-1 of a name space and a name.
enum UUID5 {
  /// The sixteen bytes of the UUID for a name in a name space.
  ///
  /// - Parameters:
  ///   - namespace: sixteen bytes.
  ///   - name: any bytes; of a text, its UTF-8.
  /// - Returns: sixteen bytes, version and variant set.
  static func bytes(namespace: [UInt8], name: [UInt8]) -> [UInt8] {
    precondition(namespace.count == 16)
    #if canImport(Darwin)
      var digest = Array(Insecure.SHA1.hash(data: namespace + name).prefix(16))
      digest[6] = digest[6] & 0x0F | 0x50
      digest[8] = digest[8] & 0x3F | 0x80
      return digest
    #else
      return [UInt8](unsafeUninitializedCapacity: 16) { out, count in
        name.withUnsafeBytes { name in
          diorama_uuid_sha1(out.baseAddress, namespace, name.baseAddress, name.count)
        }
        count = 16
      }
    #endif
  }

  /// Sixteen bytes as Foundation has them.
  static func uuid(_ bytes: [UInt8]) -> UUID {
    var value = UUID().uuid
    withUnsafeMutableBytes(of: &value) { $0.copyBytes(from: bytes.prefix(16)) }
    return UUID(uuid: value)
  }
}
