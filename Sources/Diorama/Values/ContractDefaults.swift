#if DEBUG || Controlled
  import Foundation
  import LaunchContract

  extension LaunchContract {
    /// Puts the contract's user defaults into an argument domain, where they outrank what the app has stored and what
    /// it stores later; pairs among the app's arguments make no difference then.
    ///
    /// - Throws: ``ContractError`` naming a user default that cannot be one.
    func applyDefaults(to defaults: () -> UserDefaults) throws(ContractError) {
      guard !self.defaults.isEmpty else { return }
      let values = try userDefaults().mapValues(\.object)
      let target = defaults()
      let domain = target.volatileDomain(forName: UserDefaults.argumentDomain)
      // On Apple's platforms a domain that exists may not be set.
      target.removeVolatileDomain(forName: UserDefaults.argumentDomain)
      target.setVolatileDomain(domain.merging(values) { $1 }, forName: UserDefaults.argumentDomain)
    }
  }

  extension PropertyList {
    /// As Foundation has it. Numbers are boxed, so that `integer(forKey:)` and `double(forKey:)` take either.
    fileprivate var object: Any {
      switch self {
      case .bool(let value): value
      case .int(let value): NSNumber(value: value)
      case .double(let value): NSNumber(value: value)
      case .string(let value): value
      case .date(let value): value
      case .data(let value): value
      case .array(let values): values.map(\.object)
      case .dictionary(let members): members.mapValues(\.object)
      }
    }
  }
#endif
