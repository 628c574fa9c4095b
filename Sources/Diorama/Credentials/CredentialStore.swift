public import Foundation

/// Where an app keeps passwords and tokens: what the keychain's generic passwords mean, for any store.
///
/// An app takes the one of ``AppControls/credentials``: the real one in the live world, one in memory under a test. To
/// write another, conform to this and run the product `DioramaTesting` on it.
///
/// ```swift
/// try controls.credentials.add(token, service: "clinic", account: "auth-token")
/// let token = try controls.credentials.readString(service: "clinic", account: "auth-token")
/// ```
///
/// What holds for every store:
/// - a key that ``CredentialKey/validate()`` refuses is refused;
/// - each call happens at one instant, whichever threads call at the same time;
/// - a secret comes back as it was given, to the byte, also when it is empty;
/// - no secret shows in an error, or when the store is printed or dumped.
///
/// Calls are synchronous, as the keychain's are, and some wait for a user: keep them away from the main thread where
/// that matters.
public protocol CredentialStore: Sendable {
  /// Keeps a new secret.
  ///
  /// - Parameters:
  ///   - secret: its bytes.
  ///   - key: what it opens, and whose it is.
  /// - Throws: ``CredentialError``; of kind `duplicate` where there is one, which then stays as it is.
  func add(_ secret: Data, for key: CredentialKey) throws(CredentialError)

  /// Hands a secret out.
  ///
  /// - Parameter key: what it opens, and whose it is.
  /// - Returns: the bytes as they were given.
  /// - Throws: ``CredentialError``; of kind `notFound` where there is none.
  func read(_ key: CredentialKey) throws(CredentialError) -> Data

  /// Puts another secret in the place of the old one.
  ///
  /// - Parameters:
  ///   - secret: its bytes.
  ///   - key: what it opens, and whose it is.
  /// - Throws: ``CredentialError``; of kind `notFound` where there is none to replace, and then there still is none.
  func update(_ secret: Data, for key: CredentialKey) throws(CredentialError)

  /// Keeps a secret whether there was one or not.
  ///
  /// A store that does not write this function gets one of ``update(_:for:)`` and ``add(_:for:)`` in turn.
  ///
  /// - Parameters:
  ///   - secret: its bytes.
  ///   - key: what it opens, and whose it is.
  /// - Throws: ``CredentialError``.
  func set(_ secret: Data, for key: CredentialKey) throws(CredentialError)

  /// Forgets a secret.
  ///
  /// - Parameter key: what it opens, and whose it is.
  /// - Throws: ``CredentialError``; of kind `notFound` where there is none.
  func delete(_ key: CredentialKey) throws(CredentialError)

  /// Lists what there is, without a secret.
  ///
  /// - Parameter service: the service to list; nil for all.
  /// - Returns: the keys in their order, each once.
  /// - Throws: ``CredentialError``.
  func keys(service: String?) throws(CredentialError) -> [CredentialKey]
}

extension CredentialStore {
  /// Keeps a secret whether there was one or not, by an update and, where there is none, an addition.
  ///
  /// - Parameters:
  ///   - secret: its bytes.
  ///   - key: what it opens, and whose it is.
  /// - Throws: ``CredentialError``.
  public func set(_ secret: Data, for key: CredentialKey) throws(CredentialError) {
    // Between the two others may add and delete: each time that both fail, one of them got its way. The limit is for
    // a store that contradicts itself.
    for _ in 0..<1_000 {
      if try attempt(unless: .notFound, { () throws(CredentialError) in try update(secret, for: key) }) { return }
      if try attempt(unless: .duplicate, { () throws(CredentialError) in try add(secret, for: key) }) { return }
    }
    throw CredentialError(.failed, "the store has refused to update and to add \(key) in turn, a thousand times")
  }

  /// - Returns: false when it failed with an error of this kind.
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
