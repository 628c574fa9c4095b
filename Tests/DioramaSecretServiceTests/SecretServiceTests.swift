#if os(Linux)
  import CredentialConcurrency
  import Diorama
  import DioramaTesting
  import DioramaSecretService
  import Foundation
  import TestSupport
  import Testing

  @Suite("Credentials in a GNOME Keyring")
  struct SecretServiceTests {
    private static let key = CredentialKey(service: "clinic", account: "auth-token")

    /// Runs `body` with an unlocked keyring, on a thread that may block.
    private func withKeyring(_ body: @escaping @Sendable (PrivateKeyring) throws -> Void) async throws {
      try await onThread {
        let keyring = try PrivateKeyring()
        let daemon = try keyring.start()
        defer { keyring.end(daemon) }
        try body(keyring)
      }
    }

    @Test("behave like those in the keychain")
    func conforms() async throws {
      try await withKeyring { keyring in
        let store = SecretServiceCredentialStore(keyring)
        #expect(CredentialStoreConformance.violations(of: store) == [])
        let left = try store.keys()
        #expect(left == [])
      }
    }

    @Test("mixed calls by 16 threads are linearizable")
    func concurrent() async throws {
      try await withKeyring { keyring in
        let run = ConcurrentRun(threads: 16, operations: 800, sharedAccounts: 16)
        #expect(run.violations(of: SecretServiceCredentialStore(keyring), service: "clinic") == [])
      }
    }

    @Test("outlive the store and the keyring's process, whatever their bytes")
    func persistent() async throws {
      try await onThread {
        let keyring = try PrivateKeyring()
        var daemon = try keyring.start()
        let store = SecretServiceCredentialStore(keyring)
        let secrets: [String: Data] = [
          "empty": Data(), "text": Data("t0ken é 🙂\n".utf8), "bytes": Data(0...255), "zeros": Data([0, 0]),
        ]
        for (account, secret) in secrets { try store.add(secret, service: "clinic", account: account) }
        keyring.end(daemon)
        daemon = try keyring.start()
        defer { keyring.end(daemon) }
        // The same store must notice the new process; a new store need not.
        for store in [store, SecretServiceCredentialStore(keyring)] {
          for (account, secret) in secrets { #expect(try store.read(service: "clinic", account: account) == secret) }
          #expect(try store.keys().map(\.account) == ["bytes", "empty", "text", "zeros"])
        }
      }
    }

    @Test("are shared by stores with the same schema only")
    func schemas() async throws {
      try await withKeyring { keyring in
        let (one, same) = (SecretServiceCredentialStore(keyring), SecretServiceCredentialStore(keyring))
        let other = SecretServiceCredentialStore(keyring, schema: "org.example.other")
        try one.add(Data("x".utf8), for: Self.key)
        #expect(try same.read(Self.key) == Data("x".utf8))
        #expect(throws: CredentialError(.notFound, for: Self.key)) { try other.read(Self.key) }
        #expect(throws: CredentialError(.duplicate, for: Self.key)) { try same.add(Data(), for: Self.key) }
        try other.add(Data("y".utf8), for: Self.key)
        try same.delete(Self.key)
        #expect(try one.keys().isEmpty)
        #expect(try other.read(Self.key) == Data("y".utf8))
      }
    }

    @Test("can be found by other programs, by attributes and label")
    func attributes() async throws {
      try await withKeyring { keyring in
        try SecretServiceCredentialStore(keyring).add(Data("x".utf8), for: Self.key)
        let found = try keyring.call(
          "org.freedesktop.Secret.Service.SearchItems",
          "dict:string:string:service,clinic,account,auth-token,xdg:schema,org.example.clinic")
        let path = try #require(
          found.split(whereSeparator: \.isWhitespace).map(String.init).first { $0.hasPrefix("/") })
        let label = try keyring.call(
          "org.freedesktop.DBus.Properties.Get", at: path, "string:org.freedesktop.Secret.Item", "string:Label")
        #expect(label.contains("clinic: auth-token"))
      }
    }

    @Test("an app uses its own store without a contract")
    func launch() async throws {
      try await withKeyring { keyring in
        let controls = try AppControls.launch(
          arguments: [], environment: [:], credentials: SecretServiceCredentialStore(keyring), warn: { _ in })
        let token = "t0ken"
        try controls.credentials.add(token, service: "clinic", account: "auth-token")
        #expect(try controls.credentials.readString(service: "clinic", account: "auth-token") == token)
      }
    }
  }

  extension SecretServiceCredentialStore {
    /// A test's store, which never prompts unless requested.
    convenience init(_ keyring: PrivateKeyring, schema: String = "org.example.clinic", locking: Locking = .fail) {
      self.init(schema: schema, locking: locking, environment: keyring.environment)
    }
  }
#endif
