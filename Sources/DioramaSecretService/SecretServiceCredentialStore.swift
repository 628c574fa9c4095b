#if os(Linux)
  public import Diorama
  public import Foundation

  /// The desktop's keyring on Linux: any provider of the Secret Service (GNOME Keyring, KWallet, KeePassXC).
  ///
  /// An app that keeps secrets on Linux links the product `DioramaSecretService` and brings this store:
  ///
  /// ```swift
  /// import Diorama
  /// import DioramaSecretService
  ///
  /// let controls = try AppControls.launch(credentials: SecretServiceCredentialStore(schema: "org.example.clinic"))
  /// ```
  ///
  /// Each credential is an item of the default collection, with the attributes `service`, `account`, `group` (empty for
  /// the app's own) and the schema's name as `xdg:schema`. `secret-tool search service clinic` finds it, and the
  /// keyring's own programs show it by its label, `clinic: auth-token`.
  ///
  /// Calls wait for one another. Every change but an addition is one call to the keyring and happens at one instant,
  /// whoever else is at work. The Secret Service cannot add if there is nothing: this store looks, then adds. What
  /// remains is that two processes, or two stores, that add the same key at the same instant may both succeed; then there
  /// is one item, with the secret of the later one. In one process share one store.
  public final class SecretServiceCredentialStore: CredentialStore {
    /// What to do when the keyring is locked.
    public enum Locking: Sendable {
      /// Let the keyring ask the user for its password. The call waits until they have answered.
      case prompt
      /// Throw an error of kind `locked`, as a phone's keychain does.
      case fail
    }

    private let session: SecretServiceSession.Holder
    private let schema: String
    private let locking: Locking

    /// Makes a store; the keyring is reached with the first call.
    ///
    /// - Parameters:
    ///   - schema: a name that sets the app's credentials apart from those of other apps, who may read them all the
    ///     same: the Secret Service knows no apps. Best a reversed domain, such as `org.example.clinic`.
    ///   - locking: what to do when the keyring is locked.
    public convenience init(schema: String = "diorama.Credential", locking: Locking = .prompt) {
      self.init(schema: schema, locking: locking, environment: ProcessInfo.processInfo.environment)
    }

    /// The environment is where the address of the session bus stands.
    package init(schema: String, locking: Locking, environment: [String: String]) {
      self.schema = schema
      self.locking = locking
      session = SecretServiceSession.Holder(environment: environment)
    }

    /// Keeps a new secret, as ``CredentialStore`` says.
    public func add(_ secret: Data, for key: CredentialKey) throws(CredentialError) {
      try with(key) { (items) throws(CredentialError) in
        guard try items.find(key).isEmpty else { throw CredentialError(.duplicate, for: key) }
        try items.store(secret, for: key)
      }
    }

    /// Hands a secret out, as ``CredentialStore`` says.
    public func read(_ key: CredentialKey) throws(CredentialError) -> Data {
      try with(key) { (items) throws(CredentialError) in
        guard let item = try items.find(key).first else { throw CredentialError(.notFound, for: key) }
        return try item.secret(for: key)
      }
    }

    /// Puts another secret in the place of the old one, as ``CredentialStore`` says.
    public func update(_ secret: Data, for key: CredentialKey) throws(CredentialError) {
      try with(key) { (items) throws(CredentialError) in
        guard let item = try items.find(key).first else { throw CredentialError(.notFound, for: key) }
        try item.replace(by: secret, for: key)
      }
    }

    /// Keeps a secret whether there was one or not, as ``CredentialStore`` says.
    public func set(_ secret: Data, for key: CredentialKey) throws(CredentialError) {
      try with(key) { (items) throws(CredentialError) in
        if let item = try items.find(key).first {
          do throws(CredentialError) {
            return try item.replace(by: secret, for: key)
          } catch {
            // Another process may have deleted it since.
            guard error.kind == .notFound else { throw error }
          }
        }
        try items.store(secret, for: key)
      }
    }

    /// Forgets a secret, as ``CredentialStore`` says.
    public func delete(_ key: CredentialKey) throws(CredentialError) {
      try with(key) { (items) throws(CredentialError) in
        let found = try items.find(key)
        guard !found.isEmpty else { throw CredentialError(.notFound, for: key) }
        for item in found { try item.delete(for: key) }
      }
    }

    /// Lists the keys in their order, as ``CredentialStore`` says: those of this store's schema.
    public func keys(service: String?) throws(CredentialError) -> [CredentialKey] {
      // To the keyring the name would end there.
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
