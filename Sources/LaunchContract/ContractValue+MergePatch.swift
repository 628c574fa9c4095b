extension [String: ContractValue] {
  /// Applies a merge patch (RFC 7396): null removes a member, an object is merged into an existing one, and any other value
  /// replaces the old one.
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
