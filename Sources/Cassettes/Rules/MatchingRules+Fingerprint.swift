import LaunchContract

extension MatchingRules {
  /// The same text for rules and an order by which the same requests count as the same, from one run to the next; nil for
  /// none and ``PlaybackOrder/request``. Notes do not count.
  package var fingerprint: String? {
    var meant = self
    for index in meant.rules.indices { meant.rules[index].note = nil }
    if meant.order == .request { meant.order = nil }
    // A rule is made of texts and flags, which JSON can hold.
    guard meant != MatchingRules(), let document = try? ContractJSON.encode(meant) else { return nil }
    var hash = SipHash()
    [UInt8](document).withUnsafeBytes { hash.append($0) }
    let (high, low) = hash.finish()
    return String(high, radix: 16) + "-" + String(low, radix: 16)
  }
}
