import CredentialConcurrency
import Diorama
import DioramaTesting
import Foundation
import Testing

@Suite("In-memory credential store")
struct InMemoryCredentialTests {
  private let store = InMemoryCredentialStore()
  private let key = CredentialKey(service: "clinic", account: "auth-token")

  @Test("conforms to CredentialStore")
  func conforms() {
    #expect(CredentialStoreConformance.violations(of: store) == [])
  }

  @Test("holds the same credentials before and after the conformance checks")
  func cleanUp() throws {
    try store.add("t0ken", service: "clinic", account: "auth-token")
    #expect(CredentialStoreConformance.violations(of: store) == [])
    #expect(try store.keys() == [key])
  }

  @Test("stores text by service and account")
  func texts() throws {
    let token = "t0ken é 🙂"
    try store.add(token, service: "clinic", account: "auth-token")
    #expect(try store.readString(service: "clinic", account: "auth-token") == token)
    #expect(try store.read(service: "clinic", account: "auth-token") == Data(token.utf8))
    try store.update("second", service: "clinic", account: "auth-token")
    #expect(try store.readString(service: "clinic", account: "auth-token") == "second")
    try store.set("third", service: "clinic", account: "auth-token")
    try store.set(Data("shared".utf8), service: "clinic", account: "auth-token", group: "team")
    #expect(try store.readString(service: "clinic", account: "auth-token", group: "team") == "shared")
    #expect(
      try store.keys() == [key, CredentialKey(service: "clinic", account: "auth-token", group: "team")])
    try store.delete(service: "clinic", account: "auth-token")
    #expect(throws: CredentialError(.notFound, for: key)) {
      try store.readString(service: "clinic", account: "auth-token")
    }
  }

  @Test("reports a secret that is not text without showing it")
  func notText() throws {
    try store.add(Data([0xFF, 0x41]), for: key)
    #expect(throws: CredentialError(.notText, for: key)) {
      try store.readString(service: "clinic", account: "auth-token")
    }
  }

  @Test("is independent of other stores")
  func isolated() throws {
    try store.add(Data("x".utf8), for: key)
    #expect(try InMemoryCredentialStore().keys() == [])
    #expect(try InMemoryCredentialStore([key: Data("y".utf8)]).read(key) == Data("y".utf8))
  }

  @Test("does not show secrets when the store or the app's controls are printed or dumped")
  func secrecy() throws {
    let secret = "geheim-\(UUID().uuidString)"
    try store.add(secret, service: "clinic", account: "auth-token")
    let controls = try AppControls.launch(arguments: [], environment: [:], credentials: store, warn: { _ in })
    try controls.credentials.update(secret + "!", service: "clinic", account: "auth-token")
    var dumped = ""
    dump(store, to: &dumped)
    dump(controls, to: &dumped)
    for text in ["\(store)", String(reflecting: store), "\(controls)", dumped] {
      #expect(!text.contains(secret))
      // A byte of the secret in the format of a dumped Data.
      #expect(!text.contains("- 103\n"))
    }
    #expect("\(store)" == "InMemoryCredentialStore(1 credentials)")
  }
}

@Suite("Credential faults")
struct CredentialFaultTests {
  private let key = CredentialKey(service: "clinic", account: "auth-token")

  private func kind(_ body: () throws(CredentialError) -> Void) -> CredentialError.Kind? {
    do {
      try body()
      return nil
    } catch {
      return error.kind
    }
  }

  private func kinds(of store: InMemoryCredentialStore) -> [CredentialError.Kind?] {
    [
      kind { () throws(CredentialError) in _ = try store.read(key) },
      kind { () throws(CredentialError) in try store.add(Data(), for: key) },
      kind { () throws(CredentialError) in try store.update(Data(), for: key) },
      kind { () throws(CredentialError) in try store.set(Data(), for: key) },
      kind { () throws(CredentialError) in try store.delete(key) },
      kind { () throws(CredentialError) in _ = try store.keys() },
    ]
  }

  @Test("a locked device, a missing entitlement and a cancelling user fail every call until the fault is removed")
  func everyCall() throws {
    let states: [(CredentialFault, CredentialError.Kind)] = [
      (.locked, .locked), (.missingEntitlement, .missingEntitlement), (.cancelled, .cancelled),
    ]
    for (fault, expected) in states {
      let store = InMemoryCredentialStore([key: Data("kept".utf8)], faults: [fault])
      #expect(kinds(of: store) == Array(repeating: expected, count: 6))
      store.faults = []
      #expect(try store.read(key) == Data("kept".utf8))
    }
  }

  @Test("the nth write fails and changes nothing, and the next one succeeds")
  func nthWrite() throws {
    let store = InMemoryCredentialStore(faults: [.failWrite(nth: 3, with: .cancelled)])
    try store.add(Data("1".utf8), for: key)
    _ = try store.read(key)
    #expect(kind { () throws(CredentialError) in try store.add(Data("2".utf8), for: key) } == .duplicate)
    #expect(kind { () throws(CredentialError) in try store.delete(key) } == .cancelled)
    #expect(try store.read(key) == Data("1".utf8))
    try store.set(Data("4".utf8), for: key)
    store.faults = [.failWrite(nth: 1)]
    #expect(kind { () throws(CredentialError) in try store.set(Data("5".utf8), for: key) } == .failed)
    #expect(try store.read(key) == Data("4".utf8))
  }

  @Test("the nth read fails, counting lists")
  func nthRead() throws {
    let store = InMemoryCredentialStore([key: Data()], faults: [.failRead(nth: 2), .failRead(nth: 3, with: .locked)])
    _ = try store.read(key)
    try store.set(Data("x".utf8), for: key)
    #expect(kind { () throws(CredentialError) in _ = try store.keys() } == .failed)
    #expect(kind { () throws(CredentialError) in _ = try store.read(key) } == .locked)
    #expect(try store.read(key) == Data("x".utf8))
  }

  @Test("the first of two faults for a call counts")
  func order() {
    let store = InMemoryCredentialStore(faults: [.failWrite(nth: 1, with: .cancelled), .locked])
    #expect(kind { () throws(CredentialError) in try store.set(Data(), for: key) } == .cancelled)
    #expect(kind { () throws(CredentialError) in try store.set(Data(), for: key) } == .locked)
  }
}

@Suite("Concurrent use of credential stores")
struct ConcurrentCredentialTests {
  /// Thousands of calls. `DIORAMA_ROUNDS=1000` makes a million calls.
  private static let rounds = ProcessInfo.processInfo.environment["DIORAMA_ROUNDS"].flatMap { Int($0) } ?? 20

  @Test("mixed calls by 16 threads are linearizable")
  func mixed() {
    let run = ConcurrentRun(threads: 16, operations: Self.rounds * 1_000, sharedAccounts: 48)
    #expect(run.violations(of: InMemoryCredentialStore(), service: "clinic") == [])
  }
}
