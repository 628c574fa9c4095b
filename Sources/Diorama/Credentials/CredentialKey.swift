/// Which credential: the service that it opens, whose it is, and which group of apps shares it.
///
/// Two keys are the same when all three agree byte by byte in UTF-8, upper and lower case apart: the identity of the
/// keychain's generic passwords. (The keychain's fourth part is left out: a synchronizable item comes and goes by
/// what other devices do, and no test can hold that still.)
///
/// ```swift
/// let key = CredentialKey(service: "clinic", account: "auth-token")
/// try controls.credentials.add(Data("…".utf8), for: key)
/// ```
public struct CredentialKey: Sendable {
  /// What the credential opens; any text without U+0000, also none.
  public var service: String
  /// Whose it is; any text without U+0000, also none.
  public var account: String
  /// The access group that shares it; nil for the app's own.
  ///
  /// A group is a place of its own: what was added with one is not found without it.
  public var group: String?

  /// Names a credential.
  ///
  /// - Parameters:
  ///   - service: what it opens.
  ///   - account: whose it is.
  ///   - group: the access group that shares it; nil for the app's own.
  public init(service: String, account: String, group: String? = nil) {
    self.service = service
    self.account = account
    self.group = group
  }

  /// Makes sure that every store can hold this key: a store calls it first in each of its functions.
  ///
  /// - Throws: ``CredentialError`` of kind `invalid`: a part holds U+0000, or the group is there but empty.
  public func validate() throws(CredentialError) {
    for part in [service, account, group ?? ""] where part.utf8.contains(0) {
      throw CredentialError(.invalid, "\(self): no part of a key may hold U+0000")
    }
    if let group, group.isEmpty {
      throw CredentialError(.invalid, "\(self): a group needs a name; give nil for the app's own")
    }
  }
}

// By bytes, as stores compare: to Swift's strings the two ways to write é are equal.
extension CredentialKey: Hashable, Comparable {
  /// Whether service, account and group agree byte by byte.
  public static func == (one: CredentialKey, other: CredentialKey) -> Bool {
    guard (one.group == nil) == (other.group == nil) else { return false }
    return one.account.utf8.elementsEqual(other.account.utf8) && one.service.utf8.elementsEqual(other.service.utf8)
      && (one.group ?? "").utf8.elementsEqual((other.group ?? "").utf8)
  }

  /// By service, then account, then group, the app's own first; byte by byte.
  public static func < (one: CredentialKey, other: CredentialKey) -> Bool {
    for (part, otherPart) in [(one.service, other.service), (one.account, other.account)]
    where !part.utf8.elementsEqual(otherPart.utf8) {
      return part.utf8.lexicographicallyPrecedes(otherPart.utf8)
    }
    // No group is empty, so that the app's own comes before all others.
    return (one.group ?? "").utf8.lexicographicallyPrecedes((other.group ?? "").utf8)
  }

  /// Feeds the parts' bytes, each with its end.
  public func hash(into hasher: inout Hasher) {
    for var part in [service, account, group ?? ""] {
      part.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
      hasher.combine(0xFF as UInt8)
    }
  }
}

extension CredentialKey: CustomStringConvertible {
  /// For a message, on one line: `account "auth-token" of service "clinic"`.
  public var description: String {
    let whose = "account \(account.debugDescription) of service \(service.debugDescription)"
    return group.map { "\(whose) in group \($0.debugDescription)" } ?? whose
  }
}
