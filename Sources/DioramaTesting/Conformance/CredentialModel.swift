package import Diorama
package import Foundation

/// What a credential store is to do, in the fewest words: no threads, no faults, one call after the other.
package struct CredentialModel: Sendable, Equatable {
  package private(set) var secrets: [CredentialKey: Data] = [:]

  package init() {}

  /// Does one call.
  package mutating func apply(_ operation: CredentialOperation) -> CredentialOutcome {
    do {
      try operation.key?.validate()
    } catch {
      return .refused(error)
    }
    switch operation {
    case .add(let secret, let key):
      guard secrets[key] == nil else { return .refused(CredentialError(.duplicate, for: key)) }
      secrets[key] = secret
      return .done
    case .read(let key):
      guard let secret = secrets[key] else { return .refused(CredentialError(.notFound, for: key)) }
      return .secret(secret)
    case .update(let secret, let key):
      guard secrets[key] != nil else { return .refused(CredentialError(.notFound, for: key)) }
      secrets[key] = secret
      return .done
    case .set(let secret, let key):
      secrets[key] = secret
      return .done
    case .delete(let key):
      guard secrets.removeValue(forKey: key) != nil else { return .refused(CredentialError(.notFound, for: key)) }
      return .done
    case .keys(let service):
      guard let service else { return .keys(secrets.keys.sorted()) }
      return .keys(secrets.keys.filter { $0.service.utf8.elementsEqual(service.utf8) }.sorted())
    }
  }
}
