/// Why a credential could not be added, read, updated, deleted or listed.
///
/// It never holds a secret. Each kind has the status that Apple's keychain has for it, so that code and reports that
/// know the keychain's numbers go on working.
///
/// ```swift
/// do {
///   token = try controls.credentials.readString(service: "clinic", account: "auth-token")
/// } catch where error.kind == .notFound {
///   showLogin()
/// }
/// ```
public struct CredentialError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What kind of trouble it is.
  public enum Kind: String, Sendable, CaseIterable {
    /// There is no such credential: errSecItemNotFound, -25300.
    case notFound
    /// There is one already: errSecDuplicateItem, -25299.
    case duplicate
    /// The device or the keyring is locked, and nobody may be asked: errSecInteractionNotAllowed, -25308.
    case locked
    /// The app may not use the store, or not that group: errSecMissingEntitlement, -34018.
    case missingEntitlement
    /// The user was asked and said no: errSecUserCanceled, -128.
    case cancelled
    /// No store could hold such a key: errSecParam, -50.
    case invalid
    /// The secret is there, but is no text: errSecDecode, -26275.
    case notText
    /// There is no store to talk to: errSecNotAvailable, -25291.
    case unavailable
    /// Anything else, as the store tells it: errSecIO, -36, unless the store has a number of its own.
    case failed

    /// The status that the keychain has for it.
    public var status: Int32 {
      switch self {
      case .notFound: -25_300
      case .duplicate: -25_299
      case .locked: -25_308
      case .missingEntitlement: -34_018
      case .cancelled: -128
      case .invalid: -50
      case .notText: -26_275
      case .unavailable: -25_291
      case .failed: -36
      }
    }
  }

  /// What kind of trouble it is.
  public let kind: Kind
  /// The keychain's status: that of the kind, or for `failed` the store's own.
  public let status: Int32
  /// One line for a person: what, where and what to do next.
  public let description: String

  /// An error in a store's own words.
  ///
  /// - Parameters:
  ///   - kind: what kind of trouble it is.
  ///   - description: one line for a person, without the secret.
  ///   - status: the store's own number; counts for `failed` only.
  public init(_ kind: Kind, _ description: String, status: Int32? = nil) {
    self.kind = kind
    self.status = kind == .failed ? status ?? kind.status : kind.status
    self.description = description
  }

  /// An error in the usual words.
  ///
  /// - Parameters:
  ///   - kind: what kind of trouble it is.
  ///   - key: which credential was asked for; nil where all were.
  public init(_ kind: Kind, for key: CredentialKey?) {
    let whose = key.map { "\($0)" } ?? "all accounts"
    let words =
      switch kind {
      case .notFound: "there is no credential for \(whose): add it first"
      case .duplicate: "there is a credential for \(whose) already: update it, or set it"
      case .locked: "the credential store is locked, asked for \(whose): unlock the device or keyring and try again"
      case .missingEntitlement:
        "the app may not use the credential store for \(whose): sign it with the entitlement keychain-access-groups"
      case .cancelled: "the user has cancelled, asked for \(whose): ask again when they want to go on"
      case .invalid: "no credential store can hold \(whose)"
      case .notText: "the secret for \(whose) is no text in UTF-8: read its bytes"
      case .unavailable: "there is no credential store, asked for \(whose)"
      case .failed: "the credential store has failed, asked for \(whose): try again"
      }
    self.init(kind, words)
  }
}
