import Foundation
import LaunchContract

extension RandomStrings {
  /// A generator of random numbers, for an API that asks for one.
  ///
  /// ```swift
  /// var generator = try controls.strings.generator("noise")
  /// let noise = (0..<1_000).map { _ in Double(generator.next() >> 11) * 0x1p-53 }
  /// ```
  ///
  /// What ``Generator/next()`` gives is specified to the bit. What Swift's own `random(in:using:)` and
  /// `shuffled(using:)` make of it may change with Swift's version: for what is to hold, take
  /// ``integer(_:in:)``, ``choice(_:from:)`` and ``shuffle(_:of:)``.
  ///
  /// - Parameter key: what it is for. Each call is a use of the key and gives another generator.
  /// - Returns: a generator of its own; a copy of it goes on with the same numbers.
  /// - Throws: ``DioramaError``, as ``string(_:length:alphabet:)`` does.
  public func generator(_ key: String) throws(DioramaError) -> Generator {
    guard let draw = try draw(key, .generator) else { return Generator(row: nil) }
    guard let namespace = UUID(uuidString: draw.value) else { throw draw.unusable(as: "name space of a generator") }
    return try StringDerivation(namespace: namespace).generator(key: draw.key, ordinal: draw.ordinal)
  }

  /// Random numbers of 64 bits, without end; ``RandomStrings/generator(_:)`` makes it.
  public struct Generator: RandomNumberGenerator, Sendable {
    /// Nil: the system's.
    private var row: DerivedBytes?

    init(row: DerivedBytes?) {
      self.row = row
    }

    /// The next number.
    ///
    /// Live it is the system's. Under a contract the calls take the bytes of (seed, key, ordinal) in turn, eight each,
    /// the first of the eight as the most significant; nothing is skipped. These bytes are those of the algorithm
    /// `uuid5-v1`: for i = 0, 1, 2, … the sixteen bytes of the version 5 UUID of the name `key ␟ ordinal ␟ i` in the
    /// name space S of the seed, without bytes 6 and 8 (counted from 0), fourteen a block. So call number n, from 0,
    /// gives bytes 8n to 8n + 7. The recording keeps S, by which a replay goes whatever its seed.
    public mutating func next() -> UInt64 {
      if let number = row?.nextEight() { return number }
      var system = SystemRandomNumberGenerator()
      return system.next()
    }
  }
}

extension StringDerivation {
  /// A generator; ``RandomStrings/Generator/next()`` says what it gives.
  ///
  /// - Parameters:
  ///   - key: not empty, without control characters.
  ///   - ordinal: counts the uses of the key, from 0.
  /// - Returns: the generator.
  /// - Throws: ``DioramaError`` of kind `invalidRequest`.
  package func generator(key: String, ordinal: Int) throws(DioramaError) -> RandomStrings.Generator {
    try Self.check(key: key, ordinal: ordinal)
    return RandomStrings.Generator(row: DerivedBytes(namespace: S, key: key, ordinal: ordinal))
  }
}
