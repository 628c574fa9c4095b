#if os(Linux)
  import CSecret
  import Diorama
  import Foundation

  /// A connection to the session bus and the Secret Service on it, for one thread at a time.
  final class SecretServiceSession {
    let service: UnsafeMutablePointer<SecretService>
    private let connection: OpaquePointer
    /// What GLib has to tell us between calls waits here: in the process's own context nobody might ever fetch it.
    private let context: OpaquePointer
    /// The provider's own name on the bus: another one has not heard of our session.
    private let owner: String

    /// - Throws: ``CredentialError`` of kind `unavailable`: no bus, or nobody on it who keeps secrets.
    init(address: String) throws(CredentialError) {
      guard let context = g_main_context_new() else { throw CredentialError(.failed, "GLib makes no main context") }
      g_main_context_push_thread_default(context)
      defer { g_main_context_pop_thread_default(context) }
      do {
        connection = try Self.connect(address)
      } catch {
        g_main_context_unref(context)
        throw error
      }
      do {
        service = try Self.openService(connection)
      } catch {
        g_object_unref(UnsafeMutableRawPointer(connection))
        g_main_context_unref(context)
        throw error
      }
      self.context = context
      owner = Self.owner(of: service) ?? ""
      guard !owner.isEmpty else {
        // From here on deinit frees.
        throw CredentialError(
          .unavailable,
          "no keyring: nobody on the D-Bus session \(address) keeps secrets (org.freedesktop.secrets); start one, such "
            + "as gnome-keyring-daemon --start --components=secrets")
      }
    }

    deinit {
      enter()
      g_object_unref(service)
      g_object_unref(UnsafeMutableRawPointer(connection))
      leave()
      g_main_context_unref(context)
    }

    /// Whether bus and provider are still the ones that we talked to.
    var isCurrent: Bool { g_dbus_connection_is_closed(connection) == 0 && Self.owner(of: service) == owner }

    /// Before calls, on the thread that makes them.
    func enter() {
      g_main_context_push_thread_default(context)
      while g_main_context_iteration(context, 0) != 0 {}
    }

    /// After calls, on the same thread.
    func leave() {
      while g_main_context_iteration(context, 0) != 0 {}
      g_main_context_pop_thread_default(context)
    }

    private static func connect(_ address: String) throws(CredentialError) -> OpaquePointer {
      let flags = GDBusConnectionFlags(
        rawValue: G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue
          | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue)
      var error: UnsafeMutablePointer<GError>?
      guard let connection = g_dbus_connection_new_for_address_sync(address, flags, nil, nil, &error) else {
        let words = takeMessage(of: error)
        throw CredentialError(
          .unavailable,
          "no D-Bus session, and so no keyring, at \(address): \(words); log in to a desktop, or start the program with "
            + "dbus-run-session")
      }
      return connection
    }

    private static func openService(
      _ connection: OpaquePointer
    ) throws(CredentialError) -> UnsafeMutablePointer<SecretService> {
      var error: UnsafeMutablePointer<GError>?
      guard let service = diorama_secret_service_new(connection, &error) else {
        throw CredentialError(.unavailable, "no keyring: \(takeMessage(of: error))")
      }
      return service
    }

    /// Nil where nobody has the name.
    private static func owner(of service: UnsafeMutablePointer<SecretService>) -> String? {
      guard let name = g_dbus_proxy_get_name_owner(diorama_service_proxy(service)) else { return nil }
      defer { g_free(name) }
      return String(cString: name)
    }
  }

  extension SecretServiceSession {
    /// Opens a session when it is needed, and lets one caller in at a time.
    final class Holder: @unchecked Sendable {
      private let lock = NSLock()
      private let environment: [String: String]
      private var session: SecretServiceSession?

      init(environment: [String: String]) {
        self.environment = environment
      }

      func use<Result>(
        for key: CredentialKey?, _ body: (SecretServiceSession) throws(CredentialError) -> Result
      ) throws(CredentialError) -> Result {
        lock.lock()
        defer { lock.unlock() }
        let session = try current()
        session.enter()
        defer { session.leave() }
        return try body(session)
      }

      /// A keyring that was started anew, or a new bus, is found by itself.
      private func current() throws(CredentialError) -> SecretServiceSession {
        if let session {
          session.enter()
          let isCurrent = session.isCurrent
          session.leave()
          if isCurrent { return session }
        }
        session = nil
        let opened = try SecretServiceSession(address: try SessionBus.address(in: environment))
        session = opened
        return opened
      }
    }
  }
#endif
