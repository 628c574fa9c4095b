import Basics
import LaunchContract
import TestSupport
import Testing

@testable import Cassettes

@Suite("String store files")
struct StringStoreFileTests {
  private let store = StringStoreFile(
    seed: "recording-2018", recording: "3f2a",
    entries: [
      "email": [
        .init(value: "z0r1lpyugt7o", parameters: .string(length: 12, alphabet: "abc")), nil,
        .init(value: "a\"b", parameters: .string(length: 3, alphabet: "\"ab")),
      ],
      "age": [
        .init(value: "55", parameters: .integer(low: 18, high: 99)),
        .init(value: "-9223372036854775808", parameters: .integer(low: .min, high: .max)),
      ],
      "deck": [
        .init(value: "2,0,1", parameters: .shuffle(.count(3))),
        .init(value: "1,0", parameters: .shuffle(.options(["a,b", "\""]))),
      ],
      "mail": [.init(value: "x@a.b", parameters: .email(length: 1, domain: "a.b"))],
      "noise": [.init(value: "53f6ad1b-aaa7-53aa-a60f-1e0555f85827", parameters: .generator)],
      "plan": [
        .init(value: "gold", parameters: .choice(.options(["gold", "tin"]))),
        .init(value: "4", parameters: .choice(.count(5))),
      ],
      "Z": [],
      "user": [
        .init(value: "33b5dc9e-2b61-5d71-b1cb-ce186f420e82", parameters: .uuid(version4: false)),
        .init(value: "33b5dc9e-2b61-4d71-b1cb-ce186f420e82", parameters: .uuid(version4: true)),
      ],
    ])

  private let text = """
    {
      "format": 1,
      "algorithm": "uuid5-v1",
      "seed": "recording-2018",
      "recording": "3f2a",
      "entries": {
        "Z": [],
        "age": [
          {"value": "55", "type": "integer", "low": 18, "high": 99},
          {"value": "-9223372036854775808", "type": "integer", "low": -9223372036854775808, "high": 9223372036854775807}
        ],
        "deck": [
          {"value": "2,0,1", "type": "shuffle", "count": 3},
          {"value": "1,0", "type": "shuffle", "options": ["a,b", "\\""]}
        ],
        "email": [
          {"value": "z0r1lpyugt7o", "length": 12, "alphabet": "abc"},
          null,
          {"value": "a\\"b", "length": 3, "alphabet": "\\"ab"}
        ],
        "mail": [
          {"value": "x@a.b", "type": "email", "length": 1, "domain": "a.b"}
        ],
        "noise": [
          {"value": "53f6ad1b-aaa7-53aa-a60f-1e0555f85827", "type": "generator"}
        ],
        "plan": [
          {"value": "gold", "type": "choice", "options": ["gold", "tin"]},
          {"value": "4", "type": "choice", "count": 5}
        ],
        "user": [
          {"value": "33b5dc9e-2b61-5d71-b1cb-ce186f420e82", "type": "uuid"},
          {"value": "33b5dc9e-2b61-4d71-b1cb-ce186f420e82", "type": "uuid", "version4": true}
        ]
      }
    }

    """

  private func message(_ text: String) -> String {
    do {
      _ = try StringStoreFile.read(Array(text.utf8), name: "a.strings.json")
      return "no error"
    } catch {
      return error.description
    }
  }

