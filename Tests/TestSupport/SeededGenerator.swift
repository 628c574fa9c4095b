package import Basics

/// SplitMix64: random test values that are the same in every run.
package struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  package init(_ seed: UInt64) {
    state = seed
  }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }

  package mutating func upTo(_ bound: Int) -> Int {
    Int.random(in: 0...bound, using: &self)
  }

  package mutating func pick<Choice>(_ choices: [Choice]) -> Choice {
    choices[upTo(choices.count - 1)]
  }

  /// Text from all of Unicode, including control characters.
  package mutating func text(upTo length: Int) -> String {
    var scalars = String.UnicodeScalarView()
    for _ in 0..<upTo(length) {
      let highest = pick([0x7F, 0x7F, 0x7FF, 0xFFFF, 0x10FFFF])
      if let scalar = Unicode.Scalar(UInt32(upTo(highest))) { scalars.append(scalar) }
    }
    return String(scalars)
  }

  package mutating func json(depth: Int) -> JSON {
    switch upTo(depth > 0 ? 6 : 4) {
    case 0: .null
    case 1: .bool(upTo(1) == 0)
    case 2: .number(pick(["0", "-0.00", "1e-7", "12345678901234567890", "3.140"]))
    case 3, 4: .string(text(upTo: 30))
    case 5: .array((0..<upTo(4)).map { _ in json(depth: depth - 1) })
    default: .object((0..<upTo(4)).map { _ in JSON.Member(text(upTo: 12), json(depth: depth - 1)) })
    }
  }
}
