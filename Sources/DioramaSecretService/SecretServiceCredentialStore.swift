#if os(Linux)
  public import Diorama
  public import Foundation

  /// Stores credentials in the desktop's keyring on Linux: any Secret Service (GNOME Keyring, KWallet, KeePassXC).
  ///
  /// An app that keeps secrets on Linux links the product `DioramaSecretService` and passes this store:
  ///
  /// ```swift
  /// import Diorama
  /// import DioramaSecretService
  ///
  /// let controls = try AppControls.launch(credentials: SecretServiceCredentialStore(schema: "org.example.clinic"))
  /// ```
  ///
  /// Each credential is an item of the default collection, with the attributes `service`, `account`, `group` (empty
  /// without an access group) and the schema's name as `xdg:schema`. `secret-tool search service clinic` finds it; keyring
  /// apps show it with the label `clinic: auth-token`.
  ///
  /// Calls are serialised. Every change except an addition is a single, atomic call to the keyring. The Secret Service has
  /// no conditional addition, so this store looks first and then adds. If two processes or two stores add the same key at
  /// the same moment, both may succeed, leaving one item with the later secret. Share one store within a process.
  public final class SecretServiceCredentialStore: CredentialStore {
    /// What to do if the keyring is locked.
    public enum Locking: Sendable {
      /// Let the keyring prompt the user for its password. The call waits for the answer.
      case prompt
      /// Throw an error of kind `locked`, as a phone's keychain does.
      case fail
    }

    private let session: SecretServiceSession.Holder
    private let schema: String
    private let locking: Locking

    /// Creates a store. It connects to the keyring on first use.
    ///
    /// - Parameters:
    ///   - schema: a name that separates the app's credentials from those of other apps, preferably a reverse domain such as
    ///     `org.example.clinic`. It gives no protection: the Secret Service lets every app read all credentials.
    ///   - locking: what to do if the keyring is locked.
    public convenience init(schema: String = "diorama.Credential", locking: Locking = .prompt) {
      self.init(schema: schema, locking: locking, environment: ProcessInfo.processInfo.environment)
    }

    /// `environment` contains the address of the session bus.
    package init(schema: String, locking: Locking, environment: [String: String]) {
      self.schema = schema
      self.locking = locking
      session = SecretServiceSession.Holder(environment: environment)
    }

    /// Adds a new secret; see ``CredentialStore``.
    public func add(_ secret: Data, for key: CredentialKey) throws(CredentialError) {
      try with(key) { (items) throws(CredentialError) in
        guard try items.find(key).isEmpty else { throw CredentialError(.duplicate, for: key) }
        try items.store(secret, for: key)
      }
    }

    /// Reads a secret; see ``CredentialStore``.
    public func read(_ key: CredentialKey) throws(CredentialError) -> Data {
      try with(key) { (items) throws(CredentialError) in
        guard let item = try items.find(key).first else { throw CredentialError(.notFound, for: key) }
        return try item.secret(for: key)
      }
    }

    /// Replaces a secret; see ``CredentialStore``.
    public func update(_ secret: Data, for key: CredentialKey) throws(CredentialError) {
      try with(key) { (items) throws(CredentialError) in
        guard let item = try items.find(key).first else { throw CredentialError(.notFound, for: key) }
        try item.replace(by: secret, for: key)
      }
    }

    /// Adds or replaces a secret; see ``CredentialStore``.
    public func set(_ secret: Data, for key: CredentialKey) throws(CredentialError) {
      try with(key) { (items) throws(CredentialError) in
        if let item = try items.find(key).first {
          do throws(CredentialError) {
            return try item.replace(by: secret, for: key)
          } catch {
            // Another process may have deleted it in the meantime.
            guard error.kind == .notFound else { throw error }
          }
        }
        try items.store(secret, for: key)
      }
    }

    /// Deletes a secret; see ``CredentialStore``.
    public func delete(_ key: CredentialKey) throws(CredentialError) {
      try with(key) { (items) throws(CredentialError) in
        let found = try items.find(key)
        guard !found.isEmpty else { throw CredentialError(.notFound, for: key) }
        for item in found { try item.delete(for: key) }
      }
    }

    /// Lists this schema's keys, sorted; see ``CredentialStore``.
    public func keys(service: String?) throws(CredentialError) -> [CredentialKey] {
      // The keyring would end the name at the null byte.
      if let service, service.utf8.contains(0) { return [] }
      return try session.use(for: nil) { (session) throws(CredentialError) in
        try Items(session, schema: schema, locking: locking).keys(service: service)
      }
    }

    private func with<Result>(
      _ key: CredentialKey, _ body: (Items) throws(CredentialError) -> Result
    ) throws(CredentialError) -> Result {
      try key.validate()
      return try session.use(for: key) { (session) throws(CredentialError) in
        try body(Items(session, schema: schema, locking: locking))
      }
    }
  }
#endif
