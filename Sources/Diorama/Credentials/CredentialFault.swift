/// A state of trouble that a test orders of an ``InMemoryCredentialStore``.
///
/// ```swift
/// let store = InMemoryCredentialStore(faults: [.locked])
/// store.faults = []                                     // the user has unlocked the device
/// store.faults = [.failWrite(nth: 3, with: .cancelled)] // two writes succeed, the third does not
/// ```
///
/// In a launch contract, as members of `credentials.faults`: `{"fault": "locked"}`,
/// `{"fault": "failWrite", "nth": 3, "error": "cancelled"}`.
public struct CredentialFault: Sendable, Equatable {
  /// Which calls fail.
  enum Scope: Sendable, Equatable {
    case everyCall
    case nthRead(Int)
    case nthWrite(Int)
  }

  let scope: Scope
  let kind: CredentialError.Kind

  /// The device is locked: every call fails.
  public static let locked = CredentialFault(scope: .everyCall, kind: .locked)
  /// The app is not signed for the keychain: every call fails.
  public static let missingEntitlement = CredentialFault(scope: .everyCall, kind: .missingEntitlement)
  /// The user says no each time: every call fails.
  public static let cancelled = CredentialFault(scope: .everyCall, kind: .cancelled)

  /// One call that writes (`add`, `update`, `set`, `delete`) fails and changes nothing.
  ///
  /// - Parameters:
  ///   - nth: which one, from 1, counted from when the fault was ordered; calls that fail by themselves count.
  ///   - kind: the error.
  /// - Returns: the fault.
  public static func failWrite(nth: Int, with kind: CredentialError.Kind = .failed) -> CredentialFault {
    precondition(nth >= 1, "failWrite: writes are counted from 1, so that there is none number \(nth)")
    return CredentialFault(scope: .nthWrite(nth), kind: kind)
  }

  /// One call that reads (`read`, `keys`) fails.
  ///
  /// - Parameters:
  ///   - nth: which one, from 1, counted from when the fault was ordered; calls that fail by themselves count.
  ///   - kind: the error.
  /// - Returns: the fault.
  public static func failRead(nth: Int, with kind: CredentialError.Kind = .failed) -> CredentialFault {
    precondition(nth >= 1, "failRead: reads are counted from 1, so that there is none number \(nth)")
    return CredentialFault(scope: .nthRead(nth), kind: kind)
  }
}
