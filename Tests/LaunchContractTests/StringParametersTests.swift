import Basics
import Foundation
import LaunchContract
import Testing

@Suite("Parameters of random values in JSON")
struct StringParametersTests {
  @Test(
    "are beside the value, and are read back",
    arguments: [
      (StringParameters.string(length: 2, alphabet: "ab"), #"{"alphabet":"ab","length":2,"value":"x"}"#),
      (.email(length: 3, domain: "a.b"), #"{"domain":"a.b","length":3,"type":"email","value":"x"}"#),
      (.uuid(version4: false), #"{"type":"uuid","value":"x"}"#),
      (.uuid(version4: true), #"{"type":"uuid","value":"x","version4":true}"#),
      (
        .integer(low: .min, high: .max),
        #"{"high":9223372036854775807,"low":-9223372036854775808,"type":"integer","value":"x"}"#
      ),
      (.choice(.options(["b", "a"])), #"{"options":["b","a"],"type":"choice","value":"x"}"#),
      (.choice(.count(3)), #"{"count":3,"type":"choice","value":"x"}"#),
      (.shuffle(.options([])), #"{"options":[],"type":"shuffle","value":"x"}"#),
      (.shuffle(.count(3)), #"{"count":3,"type":"shuffle","value":"x"}"#),
      (.generator, #"{"type":"generator","value":"x"}"#),
    ])
  func entries(parameters: StringParameters, text: String) throws {
    let entry = StringEntry(value: "x", parameters: parameters)
    #expect(String(decoding: try JSON.encode(entry), as: UTF8.self) == text)
    #expect(try JSONDecoder().decode(StringEntry.self, from: Data(text.utf8)) == entry)
  }

  private struct Request: Decodable {
    var parameters: StringParameters

    init(from decoder: any Decoder) throws {
      parameters = try StringParameters(request: decoder)
    }
  }

  @Test("have defaults in a request, but not in a store")
  func defaults() throws {
    let alphabet = "abcdefghijklmnopqrstuvwxyz0123456789"
    for (text, parameters) in [
      ("{}", StringParameters.string(length: 12, alphabet: alphabet)),
      (#"{"length": 3}"#, .string(length: 3, alphabet: alphabet)),
      (#"{"type": "email"}"#, .email(length: 12, domain: "example.com")),
    ] {
      #expect(try JSONDecoder().decode(Request.self, from: Data(text.utf8)).parameters == parameters)
      #expect(throws: DecodingError.self) { try JSONDecoder().decode(StringParameters.self, from: Data(text.utf8)) }
    }
    for text in [#"{"type": "integer"}"#, #"{"type": "choice"}"#, #"{"type": "x"}"#, #"{"length": "3"}"#] {
      #expect(throws: (any Error).self) { try JSONDecoder().decode(Request.self, from: Data(text.utf8)) }
    }
  }
}

@Suite("Recorded values in contracts")
struct RecordedEntriesTests {
  private let entries: [String: [StringEntry?]] = [
    "email": [.init(value: "uv", parameters: .string(length: 2, alphabet: "uv")), nil],
    "naïve \"🙂\"": [
      .init(value: "3", parameters: .integer(low: .min, high: .max)),
      .init(value: "33b5dc9e-2b61-4d71-b1cb-ce186f420e82", parameters: .uuid(version4: true)),
    ],
    "none": [],
  ]

  @Test("are parsed as a decoder would, including the members around them")
  func same() throws {
    let contract = LaunchContract(
      environment: .init(id: "e", name: "n"), mode: "replay", clock: .init(kind: .system), seed: "s",
      toggles: ["entries": .object(["entries": .int(1)])], strings: .init(policy: .replay, entries: entries))
    let document = try contract.encodedDocument()
    #expect(try JSONDecoder().decode(LaunchContract.self, from: document) == contract)
    #expect(try LaunchContract.read(String(decoding: document, as: UTF8.self), source: "test") == contract)
  }

  @Test("are parsed anywhere in a string store")
  func store() throws {
    let folder = FileManager.default.temporaryDirectory.path
    let path = "\(folder)/store-\(UUID().uuidString).json"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let text = #"""
      { "entries" : { "email": [ {"length":1.0, "alphabet":"ab", "value":"\u0061", "more": [{}]}, null ] },
        "algorithm": "uuid5-v1", "seed": "s", "format": 1 }
      """#
    try Data(text.utf8).write(to: URL(filePath: path))
    let store = try StringStoreDocument(path: path)
    #expect(store.entries == ["email": [.init(value: "a", parameters: .string(length: 1, alphabet: "ab")), nil]])
  }

  @Test(
    "are rejected with their place, whatever the problem",
    arguments: [
      (#"{"email":[{"value":"x","length":1}]}"#, "strings.entries.email.0"),
      (#"{"email":[null,{"value":1,"length":1,"alphabet":"ab"}]}"#, "strings.entries.email.1"),
      (#"{"email":{}}"#, "strings.entries.email"),
      (#"{"email":[{"type":"weather","value":"x"}]}"#, "strings.entries.email.0"),
      (#"[]"#, "strings.entries"),
      (#"{"email":[{]}"#, "not valid JSON"),
    ])
  func broken(_ entries: String, _ words: String) throws {
    let error = #expect(throws: CodedError.self) {
      try LaunchContract.read(#"{"version":1,"strings":{"policy":"replay","entries":\#(entries)}}"#, source: "test")
    }
    #expect(try #require(error).problem.contains(words))
  }
}
