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
      String(decoding: try ContractJSON.encode(entry), as: UTF8.self) == #"{"alphabet":"z0","length":2,"value":"z0"}"#)
    let integer = StringEntry(value: "55", parameters: .integer(low: 18, high: 99))
    #expect(
      String(decoding: try ContractJSON.encode(integer), as: UTF8.self)
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
