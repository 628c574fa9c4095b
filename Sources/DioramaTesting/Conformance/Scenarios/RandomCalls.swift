import Diorama
import Foundation

extension Scenario {
  /// Calls in an order that nobody has thought of; the same in each run.
  static let random = (1...2).map { seed in
    Scenario("random calls, row \(seed)") { trial in
      var generator = SplitMix64(state: UInt64(seed))
      let groups: [String?] = [nil, nil] + trial.groups
      for _ in 0..<150 {
        let service = trial.service + ["", "-b"][generator.below(2)]
        let key = CredentialKey(
          service: service, account: ["a", "b", "c"][generator.below(3)], group: groups[generator.below(groups.count)])
        let secret = Data((0..<generator.below(20)).map { _ in UInt8(generator.below(256)) })
        switch generator.below(10) {
        case 0, 1: trial.run(.add(secret, key))
        case 2, 3: trial.run(.update(secret, key))
        case 4: trial.run(.set(secret, key))
        case 5, 6: trial.run(.delete(key))
        case 7, 8: trial.run(.read(key))
        default: trial.run(.keys([nil, service][generator.below(2)]))
        }
      }
    }
  }
}

/// Sebastiano Vigna's SplitMix64: a few lines that give the same numbers everywhere.
package struct SplitMix64: Sendable {
  private var state: UInt64

  package init(state: UInt64) { self.state = state }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Evenly enough for choices among a few.
  package mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }
}
