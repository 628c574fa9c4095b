#if os(Linux)
  import Diorama
  import DioramaSecretService
  import Foundation
  import TestSupport
  import Testing

  @Suite("Unusable keyrings")
  struct TroubleTests {
    private static let key = CredentialKey(service: "clinic", account: "auth-token")
    private static let absent = CredentialKey(service: "clinic", account: "absent")

    /// The error of each call; nil for success.
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

    @Test("are reported as locked, even for missing items, and work once unlocked")
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

    @Test("report a dismissed password prompt")
    func dismissed() async throws {
      try await onThread {
        let keyring = try PrivateKeyring()
        let daemon = try keyring.start()
        defer { keyring.end(daemon) }
        let store = SecretServiceCredentialStore(keyring, locking: .prompt)
        try store.add(Data("x".utf8), for: Self.key)
        try keyring.lock()
        // There is no prompter, which counts as a dismissed prompt.
        #expect(Self.kinds(of: store, Self.key) == Array(repeating: .cancelled, count: 6))
      }
    }

    @Test("report a missing session and what is missing")
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

    @Test("are found through XDG_RUNTIME_DIR, and reported if not on the bus")
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

    @Test("and ending sessions do not end the app")
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

    @Test("reject keys that would be truncated")
    func invalid() {
      let store = SecretServiceCredentialStore(schema: "org.example.clinic", locking: .fail, environment: [:])
      #expect(throws: CredentialError.self) { try store.read(CredentialKey(service: "a\0b", account: "")) }
    }
  }
#endif
