#if os(Linux)
  import Diorama
  import Foundation

  /// Where the user's session bus is, by the variables that name it.
  enum SessionBus {
    /// GLib would go on to start a bus of its own, by way of an X display, whose keyring nobody has unlocked.
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
        "no D-Bus session, and so no keyring: DBUS_SESSION_BUS_ADDRESS is not set and there is no $XDG_RUNTIME_DIR/bus; "
          + "log in to a desktop, or start the program with dbus-run-session")
    }

    /// As D-Bus has it: all but letters, digits and `-_/.\*` as `%` and two digits.
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
#endif
