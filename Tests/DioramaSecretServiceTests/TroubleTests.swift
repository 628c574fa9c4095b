#if os(Linux)
  import Diorama
  import DioramaSecretService
  import Foundation
  import TestSupport
  import Testing

  @Suite("A keyring that cannot be used")
  struct TroubleTests {
    private static let key = CredentialKey(service: "clinic", account: "auth-token")
    private static let absent = CredentialKey(service: "clinic", account: "absent")

    /// What each call ends with; nil for success.
    private static func kinds(of store: SecretServiceCredentialStore, _ key: CredentialKey) -> [CredentialError.Kind?] {
      let calls: [() throws -> Void] = [
        { _ = try store.read(key) },
        { try store.update(Data("y".utf8), for: key) },
        { try store.set(Data("y".utf8), for: key) },
        { try store.add(Data("y".utf8), for: key) },
        { try store.delete(key) },
        { _ = try store.keys() },
      ]
      return calls.map { call in
        do {
          try call()
          return nil
        } catch {
          return (error as? CredentialError)?.kind
        }
      }
    }

    @Test("says that it is locked, also of what is not in it, and goes on once it is unlocked")
    func locked() async throws {
      try await onThread {
        let keyring = try PrivateKeyring()
        var daemon = try keyring.start()
        let store = SecretServiceCredentialStore(keyring)
        try store.add(Data("x".utf8), for: Self.key)
        try keyring.lock()
        #expect(Self.kinds(of: store, Self.key) == Array(repeating: .locked, count: 6))
        #expect(Self.kinds(of: store, Self.absent) == Array(repeating: .locked, count: 6))
        keyring.end(daemon)
        daemon = try keyring.start()
        defer { keyring.end(daemon) }
        #expect(try store.read(Self.key) == Data("x".utf8))
        #expect(try store.keys() == [Self.key])
      }
    }

    @Test("says that nobody has answered where the keyring asked for its password")
    func dismissed() async throws {
      try await onThread {
        let keyring = try PrivateKeyring()
        let daemon = try keyring.start()
        defer { keyring.end(daemon) }
        let store = SecretServiceCredentialStore(keyring, locking: .prompt)
        try store.add(Data("x".utf8), for: Self.key)
        try keyring.lock()
        // No program that could ask is there, which counts as a prompt that was dismissed.
        #expect(Self.kinds(of: store, Self.key) == Array(repeating: .cancelled, count: 6))
      }
    }

    @Test("says that no session is there, by what is missing")
    func noSession() {
      for (environment, words) in [
        ([:], "DBUS_SESSION_BUS_ADDRESS is not set"),
        (["XDG_RUNTIME_DIR": "/nowhere"], "DBUS_SESSION_BUS_ADDRESS is not set"),
        (["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere/bus"], "/nowhere/bus"),
        (["DBUS_SESSION_BUS_ADDRESS": "nonsense"], "nonsense"),
      ] {
        let store = SecretServiceCredentialStore(schema: "org.example.clinic", locking: .fail, environment: environment)
        let error = #expect(throws: CredentialError.self) { try store.read(Self.key) }
        #expect(error?.kind == .unavailable)
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
        #expect(error?.description.split(whereSeparator: \.isNewline).count == 1)
      }
    }

    @Test("is found by XDG_RUNTIME_DIR, too, and is missed when it is not on the bus")
    func noKeyring() async throws {
      try await onThread {
        let keyring = try PrivateKeyring()
        try FileManager.default.createSymbolicLink(
          atPath: "\(keyring.folder)/run/bus", withDestinationPath: "\(keyring.folder)/bus")
        let store = SecretServiceCredentialStore(
          schema: "org.example.clinic", locking: .fail, environment: ["XDG_RUNTIME_DIR": "\(keyring.folder)/run"])
        let error = #expect(throws: CredentialError.self) { try store.read(Self.key) }
        #expect(error?.kind == .unavailable)
        #expect(error?.description.contains("org.freedesktop.secrets") == true)
        let daemon = try keyring.start()
        defer { keyring.end(daemon) }
        #expect(throws: CredentialError(.notFound, for: Self.key)) { try store.read(Self.key) }
      }
    }

    @Test("and a session that ends do not end the app")
    func lostSession() async throws {
      try await onThread {
        let keyring = try PrivateKeyring()
        let daemon = try keyring.start()
        let store = SecretServiceCredentialStore(keyring)
        try store.add(Data("x".utf8), for: Self.key)
        keyring.endBus()
        _ = daemon.finish()
        #expect(Self.kinds(of: store, Self.key) == Array(repeating: .unavailable, count: 6))
      }
    }

    @Test("refuses keys that it would cut short")
    func invalid() {
      let store = SecretServiceCredentialStore(schema: "org.example.clinic", locking: .fail, environment: [:])
      #expect(throws: CredentialError.self) { try store.read(CredentialKey(service: "a\0b", account: "")) }
    }
  }
#endif
