import Basics

#if canImport(Security)
  public import Foundation
  import Security

  /// The keychain of Apple platforms: generic passwords, on macOS in the data protection keychain.
  ///
  /// The app needs the entitlement `keychain-access-groups` (Xcode: Signing & Capabilities, Keychain Sharing) or, on
  /// iOS, its application identifier. Items synchronized by iCloud Keychain are neither created nor found.
  ///
  /// ```swift
  /// let controls = try AppControls.launch(
  ///   credentials: KeychainCredentialStore(accessibility: .afterFirstUnlockThisDeviceOnly))
  /// ```
  public struct KeychainCredentialStore: CredentialStore {
    /// When items added by this store are accessible. Existing items keep their setting.
    public enum Accessibility: Sendable {
      /// While the device is unlocked; the keychain's default.
      case whenUnlocked
      /// Like `whenUnlocked`, but never restored to another device.
      case whenUnlockedThisDeviceOnly
      /// After the device was first unlocked since it started; for background work.
      case afterFirstUnlock
      /// Like `afterFirstUnlock`, but never restored to another device.
      case afterFirstUnlockThisDeviceOnly
      /// While the device is unlocked and has a passcode. Removing the passcode deletes the item.
      case whenPasscodeSetThisDeviceOnly

      fileprivate var attribute: CFString {
        switch self {
        case .whenUnlocked: kSecAttrAccessibleWhenUnlocked
        case .whenUnlockedThisDeviceOnly: kSecAttrAccessibleWhenUnlockedThisDeviceOnly
        case .afterFirstUnlock: kSecAttrAccessibleAfterFirstUnlock
        case .afterFirstUnlockThisDeviceOnly: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
        case .whenPasscodeSetThisDeviceOnly: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly
        }
      }
    }

    private let accessibility: Accessibility
    /// The group of items without an explicit group; nil until it is needed.
    private let ownGroup = Guarded<String?>(nil)

    /// Creates a store; does not access the keychain yet.
    ///
    /// - Parameter accessibility: when items added by this store are accessible.
    public init(accessibility: Accessibility = .whenUnlocked) {
      self.accessibility = accessibility
    }

    /// Adds a secret.
    public func add(_ secret: Data, for key: CredentialKey) throws(CredentialError) {
      var attributes = try query(key)
      attributes[kSecValueData as String] = secret
      attributes[kSecAttrAccessible as String] = accessibility.attribute
      try Self.check(SecItemAdd(attributes as CFDictionary, nil), key)
    }

    /// Returns a secret.
    public func read(_ key: CredentialKey) throws(CredentialError) -> Data {
      var query = try query(key)
      query[kSecMatchLimit as String] = kSecMatchLimitOne
      query[kSecReturnData as String] = true
      var found: CFTypeRef?
      try Self.check(SecItemCopyMatching(query as CFDictionary, &found), key)
      // An empty secret may be returned as nil.
      return found as? Data ?? Data()
    }

    /// Replaces a secret.
    public func update(_ secret: Data, for key: CredentialKey) throws(CredentialError) {
      let change = [kSecValueData as String: secret]
      try Self.check(SecItemUpdate(try query(key) as CFDictionary, change as CFDictionary), key)
    }

    /// Deletes a secret.
    public func delete(_ key: CredentialKey) throws(CredentialError) {
      try Self.check(SecItemDelete(try query(key) as CFDictionary), key)
    }

    /// Lists the keys, sorted.
    public func keys(service: String?) throws(CredentialError) -> [CredentialKey] {
      let own = try findOwnGroup()
      var query = Self.everything
      if let service { query[kSecAttrService as String] = service }
      query[kSecMatchLimit as String] = kSecMatchLimitAll
      query[kSecReturnAttributes as String] = true
      var found: CFTypeRef?
      let status = SecItemCopyMatching(query as CFDictionary, &found)
      if status == errSecItemNotFound { return [] }
      try Self.check(status, nil)
      let keys = (found as? [[String: Any]] ?? []).map { item in
        let group = item[kSecAttrAccessGroup as String] as? String
        return CredentialKey(
          service: item[kSecAttrService as String] as? String ?? "",
          account: item[kSecAttrAccount as String] as? String ?? "", group: group == own ? nil : group)
      }
      return keys.sorted()
    }

    /// All generic passwords that the app may use. Without `kSecAttrSynchronizable`, only items that are not synchronized
    /// are found.
    private static var everything: [String: Any] {
      [kSecClass as String: kSecClassGenericPassword, kSecUseDataProtectionKeychain as String: true]
    }

    /// One item in its group. A query without a group would find items of all groups.
    private func query(_ key: CredentialKey) throws(CredentialError) -> [String: Any] {
      try key.validate()
      var query = Self.everything
      query[kSecAttrService as String] = key.service
      query[kSecAttrAccount as String] = key.account
      if let group = key.group {
        query[kSecAttrAccessGroup as String] = group
      } else {
        query[kSecAttrAccessGroup as String] = try findOwnGroup()
      }
      return query
    }

    /// The group of items without an explicit group. Adding an item is the only way to find out.
    private func findOwnGroup() throws(CredentialError) -> String {
      if let known = ownGroup.withLock({ $0 }) { return known }
      var probe = Self.everything
      probe[kSecAttrService as String] = "diorama.own-group"
      probe[kSecAttrAccount as String] = UUID().uuidString
      let query = probe
      probe[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
      probe[kSecReturnAttributes as String] = true
      var added: CFTypeRef?
      try Self.check(SecItemAdd(probe as CFDictionary, &added), nil)
      try Self.check(SecItemDelete(query as CFDictionary), nil)
      guard let group = (added as? [String: Any])?[kSecAttrAccessGroup as String] as? String else {
        throw CredentialError(.failed, "the keychain did not return the app's own group: name a group in each key")
      }
      ownGroup.withLock { $0 = group }
      return group
    }

    private static func check(_ status: OSStatus, _ key: CredentialKey?) throws(CredentialError) {
      guard status != errSecSuccess else { return }
      let kinds: [CredentialError.Kind] = [
        .notFound, .duplicate, .locked, .missingEntitlement, .cancelled, .invalid, .notText, .unavailable,
      ]
      if let kind = kinds.first(where: { $0.status == status }) { throw CredentialError(kind, for: key) }
      let whose = key.map { "\($0)" } ?? "all accounts"
      let words = SecCopyErrorMessageString(status, nil) as String? ?? "no description"
      throw CredentialError(
        .failed, "the keychain failed to access \(whose): \(words) (status \(status))", status: status)
    }
  }
#endif
