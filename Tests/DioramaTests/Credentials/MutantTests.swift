import Diorama
import DioramaTesting
import Foundation
import Testing

@Suite("Credential store conformance checks")
struct MutantTests {
  @Test("find no violation in a correct store")
  func sound() {
    #expect(CredentialStoreConformance.violations(of: MutantStore(nil)) == [])
  }

  @Test("find each defect", arguments: Mutation.allCases)
  func mutant(_ mutation: Mutation) {
    let violations = CredentialStoreConformance.violations(of: MutantStore(mutation), groups: ["one", "two"], upTo: 1)
    #expect(violations != [])
  }

  @Test("report an unusable store as one violation")
  func useless() throws {
    let violations = CredentialStoreConformance.violations(of: InMemoryCredentialStore(faults: [.locked]))
    #expect(violations.count == 1)
    #expect(violations.first?.came.contains("locked") == true)
  }

  @Test("report the call, the expected result and the actual result")
  func words() throws {
    let violations = CredentialStoreConformance.violations(
      of: MutantStore(.updateOfNothingSucceeds), groups: [], upTo: 1)
    let first = try #require(violations.first)
    #expect(first.done.hasPrefix("missing credential: update to 1 bytes for account \"account\" of service"))
    #expect(first.expected.hasPrefix("the error notFound"))
    #expect(first.came == "success")
  }

  @Test("skip groups if the list of groups is empty")
  func withoutGroups() {
    #expect(CredentialStoreConformance.violations(of: MutantStore(.ignoresGroup), groups: []) == [])
  }
}

/// An in-memory store with one defect, or with none.
final class MutantStore: CredentialStore, @unchecked Sendable {
  struct Entry {
    var key: CredentialKey
    var secret: Data
    var number: Int
  }

  private let mutation: Mutation?
  private let lock = NSLock()
  private let pair = Pair()
  private let entries = Hidden()
  private var deleted: Set<CredentialKey> = []
  private var remembered: [CredentialKey: Data] = [:]
  /// A member that a careless store exposes to printing and reflection.
  private var shown: [String: Data] = [:]

  final class Hidden: CustomReflectable {
    var all: [CredentialKey: Entry] = [:]
    var count = 0
    var customMirror: Mirror { Mirror(self, children: [:]) }
  }

  init(_ mutation: Mutation?) { self.mutation = mutation }

  private func has(_ mutation: Mutation) -> Bool { self.mutation == mutation }

  func add(_ secret: Data, for key: CredentialKey) throws(CredentialError) {
    try check(key)
    if has(.addsInTwoSteps), lock.withLock({ entries.all[identity(key)] == nil }) {
      pair.meet()
      return lock.withLock { keep(secret, key) }
    }
    lock.lock()
    defer { lock.unlock() }
    if has(.refusesEmptySecrets), secret.isEmpty { throw CredentialError(.invalid, for: key) }
    if let old = entries.all[identity(key)] {
      if has(.addOverwritesAndFails) || has(.addOverwrites) { keep(secret, key) }
      if has(.addOverwrites) || has(.addKeepsAndSucceeds) { return }
      if has(.addFailsAsFailed) { throw CredentialError(.failed, for: key) }
      if has(.errorTellsSecret) {
        throw CredentialError(.duplicate, "the secret is \(String(decoding: old.secret, as: UTF8.self))")
      }
      throw CredentialError(.duplicate, for: key)
    }
    keep(secret, key)
  }

  func read(_ key: CredentialKey) throws(CredentialError) -> Data {
    try check(key)
    lock.lock()
    defer { lock.unlock() }
    if has(.readIsRemembered), let secret = remembered[key] { return secret }
    var entry = entries.all[identity(key)]
    if has(.takesAnyGroup), key.group == nil {
      entry = entry ?? entries.all.values.first { $0.key.service == key.service && $0.key.account == key.account }
    }
    guard let entry else {
      if has(.readOfNothingIsEmpty) { return Data() }
      if has(.readFailsAsFailed) { throw CredentialError(.failed, for: key) }
      if has(.errorHasTwoLines) { throw CredentialError(.notFound, "nothing\nfor \(key)") }
      throw CredentialError(.notFound, for: key)
    }
    remembered[key] = entry.secret
    return entry.secret
  }

