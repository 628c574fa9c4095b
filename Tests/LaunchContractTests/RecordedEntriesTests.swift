import Foundation
import LaunchContract
import Testing

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
    let error = #expect(throws: ContractError.self) {
      try LaunchContract.read(#"{"version":1,"strings":{"policy":"replay","entries":\#(entries)}}"#, source: "test")
    }
    #expect(try #require(error).problem.contains(words))
  }
}
