import Diorama
import Foundation
import LaunchContract
import Testing

@Suite("Credential store of an app")
struct ContractCredentialTests {
  private func launch(_ credentials: String) throws -> AppControls {
    let contract = #"{"version":1,"credentials":\#(credentials)}"#
    return try AppControls.launch(
      arguments: ["app"], environment: ["DIORAMA_CONTRACT": contract], credentials: Self.live("a live store was made"),
      warn: { Issue.record("warned: \($0)") })
  }

  private static func live(_ words: Comment) -> any CredentialStore {
    Issue.record(words)
    return InMemoryCredentialStore()
  }

  @Test("a contract's store holds only the contract's items")
  func filled() throws {
    let controls = try launch(
      #"{"store":"memory","items":[{"service":"clinic","account":"auth-token","secret":"dDBrZW4="},"#
        + #"{"service":"clinic","account":"auth-token","group":"team","secret":""}]}"#)
    #expect(try controls.credentials.readString(service: "clinic", account: "auth-token") == "t0ken")
    #expect(try controls.credentials.read(service: "clinic", account: "auth-token", group: "team") == Data())
    #expect(try controls.credentials.keys().count == 2)
    #expect(controls.credentials is InMemoryCredentialStore)
  }

  @Test("a contract without credentials gives an empty in-memory store")
  func empty() throws {
    for credentials in ["{}", "null", #"{"items":[]}"#] {
      #expect(try launch(credentials).credentials.keys() == [])
    }
    let bare = try AppControls.launch(
      arguments: [], environment: ["DIORAMA_CONTRACT": #"{"version":1}"#], credentials: Self.live("made"),
      warn: { _ in })
    #expect(bare.credentials is InMemoryCredentialStore)
  }

  @Test("the store simulates the contract's faults")
  func faults() throws {
    let locked = try launch(#"{"faults":[{"fault":"locked"}]}"#).credentials
    #expect(throws: CredentialError(.locked, for: nil)) { try locked.keys() }
    let store = try #require(
      launch(
        #"{"faults":[{"fault":"failWrite","nth":3,"error":"cancelled"},{"fault":"failRead","nth":2},"#
          + #"{"fault":"missingEntitlement"},{"fault":"cancelled"}]}"#
      ).credentials as? InMemoryCredentialStore)
    #expect(
      store.faults == [.failWrite(nth: 3, with: .cancelled), .failRead(nth: 2), .missingEntitlement, .cancelled])
  }

  @Test(
    "an invalid member is rejected with its JSON path and without the secret",
    arguments: [
      (#"{"store":"keychain"}"#, "credentials.store"),
      (#"{"items":[{"service":"s","account":"a","secret":"geheim!"}]}"#, "credentials.items.0.secret: not base64"),
      (#"{"items":[{"service":"s","account":"a\u0000","secret":""}]}"#, "credentials.items.0"),
      (
        #"{"items":[{"service":"s","account":"a","secret":""},{"service":"s","account":"a","secret":"geheim=="}]}"#,
        #"credentials.items.1: account "a" of service "s" occurs twice"#
      ),
      (#"{"faults":[{"fault":"broken"}]}"#, "credentials.faults.0.fault: 'broken' is not one of locked"),
      (#"{"faults":[{"fault":"failWrite"}]}"#, "credentials.faults.0.nth"),
      (#"{"faults":[{"fault":"failRead","nth":0}]}"#, "credentials.faults.0.nth"),
      (#"{"faults":[{"fault":"failWrite","nth":1,"error":"bad"}]}"#, "credentials.faults.0.error: 'bad' is not one of"),
    ])
  func broken(_ credentials: String, _ words: String) {
    let error = #expect(throws: DioramaError.self) { try launch(credentials) }
    #expect(error?.kind == .contract)
    #expect(error?.description.contains(words) == true, "\(String(describing: error))")
    #expect(error?.description.contains("geheim") == false)
  }

  @Test("a contract's groups and faults survive encoding and decoding")
  func roundTrip() throws {
    let contract = LaunchContract(
      environment: .init(id: "", name: ""), mode: "", clock: .init(kind: .system), seed: "",
      credentials: .init(
        items: [.init(service: "s", account: "a", group: "g", secret: Data([0, 255]))],
        faults: [.init("locked"), .init("failWrite", nth: 3, error: "cancelled")]))
    let document = try contract.encodedDocument()
    #expect(try JSONDecoder().decode(LaunchContract.self, from: document) == contract)
    #expect(!String(reflecting: contract).contains("AP8="))
  }

  @Test("without a contract, the app uses its own store")
  func live() throws {
    let own = InMemoryCredentialStore()
    let controls = try AppControls.launch(arguments: [], environment: [:], credentials: own, warn: { _ in })
    #expect(controls.credentials as? InMemoryCredentialStore === own)
    #expect(try AppControls.launch(credentials: own).credentials as? InMemoryCredentialStore === own)
  }

  #if !canImport(Security)
    @Test("without a contract and a store, each call explains how to pass one")
    func absent() throws {
      let store = try AppControls.launch(arguments: [], environment: [:], warn: { _ in }).credentials
      let key = CredentialKey(service: "clinic", account: "auth-token")
      let calls: [() throws -> Void] = [
        { _ = try store.read(key) }, { try store.add(Data(), for: key) }, { try store.update(Data(), for: key) },
        { try store.set(Data(), for: key) }, { try store.delete(key) }, { _ = try store.keys() },
      ]
      for call in calls {
        let error = #expect(throws: CredentialError.self) { try call() }
        #expect(error?.kind == .unavailable)
        #expect(
          error?.description == "no credential store on this platform: pass one to AppControls.launch(credentials:), "
            + "such as SecretServiceCredentialStore of the product DioramaSecretService")
      }
    }
  #endif
}