  func update(_ secret: Data, for key: CredentialKey) throws(CredentialError) {
    try check(key)
    if has(.updatesInTwoSteps), lock.withLock({ entries.all[identity(key)] != nil }) {
      pair.wait()
      return lock.withLock { keep(secret, key) }
    }
    lock.lock()
    defer { lock.unlock() }
    guard let old = entries.all[identity(key)] else {
      if has(.updateCreates) { return keep(secret, key) }
      if has(.updateOfNothingSucceeds) { return }
      throw CredentialError(.notFound, for: key)
    }
    if has(.updateDoesNothing) { return }
    keep(has(.updateKeepsTail) ? secret + old.secret.dropFirst(secret.count) : secret, key)
  }

  func set(_ secret: Data, for key: CredentialKey) throws(CredentialError) {
    try check(key)
    lock.lock()
    defer { lock.unlock() }
    let isThere = entries.all[identity(key)] != nil
    if has(.setOfNothingFails), !isThere { throw CredentialError(.notFound, for: key) }
    if has(.setKeeps), isThere { return }
    keep(secret, key)
  }

  func delete(_ key: CredentialKey) throws(CredentialError) {
    try check(key)
    if has(.deletesInTwoSteps), lock.withLock({ entries.all[identity(key)] != nil }) {
      pair.meet()
      return lock.withLock { entries.all[identity(key)] = nil }
    }
    lock.lock()
    defer { lock.unlock() }
    guard let old = entries.all[identity(key)] else {
      if has(.deleteOfNothingSucceeds) { return }
      throw CredentialError(.notFound, for: key)
    }
    if has(.deleteDoesNothing) { return }
    defer { pair.happen() }
    deleted.insert(old.key)
    entries.all[identity(key)] = nil
    if has(.deleteTakesService) { entries.all = entries.all.filter { $0.value.key.service != key.service } }
    if has(.deleteTakesAllGroups) {
      entries.all = entries.all.filter { $0.value.key.service != key.service || $0.value.key.account != key.account }
    }
  }

  func keys(service: String?) throws(CredentialError) -> [CredentialKey] {
    lock.lock()
    defer { lock.unlock() }
    var found = Array(entries.all.values)
    if has(.listsDeleted) { found += deleted.map { Entry(key: $0, secret: Data(), number: 0) } }
    found = found.filter { entry in
      guard let service, !has(.listsAllServices) else { return true }
      let own = entry.key.service
      return has(.listsByPrefix) ? own.hasPrefix(service) : own.utf8.elementsEqual(service.utf8)
    }
    var keys = Set(found.map(\.key)).sorted()
    switch mutation {
    case .listsInAnyOrder: keys.shuffle()
    case .listsBackwards: keys.reverse()
    case .listsInOrderOfAddition: keys = found.sorted { $0.number < $1.number }.map(\.key)
    case .listsTwice: keys += keys
    case .listForgetsTheFirst: keys = Array(keys.dropFirst())
    case .listsNoGroups: keys = keys.map { CredentialKey(service: $0.service, account: $0.account) }
    case .listsSecrets:
      keys = found.map {
        CredentialKey(service: $0.key.service, account: $0.key.account + String(decoding: $0.secret, as: UTF8.self))
      }
    case .listFailsWhenEmpty where keys.isEmpty && entries.count > 0:
      throw CredentialError(.notFound, for: nil)
    default: break
    }
    return keys
  }

  private func check(_ key: CredentialKey) throws(CredentialError) {
    if has(.refusesEmptyAccounts), key.account.isEmpty { throw CredentialError(.invalid, for: key) }
    if has(.takesZeroInKeys), "\(key.service)\(key.account)\(key.group ?? "")".utf8.contains(0) { return }
    if has(.takesEmptyGroups), key.group?.isEmpty == true { return }
    try key.validate()
  }

