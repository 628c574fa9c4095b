public import Foundation

/// A store for passwords and tokens, which works like the keychain's generic passwords.
///
/// An app uses ``AppControls/credentials``: the real store when live, an in-memory store in a test. To write a store,
/// conform to this protocol and check it with `CredentialStoreConformance` of the product `DioramaTesting`.
///
/// ```swift
/// try controls.credentials.add(token, service: "clinic", account: "auth-token")
/// let token = try controls.credentials.readString(service: "clinic", account: "auth-token")
/// ```
///
/// Requirements for every store:
/// - It refuses keys for which ``CredentialKey/validate()`` throws.
/// - Each call is atomic, whichever threads call at the same time.
/// - It returns a secret byte for byte, also an empty one.
/// - No secret appears in an error, or when the store is printed or dumped.
///
/// Calls are synchronous, like those of the keychain, and some wait for the user. Avoid them on the main thread if that
/// matters.
public protocol CredentialStore: Sendable {
  /// Adds a secret.
  ///
  /// - Parameters:
  ///   - secret: the bytes to store.
  ///   - key: the key of the credential.
  /// - Throws: ``CredentialError``, of kind `duplicate` if the credential exists; it is then not changed.
  func add(_ secret: Data, for key: CredentialKey) throws(CredentialError)

  /// Returns a secret.
  ///
  /// - Parameter key: the key of the credential.
  /// - Returns: the stored bytes.
  /// - Throws: ``CredentialError``, of kind `notFound` if the credential does not exist.
  func read(_ key: CredentialKey) throws(CredentialError) -> Data

  /// Replaces a secret.
  ///
  /// - Parameters:
  ///   - secret: the bytes to store.
  ///   - key: the key of the credential.
  /// - Throws: ``CredentialError``, of kind `notFound` if the credential does not exist; it is then not added.
  func update(_ secret: Data, for key: CredentialKey) throws(CredentialError)

  /// Adds or replaces a secret.
  ///
  /// The default implementation calls ``update(_:for:)`` and ``add(_:for:)``.
  ///
  /// - Parameters:
  ///   - secret: the bytes to store.
  ///   - key: the key of the credential.
  /// - Throws: ``CredentialError``.
  func set(_ secret: Data, for key: CredentialKey) throws(CredentialError)

  /// Deletes a secret.
  ///
  /// - Parameter key: the key of the credential.
  /// - Throws: ``CredentialError``, of kind `notFound` if the credential does not exist.
  func delete(_ key: CredentialKey) throws(CredentialError)

  /// Lists the keys, without their secrets.
  ///
  /// - Parameter service: the service to list; nil for all.
  /// - Returns: the keys, sorted and unique.
  /// - Throws: ``CredentialError``.
  func keys(service: String?) throws(CredentialError) -> [CredentialKey]
}

extension CredentialStore {
  /// Adds or replaces a secret: tries an update, then an addition.
  ///
  /// - Parameters:
  ///   - secret: the bytes to store.
  ///   - key: the key of the credential.
  /// - Throws: ``CredentialError``.
  public func set(_ secret: Data, for key: CredentialKey) throws(CredentialError) {
    // Other threads may add and delete in between: whenever both calls fail, another thread made progress. The limit is
    // for a store that contradicts itself.
    for _ in 0..<1_000 {
      if try attempt(unless: .notFound, { () throws(CredentialError) in try update(secret, for: key) }) { return }
      if try attempt(unless: .duplicate, { () throws(CredentialError) in try add(secret, for: key) }) { return }
    }
    throw CredentialError(.failed, "the store alternately refused to update and to add \(key) a thousand times")
  }

  /// - Returns: false if it failed with an error of this kind.
  private func attempt(
    unless kind: CredentialError.Kind, _ body: () throws(CredentialError) -> Void
  ) throws(CredentialError) -> Bool {
    do {
      try body()
      return true
    } catch {
      guard error.kind == kind else { throw error }
      return false
    }
  }
}

// Convenience functions with service and account, for text and bytes.
extension CredentialStore {
  /// Adds a secret: `try controls.credentials.add(token, service: "clinic", account: "auth-token")`.
  ///
  /// - Parameters:
  ///   - secret: text, stored as UTF-8.
  ///   - service: the service that the credential is for.
  ///   - account: the account in the service.
  ///   - group: the access group that shares the credential; nil for the app's own.
  /// - Throws: ``CredentialError``, of kind `duplicate` if the credential exists.
  public func add(
    _ secret: String, service: String, account: String, group: String? = nil
  ) throws(CredentialError) {
    try add(Data(secret.utf8), for: CredentialKey(service: service, account: account, group: group))
  }

  /// Adds a secret.
  ///
  /// - Parameters:
  ///   - secret: the bytes to store.
  ///   - service: the service that the credential is for.
  ///   - account: the account in the service.
  ///   - group: the access group that shares the credential; nil for the app's own.
  /// - Throws: ``CredentialError``, of kind `duplicate` if the credential exists.
  public func add(_ secret: Data, service: String, account: String, group: String? = nil) throws(CredentialError) {
    try add(secret, for: CredentialKey(service: service, account: account, group: group))
  }

