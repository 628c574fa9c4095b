import Diorama
import Foundation
import Testing

@Suite("States of trouble that a test orders")
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

  @Test("a locked device, a missing entitlement and a user who says no fail every call, until it is over")
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

  @Test("the nth write fails, changes nothing, and the next one succeeds")
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

  @Test("the nth read fails, lists counted")
  func nthRead() throws {
    let store = InMemoryCredentialStore([key: Data()], faults: [.failRead(nth: 2), .failRead(nth: 3, with: .locked)])
    _ = try store.read(key)
    try store.set(Data("x".utf8), for: key)
    #expect(kind { () throws(CredentialError) in _ = try store.keys() } == .failed)
    #expect(kind { () throws(CredentialError) in _ = try store.read(key) } == .locked)
    #expect(try store.read(key) == Data("x".utf8))
  }

  @Test("of two faults that hit one call the first counts")
  func order() {
    let store = InMemoryCredentialStore(faults: [.failWrite(nth: 1, with: .cancelled), .locked])
    #expect(kind { () throws(CredentialError) in try store.set(Data(), for: key) } == .cancelled)
    #expect(kind { () throws(CredentialError) in try store.set(Data(), for: key) } == .locked)
  }
}
