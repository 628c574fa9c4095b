/// The identity of a credential: service, account and access group.
///
/// Keys are equal if all three parts have the same UTF-8 bytes, as with the keychain's generic passwords. Comparisons are
/// case-sensitive. (The keychain's fourth part is not supported: other devices change synchronizable items, which a test
/// cannot control.)
///
/// ```swift
/// let key = CredentialKey(service: "clinic", account: "auth-token")
/// try controls.credentials.add(Data("…".utf8), for: key)
/// ```
public struct CredentialKey: Sendable {
  /// The service that the credential is for; any text without U+0000, may be empty.
  public var service: String
  /// The account in the service; any text without U+0000, may be empty.
  public var account: String
  /// The access group that shares the credential; nil for the app's own.
  ///
  /// Groups are separate: a credential added with a group is not found without it.
  public var group: String?

  /// Creates a key.
  ///
  /// - Parameters:
  ///   - service: the service that the credential is for.
  ///   - account: the account in the service.
  ///   - group: the access group that shares the credential; nil for the app's own.
  public init(service: String, account: String, group: String? = nil) {
    self.service = service
    self.account = account
    self.group = group
  }

  /// Checks that the key is valid in every store. A store calls it first in each of its functions.
  ///
  /// - Throws: ``CredentialError`` of kind `invalid` if a part contains U+0000, or if the group is empty.
  public func validate() throws(CredentialError) {
    for part in [service, account, group ?? ""] where part.utf8.contains(0) {
      throw CredentialError(.invalid, "\(self): a key must not contain U+0000")
    }
    if let group, group.isEmpty {
      throw CredentialError(.invalid, "\(self): a group must not be empty; pass nil for the app's own")
    }
  }
}

// By bytes, as stores compare. Swift's strings are equal if they are Unicode-equivalent.
extension CredentialKey: Hashable, Comparable {
  /// Whether service, account and group have the same bytes.
  public static func == (one: CredentialKey, other: CredentialKey) -> Bool {
    guard (one.group == nil) == (other.group == nil) else { return false }
    return one.account.utf8.elementsEqual(other.account.utf8) && one.service.utf8.elementsEqual(other.service.utf8)
      && (one.group ?? "").utf8.elementsEqual((other.group ?? "").utf8)
  }

  /// Sorts by the bytes of service, account and group. The app's own group comes first.
  public static func < (one: CredentialKey, other: CredentialKey) -> Bool {
    for (part, otherPart) in [(one.service, other.service), (one.account, other.account)]
    where !part.utf8.elementsEqual(otherPart.utf8) {
      return part.utf8.lexicographicallyPrecedes(otherPart.utf8)
    }
    // No group is empty, so the app's own comes first.
    return (one.group ?? "").utf8.lexicographicallyPrecedes((other.group ?? "").utf8)
  }

  /// Hashes the bytes of the parts.
  public func hash(into hasher: inout Hasher) {
    for var part in [service, account, group ?? ""] {
      part.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
      hasher.combine(0xFF as UInt8)
    }
  }
}

extension CredentialKey: CustomStringConvertible {
  /// The key on one line: `account "auth-token" of service "clinic"`.
  public var description: String {
    let whose = "account \(account.debugDescription) of service \(service.debugDescription)"
    return group.map { "\(whose) in group \($0.debugDescription)" } ?? whose
  }
}
