import Diorama
import Foundation
import LaunchContract
import Testing

@Suite("Random values with sixteen threads and a hundred keys")
struct InterleavingTests {
  private static let threads = 16
  private static let keys = (0..<100).map { "key \($0)" }
  /// The draws of a thread from a key in a round.
  private static let draws = 2
  /// `DIORAMA_ROUNDS` makes a longer run.
  private static let rounds = ProcessInfo.processInfo.environment["DIORAMA_ROUNDS"].flatMap { Int($0) } ?? 5

  /// A value of the key's kind.
  private static func draw(_ key: Int, _ strings: RandomStrings) throws -> String {
    switch key % 5 {
    case 0: return try strings.string(keys[key], length: 12)
    case 1: return try strings.uuid(keys[key]).uuidString.lowercased()
    case 2:
      let integer: Int64 = try strings.integer(keys[key], in: .min ... .max)
      return String(integer)
    case 3: return try strings.email(keys[key])
    default: return try strings.string(keys[key], length: 20, alphabet: "äöü🙂")
    }
  }

  private static func parameters(_ key: Int) -> StringParameters {
    switch key % 5 {
    case 0: .string(length: 12, alphabet: RandomStrings.lettersAndDigits)
    case 1: .uuid(version4: false)
    case 2: .integer(low: .min, high: .max)
    case 3: .email(length: 12, domain: "example.com")
    default: .string(length: 20, alphabet: "äöü🙂")
    }
  }

  /// The values of each key, by ordinal.
  private static func expected() throws -> [[String]] {
    let derivation = StringDerivation(seed: "recording-2018")
    return try keys.indices.map { key in
      try (0..<(threads * draws)).map { try derivation.value(key: keys[key], ordinal: $0, parameters(key)) }
    }
  }

  @Test("are the same for each key and ordinal in any interleaving", arguments: ["derive", "replay"])
  func same(policy: String) throws {
    let expected = try Self.expected()
    let ordinals = expected.map { values in
      Dictionary(uniqueKeysWithValues: values.enumerated().map { ($0.element, $0.offset) })
    }
    let entries = Dictionary(
      uniqueKeysWithValues: Self.keys.indices.map { key in
        (Self.keys[key], expected[key].map { StringEntry(value: $0, parameters: Self.parameters(key)) })
      })
    let contract = LaunchContract.Strings(
      policy: policy == "derive" ? .derive : .replay, entries: policy == "derive" ? nil : entries)
    for _ in 0..<Self.rounds {
      let strings = try fixture(contract).strings
      // The values of each thread, by key and in order.
      let drawn = Collected<[[String]]>()
      DispatchQueue.concurrentPerform(iterations: Self.threads) { _ in
        var values = [[String]](repeating: [], count: Self.keys.count)
        for key in (0..<(Self.keys.count * Self.draws)).map({ $0 % Self.keys.count }).shuffled() {
          if let value = try? Self.draw(key, strings) { values[key].append(value) }
        }
        drawn.add(values)
      }
      for key in Self.keys.indices {
        let places = drawn.values.map { thread in thread[key].map { ordinals[key][$0] ?? -1 } }
        let isWhole = places.joined().sorted() == Array(0..<(Self.threads * Self.draws))
        let isInOrder = places.allSatisfy { $0 == $0.sorted() }
        try #require(isWhole && isInOrder, "\(Self.keys[key]): \(places)")
      }
    }
  }
}
