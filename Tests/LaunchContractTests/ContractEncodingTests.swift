import Basics
import Foundation
import LaunchContract
import Testing

@Suite("Encoding launch contracts")
struct ContractEncodingTests {
  private let contract = LaunchContract(
    environment: .init(id: "e-1", name: "naïve 🙂 / \"x\""), mode: "record",
    clock: .init(kind: .scaled, start: "2018-10-08T09:00:00.25+01:00", rate: 2.5, provisioned: "2026-01-01T00:00:00Z"),
    seed: "s",
    toggles: [
      "b": .bool(false), "a": .int(3), "d": .double(0.5), "n": .null, "o": .object(["x": .array([.string("y")])]),
    ],
    endpoints: ["clinic": "http://127.0.0.1:20013"],
    control: .init(url: "http://127.0.0.1:20011/__diorama", token: "t"),
    strings: .init(
      policy: .replay,
      entries: [
        "email": [.init(value: "v", parameters: .string(length: 1, alphabet: "uv")), nil],
        "id": [.init(value: "33b5dc9e-2b61-4d71-b1cb-ce186f420e82", parameters: .uuid(version4: true))],
        "age": [.init(value: "55", parameters: .integer(low: .min, high: .max))],
      ]))

  @Test("a decoded contract equals the encoded one")
  func roundTrip() throws {
    let document = try contract.encodedDocument()
    let read = try LaunchContract.read(String(decoding: document, as: UTF8.self), source: "test")
    #expect(read == contract)
  }

  @Test("encodes equal contracts to equal bytes, on one line, with unescaped slashes")
  func stable() throws {
    let document = try contract.encodedDocument()
    for _ in 0..<20 { #expect(try contract.encodedDocument() == document) }
    let text = String(decoding: document, as: UTF8.self)
    #expect(!text.contains("\n"))
    #expect(text.contains(#""clinic":"http://127.0.0.1:20013""#))
    #expect(text.contains(#""toggles":{"a":3,"b":false,"d":0.5,"n":null,"o":{"x":["y"]}}"#))
  }

  @Test("omits missing members")
  func absent() throws {
    let short = LaunchContract(environment: .init(id: "", name: ""), mode: "", clock: .init(kind: .system), seed: "")
    let text = String(decoding: try short.encodedDocument(), as: UTF8.self)
    #expect(
      text == #"{"clock":{"kind":"system","rate":1},"defaults":{},"endpoints":{},"environment":{"id":"","name":""},"#
        + #""mode":"","ports":{},"seed":"","toggles":{},"values":{},"version":1}"#)
  }

  @Test("encodes a string's entry as in the string store")
  func entry() throws {
    let entry = StringEntry(value: "z0", parameters: .string(length: 2, alphabet: "z0"))
    #expect(
      String(decoding: try JSON.encode(entry), as: UTF8.self) == #"{"alphabet":"z0","length":2,"value":"z0"}"#)
    let integer = StringEntry(value: "55", parameters: .integer(low: 18, high: 99))
    #expect(
      String(decoding: try JSON.encode(integer), as: UTF8.self)
        == #"{"high":99,"low":18,"type":"integer","value":"55"}"#)
  }

  @Test("never reveals a secret when printed")
  func secrets() {
    var contract = contract
    contract.credentials = .init(items: [.init(service: "clinic", account: "token", secret: Data("hunter2".utf8))])
    contract.control = .init(url: "http://127.0.0.1:1/__diorama", token: "t0ken")
    var dumped = ""
    dump(contract, to: &dumped)
    for text in ["\(contract)", String(reflecting: contract), String(describing: contract), dumped] {
      #expect(text.contains("<secret>"))
      #expect(!text.contains("t0ken"))
      #expect(!text.contains("aHVudGVyMg"))
    }
  }
}

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
    let inline = #expect(throws: CodedError.self) { try LaunchContract.read(document, source: "DIORAMA_CONTRACT") }
    expectNone(in: "\(try #require(inline))")
    let path = "\(folder)/broken.json"
    try Data(document.utf8).write(to: URL(filePath: path))
    let file = #expect(throws: CodedError.self) { try LaunchContract.read("file:\(path)", source: "test") }
    expectNone(in: "\(try #require(file))")
  }

  @Test("do not appear in errors about documents that cannot be encoded")
  func unwritten() throws {
    contract.values["x"] = .double(.infinity)
    let encoding = #expect(throws: CodedError.self) { try ContractWriter.deliver(contract, folder: folder) }
    #expect(try #require(encoding).problem.contains("values.x"))
    expectNone(in: "\(try #require(encoding))")
    contract.values = [:]
    let nowhere = #expect(throws: CodedError.self) { try ContractWriter.deliver(contract, folder: "/nowhere") }
    expectNone(in: "\(try #require(nowhere))")
  }
}
