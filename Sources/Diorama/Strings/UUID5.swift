import Foundation

#if canImport(Darwin)
  import CryptoKit
#else
  import CLibUUID
#endif

/// Name-based UUIDs, version 5 of RFC 9562, 5.5: the SHA-1 of a name space and a name.
enum UUID5 {
  /// The UUID for a name in a name space.
  ///
  /// - Parameters:
  ///   - namespace: any UUID.
  ///   - name: any bytes; of a text, its UTF-8.
  /// - Returns: the UUID, version and variant set.
  static func uuid(namespace: UUID, name: [UInt8]) -> UUID {
    var result = namespace.uuid
    withUnsafeBytes(of: namespace.uuid) { space in
      withUnsafeMutableBytes(of: &result) { out in
        #if canImport(Darwin)
          out.copyBytes(from: Array(Insecure.SHA1.hash(data: Array(space) + name)).prefix(16))
          out[6] = out[6] & 0x0F | 0x50
          out[8] = out[8] & 0x3F | 0x80
        #else
          name.withUnsafeBytes { name in
            diorama_uuid_sha1(out.baseAddress, space.baseAddress, name.baseAddress, name.count)
          }
        #endif
      }
    }
    return UUID(uuid: result)
  }

  /// The same UUID with 4 as its version digit.
  static func markedVersion4(_ uuid: UUID) -> UUID {
    var bytes = uuid.uuid
    bytes.6 = bytes.6 & 0x0F | 0x40
    return UUID(uuid: bytes)
  }
}
