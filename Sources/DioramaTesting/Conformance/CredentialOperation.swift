package import Diorama
package import Foundation

/// One call of a credential store.
package enum CredentialOperation: Sendable, Equatable, CustomStringConvertible {
  case add(Data, CredentialKey)
  case read(CredentialKey)
  case update(Data, CredentialKey)
  case set(Data, CredentialKey)
  case delete(CredentialKey)
  case keys(String?)

  /// The key; nil for `keys`.
  package var key: CredentialKey? {
    switch self {
    case .add(_, let key), .read(let key), .update(_, let key), .set(_, let key), .delete(let key): key
    case .keys: nil
    }
  }

  /// The secret to write.
  package var secret: Data? {
    switch self {
    case .add(let secret, _), .update(let secret, _), .set(let secret, _): secret
    case .read, .delete, .keys: nil
    }
  }

  package var description: String {
    switch self {
    case .add(let secret, let key): "add \(secret.count) bytes for \(key)"
    case .read(let key): "read \(key)"
    case .update(let secret, let key): "update to \(secret.count) bytes for \(key)"
    case .set(let secret, let key): "set \(secret.count) bytes for \(key)"
    case .delete(let key): "delete \(key)"
    case .keys(let service): service.map { "list the keys of service \($0.debugDescription)" } ?? "list all keys"
    }
  }

  /// Calls the store.
  package func perform(on store: any CredentialStore) -> CredentialOutcome {
    do {
      switch self {
      case .add(let secret, let key): try store.add(secret, for: key)
      case .read(let key): return .secret(try store.read(key))
      case .update(let secret, let key): try store.update(secret, for: key)
      case .set(let secret, let key): try store.set(secret, for: key)
      case .delete(let key): try store.delete(key)
      case .keys(let service): return .keys(try store.keys(service: service))
      }
      return .done
    } catch {
      return .refused(error)
    }
  }
}

/// The result of a call.
package enum CredentialOutcome: Sendable, CustomStringConvertible {
  case done
  case secret(Data)
  case keys([CredentialKey])
  case refused(CredentialError)

  package var description: String {
    switch self {
    case .done: "success"
    case .secret(let secret) where secret.count <= 16: "the secret \(Array(secret))"
    case .secret(let secret): "a secret of \(secret.count) bytes that begins with \(Array(secret.prefix(16)))"
    case .keys(let keys): keys.isEmpty ? "no keys" : "the keys [\(keys.map { "\($0)" }.joined(separator: ", "))]"
    case .refused(let error): "the error \(error.kind) (\(error.description))"
    }
  }

  /// Whether two results are equal. Errors are compared by kind; each store words its own descriptions.
  package func agrees(with other: CredentialOutcome) -> Bool {
    switch (self, other) {
    case (.done, .done): true
    case (.secret(let one), .secret(let other)): one == other
    case (.keys(let one), .keys(let other)): one == other
    case (.refused(let one), .refused(let other)): one.kind == other.kind
    default: false
    }
  }
}
