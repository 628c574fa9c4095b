import Diorama
import Foundation

extension LinearizabilityChecker.Step {
  /// What a call means for a key; nil where it means nothing, or cannot be.
  init?(_ call: History.Call, about key: CredentialKey) {
    let effect: Effect
    // The one error that the call may end with.
    let refusal: CredentialError.Kind?
    switch call.operation {
    case .add(let secret, _): (effect, refusal) = (.add(secret), .duplicate)
    case .update(let secret, _): (effect, refusal) = (.update(secret), .notFound)
    case .set(let secret, _): (effect, refusal) = (.set(secret), nil)
    case .delete: (effect, refusal) = (.delete, .notFound)
    case .read: (effect, refusal) = (.read, .notFound)
    case .keys: (effect, refusal) = (.list, nil)
    }
    var found = true
    var value: Data?
    switch call.outcome {
    case .done: break
    case .secret(let secret): value = secret
    case .keys(let keys): found = keys.contains(key)
    case .refused(let error):
      guard error.kind == refusal else { return nil }
      found = false
    }
    self.init(begin: call.begin, end: call.end, effect: effect, found: found, value: value)
  }
}
