#if canImport(Security)
  public import Foundation
  import Security

  /// The keychain of Apple's platforms: its generic passwords, in the data protection keychain on macOS, too.
  ///
  /// The app needs the entitlement `keychain-access-groups` (Xcode: Signing & Capabilities, Keychain Sharing) or, on
  /// iOS, its application identifier. Items that the iCloud keychain synchronizes are neither made nor seen.
  ///
  /// ```swift
  /// let controls = try AppControls.launch(
  ///   credentials: KeychainCredentialStore(accessibility: .afterFirstUnlockThisDeviceOnly))
  /// ```
  public struct KeychainCredentialStore: CredentialStore {
    /// When the keychain hands out what is added here; what is there already keeps what it has.
    public enum Accessibility: Sendable {
      /// While the device is unlocked: the keychain's own default.
      case whenUnlocked
      /// As `whenUnlocked`, and never in a backup that another device could read.
      case whenUnlockedThisDeviceOnly
      /// From the first time that the device is unlocked after a start: for work in the background.
      case afterFirstUnlock
      /// As `afterFirstUnlock`, and never in a backup that another device could read.
      case afterFirstUnlockThisDeviceOnly
      /// While the device is unlocked and has a passcode; gone with the passcode.
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
    /// Where items without a group are; nil until it has been asked for.
    private let ownGroup = Locked<String?>(nil)

    /// Makes a store; the keychain is not asked for anything yet.
    ///
    /// - Parameter accessibility: when the keychain hands out what is added here.
    public init(accessibility: Accessibility = .whenUnlocked) {
      self.accessibility = accessibility
    }

    /// Keeps a new secret, as ``CredentialStore`` says.
    public func add(_ secret: Data, for key: CredentialKey) throws(CredentialError) {
      var attributes = try query(key)
      attributes[kSecValueData as String] = secret
      attributes[kSecAttrAccessible as String] = accessibility.attribute
      try Self.check(SecItemAdd(attributes as CFDictionary, nil), key)
    }

    /// Hands a secret out, as ``CredentialStore`` says.
    public func read(_ key: CredentialKey) throws(CredentialError) -> Data {
      var query = try query(key)
      query[kSecMatchLimit as String] = kSecMatchLimitOne
      query[kSecReturnData as String] = true
      var found: CFTypeRef?
      try Self.check(SecItemCopyMatching(query as CFDictionary, &found), key)
      // An empty secret may come as nothing at all.
      return found as? Data ?? Data()
    }

    /// Puts another secret in the place of the old one, as ``CredentialStore`` says.
    public func update(_ secret: Data, for key: CredentialKey) throws(CredentialError) {
      let change = [kSecValueData as String: secret]
      try Self.check(SecItemUpdate(try query(key) as CFDictionary, change as CFDictionary), key)
    }

    /// Forgets a secret, as ``CredentialStore`` says.
    public func delete(_ key: CredentialKey) throws(CredentialError) {
      try Self.check(SecItemDelete(try query(key) as CFDictionary), key)
    }

    /// Lists the keys in their order, as ``CredentialStore`` says.
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

    /// All generic passwords that the app may use. `kSecAttrSynchronizable` is left out: then only those that are not
    /// synchronized are found.
    private static var everything: [String: Any] {
      [kSecClass as String: kSecClassGenericPassword, kSecUseDataProtectionKeychain as String: true]
    }

    /// One item, in its group: a query without a group would find those of all groups.
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

    /// The group into which the keychain puts items without one. There is no other way to learn it than to add one.
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
        throw CredentialError(.failed, "the keychain does not tell the app's own group: name a group in each key")
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
      let words = SecCopyErrorMessageString(status, nil) as String? ?? "no further word"
      throw CredentialError(
        .failed, "the keychain has failed, asked for \(whose): \(words) (status \(status))", status: status)
    }
  }
#endif