  @Test("writes one entry per line, with keys sorted by bytes")
  func write() throws {
    #expect(String(decoding: store.write(), as: UTF8.self) == text)
    #expect(
      String(decoding: StringStoreFile(seed: "").write(), as: UTF8.self)
        == "{\n  \"format\": 1,\n  \"algorithm\": \"uuid5-v1\",\n  \"seed\": \"\",\n  \"entries\": {}\n}\n")
  }

  @Test("reads back the file that it wrote")
  func roundTrip() throws {
    #expect(try StringStoreFile.read(store.write(), name: "a") == store)
    #expect(try StringStoreFile.read(StringStoreFile(seed: "").write(), name: "a") == StringStoreFile(seed: ""))
  }

  @Test("reads back any keys and values", arguments: 0..<50 as Range<UInt64>)
  func random(_ seed: UInt64) throws {
    var random = SeededGenerator(seed)
    var store = StringStoreFile(seed: random.text(upTo: 10))
    for _ in 0..<random.upTo(6) {
      store.entries[random.text(upTo: 6)] = (0..<random.upTo(4)).map { _ in
        switch random.upTo(3) {
        case 0: nil
        case 1: .init(value: random.text(upTo: 9), parameters: .uuid(version4: random.upTo(1) == 0))
        case 2: .init(value: random.text(upTo: 9), parameters: .integer(low: .min, high: .max))
        default:
          .init(
            value: random.text(upTo: 9), parameters: .string(length: random.upTo(99), alphabet: random.text(upTo: 9)))
        }
      }
    }
    #expect(try StringStoreFile.read(store.write(), name: "a") == store)
  }

  @Test("reads the example from the format description")
  func example() throws {
    let read = try StringStoreFile.read(
      Array(
        """
        {"format": 1, "algorithm": "uuid5-v1", "seed": "s", "more": 1,
         "entries": {"email": [{"value": "z0", "length": 2, "alphabet": "z0", "note": null}]}}
        """.utf8), name: "a")
    #expect(
      read
        == StringStoreFile(
          seed: "s", entries: ["email": [.init(value: "z0", parameters: .string(length: 2, alphabet: "z0"))]]))
  }

  @Test(
    "reports the problem and its location",
    arguments: [
      ("", "line 1, column 1: expected a value, found the end of the text"),
      ("[]", "it is not a string store"),
      (#"{"log": {}}"#, "it is a HAR, not a string store; pass the .strings.json file next to it"),
      (#"{"seed": ""}"#, "format is missing"),
      (
        #"{"seed": "", "format": 2}"#,
        "its format is 2, but this version of diorama supports at most 1; update diorama"
      ),
      (#"{"seed": "", "format": 1}"#, "algorithm is missing"),
      (
        #"{"seed": "", "format": 1, "algorithm": "uuid7"}"#,
        "its algorithm is 'uuid7', but this version of diorama supports only uuid5-v1; update diorama"
      ),
      (#"{"format": 1, "algorithm": "uuid5-v1", "entries": {}}"#, "seed is missing"),
      (#"{"seed": "", "format": 1, "algorithm": "uuid5-v1", "entries": []}"#, "entries is not an object"),
      (#"{"seed": "", "format": 1, "algorithm": "uuid5-v1", "entries": {"a": 1}}"#, "entries.a is not an array"),
      (
        #"{"seed": "", "format": 1, "algorithm": "uuid5-v1", "entries": {"a": [], "a": []}}"#,
        "entries.a appears twice"
      ),
      (#"{"seed": "", "format": 1, "algorithm": "uuid5-v1", "entries": {"a": [1]}}"#, "entries.a[0].value is missing"),
      (
        #"{"seed": "", "format": 1, "algorithm": "uuid5-v1", "entries": {"a": [null, {"value": "x"}]}}"#,
        "entries.a[1].length is missing"
      ),
      (
        #"{"seed": "", "format": 1, "algorithm": "uuid5-v1", "entries": {"a": [{"value": "x", "length": 1}]}}"#,
        "entries.a[0].alphabet is missing"
      ),
      (
        #"{"seed": "", "format": 1, "algorithm": "uuid5-v1", "entries": {"a": [{"value": "x", "type": "integer"}]}}"#,
        "entries.a[0].low or .high is missing"
      ),
      (
        #"{"seed": "", "format": 1, "algorithm": "uuid5-v1", "entries": {"a": [{"value": "x", "type": "float"}]}}"#,
        "entries.a[0].type is 'float'"
      ),
      (
        #"{"seed": "", "format": 1, "algorithm": "uuid5-v1", "entries": {"a": [{"value": "x", "type": "choice"}]}}"#,
        "entries.a[0] has neither options nor count"
      ),
      (
        #"{"seed": "", "format": 1, "algorithm": "uuid5-v1", "entries": {"a": [{"value": "x", "type": "email"}]}}"#,
        "entries.a[0].length is missing"
      ),
    ])
  func errors(_ text: String, _ problem: String) {
    #expect(message(text).hasPrefix("a.strings.json: \(problem)"))
  }
}
