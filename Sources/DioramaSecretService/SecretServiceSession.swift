#if os(Linux)
  import CSecret
  import Diorama
  import Foundation

  /// A connection to the session bus and its Secret Service, used by one thread at a time.
  final class SecretServiceSession {
    let service: UnsafeMutablePointer<SecretService>
    private let connection: OpaquePointer
    /// Receives GLib's events between calls; the process's default context might never be run.
    private let context: OpaquePointer
    /// The provider's unique bus name; a restarted provider does not know our session.
    private let owner: String

    /// - Throws: ``CredentialError`` of kind `unavailable` if there is no bus, or no Secret Service on it.
    init(address: String) throws(CredentialError) {
      guard let context = g_main_context_new() else { throw CredentialError(.failed, "GLib created no context") }
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
        // From here on, deinit frees everything.
        throw CredentialError(
          .unavailable,
          "no keyring: the D-Bus session \(address) has no Secret Service (org.freedesktop.secrets); start one, such as "
            + "gnome-keyring-daemon --start --components=secrets")
      }
    }

    deinit {
      enter()
      g_object_unref(service)
      g_object_unref(UnsafeMutableRawPointer(connection))
      leave()
      g_main_context_unref(context)
    }

    /// Whether the bus and the provider are still the same.
    var isCurrent: Bool { g_dbus_connection_is_closed(connection) == 0 && Self.owner(of: service) == owner }

    /// Called before calls, on the same thread.
    func enter() {
      g_main_context_push_thread_default(context)
      while g_main_context_iteration(context, 0) != 0 {}
    }

    /// Called after calls, on the same thread.
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
          "no D-Bus session at \(address), so no keyring: \(words); log in to a desktop, or start the program with "
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

    /// The owner of the service's bus name; nil if there is none.
    private static func owner(of service: UnsafeMutablePointer<SecretService>) -> String? {
      guard let name = g_dbus_proxy_get_name_owner(diorama_service_proxy(service)) else { return nil }
      defer { g_free(name) }
      return String(cString: name)
    }
  }

  extension SecretServiceSession {
    /// Opens the session when needed, and admits one caller at a time.
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

      /// The session; a new one after the keyring or the bus has been restarted.
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

  /// The address of the user's session bus, from environment variables.
  enum SessionBus {
    /// GLib would otherwise start its own bus through an X display, with a locked keyring.
    ///
    /// - Throws: ``CredentialError`` of kind `unavailable`.
    static func address(in environment: [String: String]) throws(CredentialError) -> String {
      if let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty { return address }
      if let folder = environment["XDG_RUNTIME_DIR"], folder.hasPrefix("/") {
        let path = "\(folder)/bus"
        if FileManager.default.fileExists(atPath: path) { return "unix:path=\(escaped(path))" }
      }
      throw CredentialError(
        .unavailable,
        "no D-Bus session, so no keyring: DBUS_SESSION_BUS_ADDRESS is not set and $XDG_RUNTIME_DIR/bus does not exist; "
          + "log in to a desktop, or start the program with dbus-run-session")
    }

    /// Escapes all but letters, digits and `-_/.\*` as `%` and two digits, as D-Bus requires.
    private static func escaped(_ path: String) -> String {
      path.utf8.map { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "/"),
          UInt8(ascii: "."), UInt8(ascii: "\\"), UInt8(ascii: "*"):
          String(UnicodeScalar(byte))
        default:
          "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
      }.joined()
    }
  }

  extension CredentialError {
    /// Translates an error of GLib or libsecret, and frees it.
    init(taking error: UnsafeMutablePointer<GError>, for key: CredentialKey?) {
      let trouble = diorama_trouble_of(error)
      let words = takeMessage(of: error)
      let whose = key.map { "\($0)" } ?? "all accounts"
      switch trouble {
      case diorama_trouble_locked: self.init(.locked, for: key)
      case diorama_trouble_no_such_object: self.init(.notFound, for: key)
      case diorama_trouble_cancelled: self.init(.cancelled, for: key)
      case diorama_trouble_no_provider, diorama_trouble_disconnected:
        self.init(
          .unavailable,
          "the keyring does not respond (\(whose)): \(words); check whether the desktop's keyring runs, and try again"
        )
      default:
        self.init(.failed, "the keyring failed (\(whose)): \(words)")
      }
    }
  }

  /// Returns an error's message on one line, and frees the error.
  func takeMessage(of error: UnsafeMutablePointer<GError>?) -> String {
    guard let error else { return "no details" }
    defer { g_error_free(error) }
    g_dbus_error_strip_remote_error(error)
    return String(cString: error.pointee.message).split(whereSeparator: \.isNewline).joined(separator: " ")
  }
#endif
