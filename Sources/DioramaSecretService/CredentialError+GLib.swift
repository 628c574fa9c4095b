#if os(Linux)
  import CSecret
  import Diorama

  extension CredentialError {
    /// What an error of GLib or libsecret means; frees it.
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
          "the keyring does not answer, asked for \(whose): \(words); see whether the desktop's keyring runs, and try again"
        )
      default:
        self.init(.failed, "the keyring has failed, asked for \(whose): \(words)")
      }
    }
  }

  /// An error's words on one line; frees it.
  func takeMessage(of error: UnsafeMutablePointer<GError>?) -> String {
    guard let error else { return "no further word" }
    defer { g_error_free(error) }
    g_dbus_error_strip_remote_error(error)
    return String(cString: error.pointee.message).split(whereSeparator: \.isNewline).joined(separator: " ")
  }
#endif
