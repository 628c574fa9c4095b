import Diorama
import DioramaTesting
import Foundation
import Testing

@Suite("Credentials in memory")
struct InMemoryCredentialTests {
  private let store = InMemoryCredentialStore()
  private let key = CredentialKey(service: "clinic", account: "auth-token")

  @Test("mean what the keychain's mean")
  func conforms() {
    #expect(CredentialStoreConformance.violations(of: store) == [])
  }

  @Test("leave nothing behind after the conformance kit, and lose nothing to it")
  func cleanUp() throws {
    try store.add("t0ken", service: "clinic", account: "auth-token")
    #expect(CredentialStoreConformance.violations(of: store) == [])
    #expect(try store.keys() == [key])
  }

  @Test("take and give texts, by service and account")
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

  @Test("say that a secret is no text, and do not show it")
  func notText() throws {
    try store.add(Data([0xFF, 0x41]), for: key)
    #expect(throws: CredentialError(.notText, for: key)) {
      try store.readString(service: "clinic", account: "auth-token")
    }
  }

  @Test("have nothing in another store")
  func isolated() throws {
    try store.add(Data("x".utf8), for: key)
    #expect(try InMemoryCredentialStore().keys() == [])
    #expect(try InMemoryCredentialStore([key: Data("y".utf8)]).read(key) == Data("y".utf8))
  }

  @Test("do not show when the store is printed or dumped, or an app's controls are")
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
      // Its bytes, as a dumped Data has them.
      #expect(!text.contains("- 103\n"))
    }
    #expect("\(store)" == "InMemoryCredentialStore(1 credentials)")
  }
}
