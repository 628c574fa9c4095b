/// An error from a credential store.
///
/// It never contains a secret. Each kind has the status code of Apple's keychain.
///
/// ```swift
/// do {
///   token = try controls.credentials.readString(service: "clinic", account: "auth-token")
/// } catch where error.kind == .notFound {
///   showLogin()
/// }
/// ```
public struct CredentialError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The category of the error.
  public enum Kind: String, Sendable, CaseIterable {
    /// The credential does not exist: errSecItemNotFound, -25300.
    case notFound
    /// The credential already exists: errSecDuplicateItem, -25299.
    case duplicate
    /// The device or keyring is locked, and the user cannot be asked: errSecInteractionNotAllowed, -25308.
    case locked
    /// The app may not use the store or the group: errSecMissingEntitlement, -34018.
    case missingEntitlement
    /// The user cancelled: errSecUserCanceled, -128.
    case cancelled
    /// The key is invalid: errSecParam, -50.
    case invalid
    /// The secret is not UTF-8 text: errSecDecode, -26275.
    case notText
    /// No store is available: errSecNotAvailable, -25291.
    case unavailable
    /// Another error: errSecIO, -36, or the store's own code.
    case failed

    /// The status code of the keychain.
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

  /// The category of the error.
  public let kind: Kind
  /// The status code: that of the kind, or for `failed` the store's own.
  public let status: Int32
  /// One line: what happened, where, and what to do next.
  public let description: String

  /// An error with the store's own description.
  ///
  /// - Parameters:
  ///   - kind: the category of the error.
  ///   - description: one line, without the secret.
  ///   - status: the store's own code; used only for `failed`.
  public init(_ kind: Kind, _ description: String, status: Int32? = nil) {
    self.kind = kind
    self.status = kind == .failed ? status ?? kind.status : kind.status
    self.description = description
  }

  /// An error with the default description.
  ///
  /// - Parameters:
  ///   - kind: the category of the error.
  ///   - key: the requested credential; nil for all.
  public init(_ kind: Kind, for key: CredentialKey?) {
    let whose = key.map { "\($0)" } ?? "all accounts"
    let words =
      switch kind {
      case .notFound: "no credential for \(whose): add it first"
      case .duplicate: "a credential for \(whose) already exists: update or set it"
      case .locked: "the credential store is locked; cannot access \(whose): unlock the device or keyring and try again"
      case .missingEntitlement:
        "the app may not access \(whose) in the credential store: sign it with the entitlement keychain-access-groups"
      case .cancelled: "the user cancelled access to \(whose): ask again when they want to continue"
      case .invalid: "no credential store can hold \(whose)"
      case .notText: "the secret for \(whose) is not UTF-8 text: read its bytes"
      case .unavailable: "no credential store is available for \(whose)"
      case .failed: "the credential store failed to access \(whose): try again"
      }
    self.init(kind, words)
  }
}
