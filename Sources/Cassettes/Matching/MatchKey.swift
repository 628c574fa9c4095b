/// What two requests have in common exactly when they count as the same: 128 bits of hash over what matters of them.
///
/// Equal keys are taken for equal requests: with a hundred thousand interactions the odds of a mistake are
/// below 1 in 10²⁸. ``MatchKeyMaker`` makes keys; they are good within one version of it and never stored.
package struct MatchKey: Hashable, Sendable {
  let high: UInt64
  let low: UInt64

  init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  init(_ words: (UInt64, UInt64)) { self.init(high: words.0, low: words.1) }

  // Half of a good hash is a good hash.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(low)
  }
}
