import LaunchContract

extension TestEnvironment {
  /// A state of trouble that the app's credential store is in.
  ///
  /// ```swift
  /// @Test(.environment(.mock, credentialFaults: [.locked]))
  /// func asksForThePasswordOnALockedDevice() async throws { … }
  /// ```
  public struct CredentialFault: Sendable {
    /// How a call fails.
    public enum Failure: String, Sendable {
      /// For no reason that the app could act upon.
      case failed
      /// The device or the keyring is locked.
      case locked
      /// The app is not signed for the store.
      case missingEntitlement
      /// The user was asked and said no.
      case cancelled
      /// There is no store to talk to.
      case unavailable
    }

    let fault: LaunchContract.Credentials.Fault

    /// The device is locked: every call fails.
    public static let locked = CredentialFault(fault: .init("locked"))
    /// The app is not signed for the store: every call fails.
    public static let missingEntitlement = CredentialFault(fault: .init("missingEntitlement"))
    /// The user says no each time: every call fails.
    public static let cancelled = CredentialFault(fault: .init("cancelled"))

    /// One of the app's calls that write (add, update, set, delete) fails and changes nothing.
    ///
    /// - Parameters:
    ///   - nth: which one, from 1.
    ///   - failure: how it fails.
    /// - Returns: the fault.
    public static func failWrite(nth: Int, with failure: Failure = .failed) -> CredentialFault {
      CredentialFault(fault: .init("failWrite", nth: nth, error: failure.rawValue))
    }

    /// One of the app's calls that read (read, list) fails.
    ///
    /// - Parameters:
    ///   - nth: which one, from 1.
    ///   - failure: how it fails.
    /// - Returns: the fault.
    public static func failRead(nth: Int, with failure: Failure = .failed) -> CredentialFault {
      CredentialFault(fault: .init("failRead", nth: nth, error: failure.rawValue))
    }
  }
}
