import Basics
public import Foundation

#if DEBUG || Controlled
  package import LaunchContract
#endif

/// A credential store in memory. Nothing is written to disk.
///
/// Under a launch contract an app always uses it, empty or with the test's credentials. In unit tests and previews,
/// create one and pass it in.
///
/// ```swift
/// let store = InMemoryCredentialStore(
///   [CredentialKey(service: "clinic", account: "auth-token"): Data("t0ken".utf8)], faults: [.locked])
/// ```
public final class InMemoryCredentialStore: CredentialStore {
  private struct State {
    var secrets: [CredentialKey: Data]
    var faults: [CredentialFault]
    /// Counted since the faults were set.
    var reads = 0
    var writes = 0
  }

  private let state: Guarded<State>

  /// Creates a store.
  ///
  /// - Parameters:
  ///   - secrets: the initial credentials.
  ///   - faults: the faults to simulate; if several apply to a call, the first one counts.
  public init(_ secrets: [CredentialKey: Data] = [:], faults: [CredentialFault] = []) {
    state = Guarded(State(secrets: secrets, faults: faults))
  }

  /// The faults to simulate. Setting them resets the counts of reads and writes.
  public var faults: [CredentialFault] {
    get { state.withLock(\.faults) }
    set {
      state.withLock { state in
        state.faults = newValue
        state.reads = 0
        state.writes = 0
      }
    }
  }

  /// Adds a secret.
  public func add(_ secret: Data, for key: CredentialKey) throws(CredentialError) {
    try write(key) { (old) throws(CredentialError) in
      guard old == nil else { throw CredentialError(.duplicate, for: key) }
      old = secret
    }
  }

  /// Returns a secret.
  public func read(_ key: CredentialKey) throws(CredentialError) -> Data {
    try read(for: key) { (secrets) throws(CredentialError) in
      guard let secret = secrets[key] else { throw CredentialError(.notFound, for: key) }
      return secret
    }
  }

  /// Replaces a secret.
  public func update(_ secret: Data, for key: CredentialKey) throws(CredentialError) {
    try write(key) { (old) throws(CredentialError) in
      guard old != nil else { throw CredentialError(.notFound, for: key) }
      old = secret
    }
  }

  /// Adds or replaces a secret, in one step.
  public func set(_ secret: Data, for key: CredentialKey) throws(CredentialError) {
    try write(key) { (old) throws(CredentialError) in old = secret }
  }

  /// Deletes a secret.
  public func delete(_ key: CredentialKey) throws(CredentialError) {
    try write(key) { (old) throws(CredentialError) in
      guard old != nil else { throw CredentialError(.notFound, for: key) }
      old = nil
    }
  }

  /// Lists the keys, sorted.
  public func keys(service: String?) throws(CredentialError) -> [CredentialKey] {
    let all = try read(for: nil) { (secrets) throws(CredentialError) in Array(secrets.keys) }
    guard let service else { return all.sorted() }
    return all.filter { $0.service.utf8.elementsEqual(service.utf8) }.sorted()
  }

  private func write(
    _ key: CredentialKey, _ change: (inout Data?) throws(CredentialError) -> Void
  ) throws(CredentialError) {
    try key.validate()
    try state.withLock { (state) throws(CredentialError) in
      state.writes += 1
      try Self.check(state, .nthWrite(state.writes), for: key)
      try change(&state.secrets[key])
    }
  }

  private func read<Result>(
    for key: CredentialKey?, _ body: ([CredentialKey: Data]) throws(CredentialError) -> Result
  ) throws(CredentialError) -> Result {
    try key?.validate()
    return try state.withLock { (state) throws(CredentialError) in
      state.reads += 1
      try Self.check(state, .nthRead(state.reads), for: key)
      return try body(state.secrets)
    }
  }

  private static func check(
    _ state: State, _ call: CredentialFault.Scope, for key: CredentialKey?
  ) throws(CredentialError) {
    if let fault = state.faults.first(where: { $0.scope == .everyCall || $0.scope == call }) {
      throw CredentialError(fault.kind, for: key)
    }
  }
}

// Keeps secrets out of printed and dumped stores.
extension InMemoryCredentialStore: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The number of credentials.
  public var description: String {
    "InMemoryCredentialStore(\(state.withLock(\.secrets.count)) credentials)"
  }

  /// The same as ``description``.
  public var debugDescription: String { description }

  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

