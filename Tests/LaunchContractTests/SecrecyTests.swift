import Foundation
import LaunchContract
import Testing

@Suite("Secrets in contracts")
final class SecrecyTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "secrecy-\(UUID().uuidString)").path
  private let secrets = ["hunter2", "aHVudGVyMg", "t0ken"]
  private var contract = LaunchContract(
    environment: .init(id: "e", name: "n"), mode: "replay", clock: .init(kind: .system), seed: "s",
    toggles: ["skip-onboarding": .bool(true)], defaults: ["name": .string("Ann")],
    credentials: .init(items: [.init(service: "clinic", account: "ann", secret: Data("hunter2".utf8))]),
    control: .init(url: "http://127.0.0.1:1/__diorama", token: "t0ken"))

  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private func expectNone(in text: String, location: SourceLocation = #_sourceLocation) {
    for secret in secrets { #expect(!text.contains(secret), sourceLocation: location) }
  }

  @Test("do not appear in descriptions, dumps, mirrors or interpolated optionals")
  func prints() {
    var dumped = ""
    dump(contract, to: &dumped)
    let mirrored = Mirror(reflecting: contract).children.map { "\($0.label ?? "") \($0.value)" }.joined()
    let optional: LaunchContract? = contract
    for text in [
      "\(contract)", String(reflecting: contract), dumped, mirrored, String(reflecting: optional),
      "\([contract.control, nil])", "\(contract.credentials?.items ?? [])",
    ] {
      expectNone(in: text)
    }
  }

  @Test("do not appear in arguments: such documents go into a file of mode 0600")
  func arguments() throws {
    expectNone(in: try contract.launchArguments().joined(separator: " "))
    expectNone(in: try ContractWriter.deliver(contract, folder: folder, by: .arguments).value)
    contract.credentials = nil
    #expect(try ContractWriter.deliver(contract, folder: folder).file == nil)
    let delivery = try ContractWriter.deliver(contract, folder: folder, by: .arguments)
    let file = try #require(delivery.file)
    expectNone(in: delivery.value)
    expectNone(in: "\(delivery)")
    #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
    #expect(try LaunchContract.read(delivery.value, source: "test") == contract)
    contract.control = nil
    #expect(try ContractWriter.deliver(contract, folder: folder, by: .arguments).file == nil)
  }

  @Test(
    "do not appear in errors, wherever a document is broken",
    arguments: [
      #"{"version":1,"control":{"url":"u","token":"t0ken"}"#, #"{"version":1,"control":{"url":"u","token":"t0ken}}"#,
      #"{"version":1,"control":{"url":"u","token":t0ken}}"#,
      #"{"version":1,"control":{"url":"u","token":"t0ken" "x"}}"#,
      #"{"version":1,"control":{"url":"u","token":["t0ken"]}}"#, #"{"version":1,"control":{"token":"t0ken"}}"#,
      #"{"version":1,"control":"t0ken"}"#, #"{"version":1,"control":{"url":1,"token":"t0ken"}}"#,
      #"{"version":2,"control":{"url":"u","token":"t0ken"}}"#,
      #"{"version":1,"credentials":{"items":[{"service":"s","account":"a","secret":{"x":"aHVudGVyMg"}}]}}"#,
      #"{"version":1,"credentials":{"items":[{"service":"s","account":1,"secret":"aHVudGVyMg"}]}}"#,
      #"{"version":1,"credentials":{"items":[{"service":"s","account":"a","secret":"aHVudGVyMg"\u0000"#,
      #"aHVudGVyMg"#, #"t0ken"#, "{\"t0ken\u{7}\":1}",
    ])
  func errors(_ document: String) throws {
    let inline = #expect(throws: ContractError.self) { try LaunchContract.read(document, source: "DIORAMA_CONTRACT") }
    expectNone(in: "\(try #require(inline))")
    let path = "\(folder)/broken.json"
    try Data(document.utf8).write(to: URL(filePath: path))
    let file = #expect(throws: ContractError.self) { try LaunchContract.read("file:\(path)", source: "test") }
    expectNone(in: "\(try #require(file))")
  }

  @Test("do not appear in errors about documents that cannot be encoded")
  func unwritten() throws {
    contract.values["x"] = .double(.infinity)
    let encoding = #expect(throws: ContractError.self) { try ContractWriter.deliver(contract, folder: folder) }
    #expect(try #require(encoding).problem.contains("values.x"))
    expectNone(in: "\(try #require(encoding))")
    contract.values = [:]
    let nowhere = #expect(throws: ContractError.self) { try ContractWriter.deliver(contract, folder: "/nowhere") }
    expectNone(in: "\(try #require(nowhere))")
  }
}
