import Foundation

#if canImport(Darwin)
  import CryptoKit
#else
  import CLibUUID
#endif

/// An endless sequence of bytes from which values are made.
protocol ByteRow {
  mutating func next() -> UInt8
}

extension ByteRow {
  /// Eight bytes, most significant first.
  mutating func nextEight() -> UInt64 {
    var number: UInt64 = 0
    for _ in 0..<8 { number = number << 8 | UInt64(next()) }
    return number
  }

  /// A number in 0…highest, uniformly distributed: rejects eight-byte numbers that would cause a bias.
  mutating func number(upTo highest: UInt64) -> UInt64 {
    guard highest < .max else { return nextEight() }
    let width = highest + 1
    // 2⁶⁴ mod width, computed from 2⁶⁴ − 1 because 2⁶⁴ does not fit into 64 bits.
    let surplus = (UInt64.max % width + 1) % width
    var number = nextEight()
    while number > UInt64.max - surplus { number = nextEight() }
    return number % width
  }
}

/// The bytes for a seed, key and ordinal, by the algorithm `uuid5-v1`.
///
/// For i = 0, 1, 2, … the bytes of the version 5 UUID of the name `key ␟ ordinal ␟ i` in the seed's namespace, without
/// bytes 6 and 8, which hold the version and variant: fourteen bytes a block.
struct DerivedBytes: ByteRow, Sendable {
  private let namespace: UUID
  /// The key, the ordinal and the number of the block.
  private var name: [UInt8]
  private let prefixCount: Int
  private var blocks = 0
  private var block: UUID
  /// The index of the next of the block's sixteen bytes.
  private var position = 16

  /// - Parameters:
  ///   - namespace: `S`, the seed's namespace.
  ///   - key: the key of the value.
  ///   - ordinal: how often the key was used before.
  init(namespace: UUID, key: String, ordinal: Int) {
    self.namespace = namespace
    name = Array(key.utf8)
    name.append(0x1F)
    name += String(ordinal).utf8
    name.append(0x1F)
    prefixCount = name.count
    block = namespace
  }

  mutating func next() -> UInt8 {
    if position == 16 {
      name.removeLast(name.count - prefixCount)
      name += String(blocks).utf8
      block = UUID5.uuid(namespace: namespace, name: name)
      blocks += 1
      position = 0
    }
    let byte = withUnsafeBytes(of: block.uuid) { $0[position] }
    position += 1
    // Bytes 6 and 8 hold the version and variant.
    if position == 6 || position == 8 { position += 1 }
    return byte
  }
}

/// Random bytes from the system.
struct SystemBytes: ByteRow {
  private var generator = SystemRandomNumberGenerator()
  private var word: UInt64 = 0
  private var left = 0

  mutating func next() -> UInt8 {
    if left == 0 {
      // Eight bytes a call, because the system call is the expensive part.
      word = generator.next()
      left = 8
    }
    defer {
      word >>= 8
      left -= 1
    }
    return UInt8(truncatingIfNeeded: word)
  }
}

/// Name-based UUIDs, version 5 (RFC 9562, section 5.5): the SHA-1 of a namespace and a name.
enum UUID5 {
  /// The UUID of a name, with version and variant set.
  ///
  /// - Parameters:
  ///   - namespace: any UUID.
  ///   - name: any bytes, usually UTF-8.
  /// - Returns: the UUID.
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

  /// The same UUID, marked as version 4.
  static func markedVersion4(_ uuid: UUID) -> UUID {
    var bytes = uuid.uuid
    bytes.6 = bytes.6 & 0x0F | 0x40
    return UUID(uuid: bytes)
  }
}
