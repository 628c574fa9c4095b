public import Foundation

/// Credentials in memory alone: nothing is written anywhere, and all is gone with the store.
///
/// Under a launch contract an app always has this one, empty or with what the test put in. In unit tests and previews
/// make one and hand it in.
///
/// ```swift
/// let store = InMemoryCredentialStore(
///   [CredentialKey(service: "clinic", account: "auth-token"): Data("t0ken".utf8)], faults: [.locked])
/// ```
public final class InMemoryCredentialStore: CredentialStore {
  private struct State {
    var secrets: [CredentialKey: Data]
    var faults: [CredentialFault]
    /// Counted since the faults were ordered.
    var reads = 0
    var writes = 0
  }

  private let state: Locked<State>

  /// Makes a store of its own.
  ///
  /// - Parameters:
  ///   - secrets: what it holds at first.
  ///   - faults: the trouble that it is in; of several that hit one call the first counts.
  public init(_ secrets: [CredentialKey: Data] = [:], faults: [CredentialFault] = []) {
    state = Locked(State(secrets: secrets, faults: faults))
  }

  /// The trouble that the store is in; to set it starts the counting of reads and writes anew.
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

  /// Keeps a new secret, as ``CredentialStore`` says.
  public func add(_ secret: Data, for key: CredentialKey) throws(CredentialError) {
    try write(key) { (old) throws(CredentialError) in
      guard old == nil else { throw CredentialError(.duplicate, for: key) }
      old = secret
    }
  }

  /// Hands a secret out, as ``CredentialStore`` says.
  public func read(_ key: CredentialKey) throws(CredentialError) -> Data {
    try read(for: key) { (secrets) throws(CredentialError) in
      guard let secret = secrets[key] else { throw CredentialError(.notFound, for: key) }
      return secret
    }
  }

  /// Puts another secret in the place of the old one, as ``CredentialStore`` says.
  public func update(_ secret: Data, for key: CredentialKey) throws(CredentialError) {
    try write(key) { (old) throws(CredentialError) in
      guard old != nil else { throw CredentialError(.notFound, for: key) }
      old = secret
    }
  }

  /// Keeps a secret whether there was one or not, in one step.
  public func set(_ secret: Data, for key: CredentialKey) throws(CredentialError) {
    try write(key) { (old) throws(CredentialError) in old = secret }
  }

  /// Forgets a secret, as ``CredentialStore`` says.
  public func delete(_ key: CredentialKey) throws(CredentialError) {
    try write(key) { (old) throws(CredentialError) in
      guard old != nil else { throw CredentialError(.notFound, for: key) }
      old = nil
    }
  }

  /// Lists the keys in their order, as ``CredentialStore`` says.
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

// Printed or dumped, it would else show the secrets that it holds.
extension InMemoryCredentialStore: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// How many credentials there are, and no more.
  public var description: String {
    "InMemoryCredentialStore(\(state.withLock(\.secrets.count)) credentials)"
  }

  /// The same as ``description``.
  public var debugDescription: String { description }

  /// Shows nothing of what is inside.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