  private func identity(_ key: CredentialKey) -> CredentialKey {
    var key = key
    switch mutation {
    case .ignoresGroup: key.group = nil
    case .ignoresService: key.service = ""
    case .ignoresCase: key.account = key.account.lowercased()
    case .trimsAccounts: key.account = key.account.trimmingCharacters(in: .whitespaces)
    case .ignoresUnicodeForm:
      key.service = key.service.precomposedStringWithCanonicalMapping
      key.account = key.account.precomposedStringWithCanonicalMapping
    case .joinsParts: key = CredentialKey(service: "", account: "\(key.service)\(key.account)", group: key.group)
    default: break
    }
    return key
  }

  private func keep(_ secret: Data, _ key: CredentialKey) {
    var secret = secret
    switch mutation {
    case .losesEmptySecrets where secret.isEmpty: return
    case .cutsAtZero: secret = secret.prefix { $0 != 0 }
    case .keepsTextOnly: secret = Data(String(decoding: secret, as: UTF8.self).utf8)
    case .trimsSecrets:
      if let text = String(data: secret, encoding: .utf8) {
        secret = Data(text.trimmingCharacters(in: .whitespacesAndNewlines).utf8)
      }
    case .cutsLongSecrets: secret = secret.prefix(4_096)
    case .dropsLastLineEnd where secret.last == 10: secret.removeLast()
    case .dumpsSecrets, .reflectsSecrets: shown["secret"] = secret
    case .printsSecrets: shown["secret"] = secret
    default: break
    }
    entries.count += 1
    let old = entries.all[identity(key)]
    entries.all[identity(key)] = Entry(key: old?.key ?? key, secret: Data(secret), number: old?.number ?? entries.count)
  }
}

extension MutantStore: CustomStringConvertible, CustomReflectable {
  var description: String {
    mutation == .printsSecrets ? "\(shown.mapValues { String(decoding: $0, as: UTF8.self) })" : "MutantStore"
  }

  var customMirror: Mirror {
    switch mutation {
    case .dumpsSecrets: Mirror(self, children: ["text": shown.mapValues { String(decoding: $0, as: UTF8.self) }])
    case .reflectsSecrets: Mirror(self, children: ["shown": shown])
    default: Mirror(self, children: [:])
    }
  }
}

/// Lets a second caller act between a caller's check and its write. Waits for at most a millisecond, because most calls
/// have no second caller.
private final class Pair: @unchecked Sendable {
  private let condition = NSCondition()
  private var waiting = 0

  /// Returns when a second caller arrives.
  func meet() {
    condition.lock()
    defer { condition.unlock() }
    waiting += 1
    if waiting > 1 { return condition.broadcast() }
    _ = condition.wait(until: Date() + 0.001)
    waiting = 0
  }

  /// Returns when ``happen()`` is called.
  func wait() {
    condition.lock()
    defer { condition.unlock() }
    _ = condition.wait(until: Date() + 0.001)
  }

  func happen() {
    condition.lock()
    defer { condition.unlock() }
    condition.broadcast()
  }
}

/// A defect that a credential store may have.
enum Mutation: String, CaseIterable, Sendable {
  case addOverwrites, addKeepsAndSucceeds, addOverwritesAndFails, addFailsAsFailed
  case updateCreates, updateOfNothingSucceeds, updateKeepsTail, updateDoesNothing
  case setOfNothingFails, setKeeps
  case deleteOfNothingSucceeds, deleteDoesNothing, deleteTakesService, deleteTakesAllGroups
  case readOfNothingIsEmpty, readIsRemembered, readFailsAsFailed
  case losesEmptySecrets, refusesEmptySecrets, cutsAtZero, keepsTextOnly, trimsSecrets, cutsLongSecrets,
    dropsLastLineEnd
  case ignoresGroup, takesAnyGroup, ignoresService, ignoresCase, ignoresUnicodeForm, joinsParts, trimsAccounts
  case listsInAnyOrder, listsBackwards, listsInOrderOfAddition, listsAllServices, listsByPrefix, listsDeleted
  case listsSecrets, listsTwice, listsNoGroups, listFailsWhenEmpty, listForgetsTheFirst
  case takesZeroInKeys, takesEmptyGroups, refusesEmptyAccounts
  case errorTellsSecret, errorHasTwoLines, printsSecrets, dumpsSecrets, reflectsSecrets
  case addsInTwoSteps, deletesInTwoSteps, updatesInTwoSteps
}
