public import Foundation

// The calls that an app makes: by service and account, with texts or bytes.
extension CredentialStore {
  /// Keeps a new secret: `try controls.credentials.add(token, service: "clinic", account: "auth-token")`.
  ///
  /// - Parameters:
  ///   - secret: a text, kept in UTF-8.
  ///   - service: what it opens.
  ///   - account: whose it is.
  ///   - group: the access group that shares it; nil for the app's own.
  /// - Throws: ``CredentialError``; of kind `duplicate` where there is one.
  public func add(
    _ secret: String, service: String, account: String, group: String? = nil
  ) throws(CredentialError) {
    try add(Data(secret.utf8), for: CredentialKey(service: service, account: account, group: group))
  }

  /// Keeps a new secret.
  ///
  /// - Parameters:
  ///   - secret: its bytes.
  ///   - service: what it opens.
  ///   - account: whose it is.
  ///   - group: the access group that shares it; nil for the app's own.
  /// - Throws: ``CredentialError``; of kind `duplicate` where there is one.
  public func add(_ secret: Data, service: String, account: String, group: String? = nil) throws(CredentialError) {
    try add(secret, for: CredentialKey(service: service, account: account, group: group))
  }

  /// Hands a secret out.
  ///
  /// - Parameters:
  ///   - service: what it opens.
  ///   - account: whose it is.
  ///   - group: the access group that shares it; nil for the app's own.
  /// - Returns: the bytes as they were given.
  /// - Throws: ``CredentialError``; of kind `notFound` where there is none.
  public func read(service: String, account: String, group: String? = nil) throws(CredentialError) -> Data {
    try read(CredentialKey(service: service, account: account, group: group))
  }

  /// Hands a secret out as a text.
  ///
  /// - Parameters:
  ///   - service: what it opens.
  ///   - account: whose it is.
  ///   - group: the access group that shares it; nil for the app's own.
  /// - Returns: the text as it was given.
  /// - Throws: ``CredentialError``; of kind `notFound` where there is none, `notText` where it is not UTF-8.
  public func readString(
    service: String, account: String, group: String? = nil
  ) throws(CredentialError) -> String {
    let key = CredentialKey(service: service, account: account, group: group)
    guard let text = String(validating: try read(key), as: UTF8.self) else { throw CredentialError(.notText, for: key) }
    return text
  }

  /// Puts another secret in the place of the old one.
  ///
  /// - Parameters:
  ///   - secret: a text, kept in UTF-8.
  ///   - service: what it opens.
  ///   - account: whose it is.
  ///   - group: the access group that shares it; nil for the app's own.
  /// - Throws: ``CredentialError``; of kind `notFound` where there is none to replace.
  public func update(
    _ secret: String, service: String, account: String, group: String? = nil
  ) throws(CredentialError) {
    try update(Data(secret.utf8), for: CredentialKey(service: service, account: account, group: group))
  }

  /// Puts another secret in the place of the old one.
  ///
  /// - Parameters:
  ///   - secret: its bytes.
  ///   - service: what it opens.
  ///   - account: whose it is.
  ///   - group: the access group that shares it; nil for the app's own.
  /// - Throws: ``CredentialError``; of kind `notFound` where there is none to replace.
  public func update(_ secret: Data, service: String, account: String, group: String? = nil) throws(CredentialError) {
    try update(secret, for: CredentialKey(service: service, account: account, group: group))
  }

  /// Keeps a secret whether there was one or not.
  ///
  /// - Parameters:
  ///   - secret: a text, kept in UTF-8.
  ///   - service: what it opens.
  ///   - account: whose it is.
  ///   - group: the access group that shares it; nil for the app's own.
  /// - Throws: ``CredentialError``.
  public func set(_ secret: String, service: String, account: String, group: String? = nil) throws(CredentialError) {
    try set(Data(secret.utf8), for: CredentialKey(service: service, account: account, group: group))
  }

  /// Keeps a secret whether there was one or not.
  ///
  /// - Parameters:
  ///   - secret: its bytes.
  ///   - service: what it opens.
  ///   - account: whose it is.
  ///   - group: the access group that shares it; nil for the app's own.
  /// - Throws: ``CredentialError``.
  public func set(_ secret: Data, service: String, account: String, group: String? = nil) throws(CredentialError) {
    try set(secret, for: CredentialKey(service: service, account: account, group: group))
  }

  /// Forgets a secret.
  ///
  /// - Parameters:
  ///   - service: what it opens.
  ///   - account: whose it is.
  ///   - group: the access group that shares it; nil for the app's own.
  /// - Throws: ``CredentialError``; of kind `notFound` where there is none.
  public func delete(service: String, account: String, group: String? = nil) throws(CredentialError) {
    try delete(CredentialKey(service: service, account: account, group: group))
  }

  /// Lists all that there is, without a secret.
  ///
  /// - Returns: the keys in their order, each once.
  /// - Throws: ``CredentialError``.
  public func keys() throws(CredentialError) -> [CredentialKey] {
    try keys(service: nil)
  }
}
