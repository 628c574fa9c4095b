import Foundation

/// The live world's store where the platform has none that every app could use: it says so to each call.
struct AbsentCredentialStore: CredentialStore {
  private static let error = CredentialError(
    .unavailable,
    "no credential store here: pass one to AppControls.launch(credentials:), "
      + "such as SecretServiceCredentialStore of the product DioramaSecretService")

  func add(_ secret: Data, for key: CredentialKey) throws(CredentialError) { throw Self.error }
  func read(_ key: CredentialKey) throws(CredentialError) -> Data { throw Self.error }
  func update(_ secret: Data, for key: CredentialKey) throws(CredentialError) { throw Self.error }
  func set(_ secret: Data, for key: CredentialKey) throws(CredentialError) { throw Self.error }
  func delete(_ key: CredentialKey) throws(CredentialError) { throw Self.error }
  func keys(service: String?) throws(CredentialError) -> [CredentialKey] { throw Self.error }
}

/// The store of the live world where the app does not bring one: the keychain, where there is one.
func platformCredentialStore() -> any CredentialStore {
  #if canImport(Security)
    KeychainCredentialStore()
  #else
    AbsentCredentialStore()
  #endif
}
