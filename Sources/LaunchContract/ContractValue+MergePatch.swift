extension [String: ContractValue] {
  /// Applies a merge patch (RFC 7396): a null takes a member away, an object is merged into one that is there, anything
  /// else takes the old value's place.
  package mutating func merge(patch: [String: ContractValue]) {
    for (name, change) in patch {
      switch change {
      case .null: self[name] = nil
      case .object(let members):
        var target: [String: ContractValue] = [:]
        if case .object(let old) = self[name] { target = old }
        target.merge(patch: members)
        self[name] = .object(target)
      default: self[name] = change
      }
    }
  }
}