  /// Returns a secret.
  ///
  /// - Parameters:
  ///   - service: the service that the credential is for.
  ///   - account: the account in the service.
  ///   - group: the access group that shares the credential; nil for the app's own.
  /// - Returns: the stored bytes.
  /// - Throws: ``CredentialError``, of kind `notFound` if the credential does not exist.
  public func read(service: String, account: String, group: String? = nil) throws(CredentialError) -> Data {
    try read(CredentialKey(service: service, account: account, group: group))
  }

  /// Returns a secret as text.
  ///
  /// - Parameters:
  ///   - service: the service that the credential is for.
  ///   - account: the account in the service.
  ///   - group: the access group that shares the credential; nil for the app's own.
  /// - Returns: the stored text.
  /// - Throws: ``CredentialError``, of kind `notFound` if the credential does not exist, `notText` if it is not UTF-8.
  public func readString(
    service: String, account: String, group: String? = nil
  ) throws(CredentialError) -> String {
    let key = CredentialKey(service: service, account: account, group: group)
    guard let text = String(validating: try read(key), as: UTF8.self) else { throw CredentialError(.notText, for: key) }
    return text
  }

  /// Replaces a secret.
  ///
  /// - Parameters:
  ///   - secret: text, stored as UTF-8.
  ///   - service: the service that the credential is for.
  ///   - account: the account in the service.
  ///   - group: the access group that shares the credential; nil for the app's own.
  /// - Throws: ``CredentialError``, of kind `notFound` if the credential does not exist.
  public func update(
    _ secret: String, service: String, account: String, group: String? = nil
  ) throws(CredentialError) {
    try update(Data(secret.utf8), for: CredentialKey(service: service, account: account, group: group))
  }

  /// Replaces a secret.
  ///
  /// - Parameters:
  ///   - secret: the bytes to store.
  ///   - service: the service that the credential is for.
  ///   - account: the account in the service.
  ///   - group: the access group that shares the credential; nil for the app's own.
  /// - Throws: ``CredentialError``, of kind `notFound` if the credential does not exist.
  public func update(_ secret: Data, service: String, account: String, group: String? = nil) throws(CredentialError) {
    try update(secret, for: CredentialKey(service: service, account: account, group: group))
  }

  /// Adds or replaces a secret.
  ///
  /// - Parameters:
  ///   - secret: text, stored as UTF-8.
  ///   - service: the service that the credential is for.
  ///   - account: the account in the service.
  ///   - group: the access group that shares the credential; nil for the app's own.
  /// - Throws: ``CredentialError``.
  public func set(_ secret: String, service: String, account: String, group: String? = nil) throws(CredentialError) {
    try set(Data(secret.utf8), for: CredentialKey(service: service, account: account, group: group))
  }

  /// Adds or replaces a secret.
  ///
  /// - Parameters:
  ///   - secret: the bytes to store.
  ///   - service: the service that the credential is for.
  ///   - account: the account in the service.
  ///   - group: the access group that shares the credential; nil for the app's own.
  /// - Throws: ``CredentialError``.
  public func set(_ secret: Data, service: String, account: String, group: String? = nil) throws(CredentialError) {
    try set(secret, for: CredentialKey(service: service, account: account, group: group))
  }

  /// Deletes a secret.
  ///
  /// - Parameters:
  ///   - service: the service that the credential is for.
  ///   - account: the account in the service.
  ///   - group: the access group that shares the credential; nil for the app's own.
  /// - Throws: ``CredentialError``, of kind `notFound` if the credential does not exist.
  public func delete(service: String, account: String, group: String? = nil) throws(CredentialError) {
    try delete(CredentialKey(service: service, account: account, group: group))
  }

  /// Lists the keys of all services, without their secrets.
  ///
  /// - Returns: the keys, sorted and unique.
  /// - Throws: ``CredentialError``.
  public func keys() throws(CredentialError) -> [CredentialKey] {
    try keys(service: nil)
  }
}

/// The live store on platforms without a common credential store. Each call throws an error that explains what to do.
struct UnavailableCredentialStore: CredentialStore {
  private static let error = CredentialError(
    .unavailable,
    "no credential store on this platform: pass one to AppControls.launch(credentials:), "
      + "such as SecretServiceCredentialStore of the product DioramaSecretService")

  func add(_ secret: Data, for key: CredentialKey) throws(CredentialError) { throw Self.error }
  func read(_ key: CredentialKey) throws(CredentialError) -> Data { throw Self.error }
  func update(_ secret: Data, for key: CredentialKey) throws(CredentialError) { throw Self.error }
  func set(_ secret: Data, for key: CredentialKey) throws(CredentialError) { throw Self.error }
  func delete(_ key: CredentialKey) throws(CredentialError) { throw Self.error }
  func keys(service: String?) throws(CredentialError) -> [CredentialKey] { throw Self.error }
}

/// The live store of an app without its own: the keychain, if the platform has one.
func platformCredentialStore() -> any CredentialStore {
  #if canImport(Security)
    KeychainCredentialStore()
  #else
    UnavailableCredentialStore()
  #endif
}
