import LaunchContract

extension TestEnvironment {
  /// A simulated fault of the app's credential store.
  ///
  /// ```swift
  /// @Test(.environment(.mock, credentialFaults: [.locked]))
  /// func asksForThePasswordOnALockedDevice() async throws { … }
  /// ```
  public struct CredentialFault: Sendable {
    /// The error of a failed call.
    public enum Failure: String, Sendable {
      /// A failure that the app cannot handle in a specific way.
      case failed
      /// The device or the keyring is locked.
      case locked
      /// The app is not signed for the store.
      case missingEntitlement
      /// The user cancelled the prompt.
      case cancelled
      /// No store is available.
      case unavailable
    }

    let fault: LaunchContract.Credentials.Fault

    /// The device is locked: every call fails.
    public static let locked = CredentialFault(fault: .init("locked"))
    /// The app is not signed for the store: every call fails.
    public static let missingEntitlement = CredentialFault(fault: .init("missingEntitlement"))
    /// The user cancels every prompt: every call fails.
    public static let cancelled = CredentialFault(fault: .init("cancelled"))

    /// One of the app's write calls (add, update, set, delete) fails and changes nothing.
    ///
    /// - Parameters:
    ///   - nth: the number of the write call, from 1.
    ///   - failure: the error.
    /// - Returns: the fault.
    public static func failWrite(nth: Int, with failure: Failure = .failed) -> CredentialFault {
      CredentialFault(fault: .init("failWrite", nth: nth, error: failure.rawValue))
    }

    /// One of the app's read calls (read, list) fails.
    ///
    /// - Parameters:
    ///   - nth: the number of the read call, from 1.
    ///   - failure: the error.
    /// - Returns: the fault.
    public static func failRead(nth: Int, with failure: Failure = .failed) -> CredentialFault {
      CredentialFault(fault: .init("failRead", nth: nth, error: failure.rawValue))
    }
  }
}
