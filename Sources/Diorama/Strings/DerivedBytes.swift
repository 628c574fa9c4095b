import Foundation

/// Bytes without end, from which values are made.
protocol ByteRow {
  mutating func next() -> UInt8
}

extension ByteRow {
  /// Eight bytes, the first as the most significant.
  mutating func nextEight() -> UInt64 {
    var number: UInt64 = 0
    for _ in 0..<8 { number = number << 8 | UInt64(next()) }
    return number
  }

  /// One of 0…highest, each as likely as the others: eight bytes at a time, skipped where they would favour some.
  mutating func number(upTo highest: UInt64) -> UInt64 {
    guard highest < .max else { return nextEight() }
    let width = highest + 1
    // 2⁶⁴ mod width, which 64 bits can only say by way of 2⁶⁴ − 1.
    let surplus = (UInt64.max % width + 1) % width
    var number = nextEight()
    while number > UInt64.max - surplus { number = nextEight() }
    return number % width
  }
}

/// The row of bytes for a seed, key and ordinal: `INTERFACE.md`, "Strings", "Bytes".
struct DerivedBytes: ByteRow, Sendable {
  private let namespace: UUID
  /// Key, ordinal and, behind them, the number of the block.
  private var name: [UInt8]
  private let prefixCount: Int
  private var blocks = 0
  private var block: UUID
  /// The next of the block's sixteen bytes.
  private var position = 16

  /// - Parameters:
  ///   - namespace: `S`, the name space of the seed.
  ///   - key: what the value is for.
  ///   - ordinal: which use of the key.
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
    // Bytes 6 and 8 carry version and variant.
    if position == 6 || position == 8 { position += 1 }
    return byte
  }
}

/// Really random bytes.
struct SystemBytes: ByteRow {
  private var generator = SystemRandomNumberGenerator()
  private var word: UInt64 = 0
  private var left = 0

  mutating func next() -> UInt8 {
    if left == 0 {
      // One call to the system for eight bytes: it is the call that costs.
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