#if DEBUG || Controlled
  extension InMemoryCredentialStore {
    /// Creates the store of a contract, with its credentials and faults.
    ///
    /// - Throws: ``DioramaError`` of kind `contract` with the member: a store other than `memory`, an invalid or repeated
    ///   item, a secret that is not Base64, or an unknown fault.
    package convenience init(_ credentials: LaunchContract.Credentials?) throws(DioramaError) {
      let credentials = credentials ?? LaunchContract.Credentials(items: [])
      guard credentials.store == "memory" else {
        throw Self.error("store", "'\(credentials.store)' is not valid; only 'memory' is")
      }
      var secrets: [CredentialKey: Data] = [:]
      for (index, item) in credentials.items.enumerated() {
        let key = CredentialKey(service: item.service, account: item.account, group: item.group)
        do { try key.validate() } catch { throw Self.error("items.\(index)", error.description) }
        guard let secret = Data(base64Encoded: item.secret.revealed) else {
          throw Self.error("items.\(index).secret", "not base64")
        }
        guard secrets.updateValue(secret, forKey: key) == nil else {
          throw Self.error("items.\(index)", "\(key) occurs twice")
        }
      }
      var faults: [CredentialFault] = []
      for (index, fault) in credentials.faults.enumerated() {
        faults.append(try CredentialFault(fault, at: "faults.\(index)"))
      }
      self.init(secrets, faults: faults)
    }

    fileprivate static func error(_ member: String, _ problem: String) -> DioramaError {
      DioramaError(.contract, "launch contract: credentials.\(member): \(problem)")
    }
  }

  extension CredentialFault {
    /// A fault from a contract.
    fileprivate init(_ fault: LaunchContract.Credentials.Fault, at member: String) throws(DioramaError) {
      let kind: CredentialError.Kind?
      if let name = fault.error {
        kind = CredentialError.Kind(rawValue: name)
        guard kind != nil else {
          let kinds = CredentialError.Kind.allCases.map(\.rawValue).joined(separator: ", ")
          throw InMemoryCredentialStore.error("\(member).error", "'\(name)' is not one of \(kinds)")
        }
      } else {
        kind = nil
      }
      switch fault.fault {
      case "locked": self = .locked
      case "missingEntitlement": self = .missingEntitlement
      case "cancelled": self = .cancelled
      case "failWrite", "failRead":
        guard let nth = fault.nth, nth >= 1 else {
          throw InMemoryCredentialStore.error("\(member).nth", "\(fault.fault) requires the number of a call, from 1")
        }
        self =
          fault.fault == "failWrite"
          ? .failWrite(nth: nth, with: kind ?? .failed) : .failRead(nth: nth, with: kind ?? .failed)
      default:
        throw InMemoryCredentialStore.error(
          "\(member).fault",
          "'\(fault.fault)' is not one of locked, missingEntitlement, cancelled, failWrite, failRead")
      }
    }
  }
#endif

/// A fault that an ``InMemoryCredentialStore`` simulates.
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
  /// The calls that fail.
  enum Scope: Sendable, Equatable {
    case everyCall
    case nthRead(Int)
    case nthWrite(Int)
  }

  let scope: Scope
  let kind: CredentialError.Kind

  /// The device is locked: every call fails.
  public static let locked = CredentialFault(scope: .everyCall, kind: .locked)
  /// The app has no keychain entitlement: every call fails.
  public static let missingEntitlement = CredentialFault(scope: .everyCall, kind: .missingEntitlement)
  /// The user cancels each time: every call fails.
  public static let cancelled = CredentialFault(scope: .everyCall, kind: .cancelled)

  /// A write (`add`, `update`, `set`, `delete`) fails and changes nothing.
  ///
  /// - Parameters:
  ///   - nth: the number of the write, from 1, counted since the fault was set; writes with other errors count too.
  ///   - kind: the error.
  /// - Returns: the fault.
  public static func failWrite(nth: Int, with kind: CredentialError.Kind = .failed) -> CredentialFault {
    precondition(nth >= 1, "failWrite: nth must be at least 1, not \(nth)")
    return CredentialFault(scope: .nthWrite(nth), kind: kind)
  }

  /// A read (`read`, `keys`) fails.
  ///
  /// - Parameters:
  ///   - nth: the number of the read, from 1, counted since the fault was set; reads with other errors count too.
  ///   - kind: the error.
  /// - Returns: the fault.
  public static func failRead(nth: Int, with kind: CredentialError.Kind = .failed) -> CredentialFault {
    precondition(nth >= 1, "failRead: nth must be at least 1, not \(nth)")
    return CredentialFault(scope: .nthRead(nth), kind: kind)
  }
}
