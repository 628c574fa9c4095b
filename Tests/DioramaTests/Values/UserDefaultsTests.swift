import Basics
import Foundation
import LaunchContract
import TestSupport
import Testing

/// The `UserDefaults` of a process, set by its arguments, by its contract, and by both.
@Suite("User defaults of a contract, in a separate process", .timeLimit(.minutes(5)))
struct UserDefaultsTests {
  enum Way: CaseIterable {
    case arguments, contract, both
  }

  private struct Found: Decodable {
    var bool: Bool
    var integer: Int
    var double: Double
    var string: String?
    var array: [String]?
    var dictionary: [String]?
    var data: Data?
    var date: Date?
    var isBool: Bool
    var integers: [Int]?
  }

  private func find(_ defaults: [String: JSON], _ way: Way) async throws -> [String: Found] {
    let contract = LaunchContract(
      environment: .init(id: "", name: ""), mode: "mock", clock: .init(kind: .system), seed: "", defaults: defaults)
    var arguments = ["-other", "pair"]
    if way != .contract { arguments += try contract.launchArguments() }
    var environment = ["KEYS": String(decoding: try JSON.encode(defaults.keys.sorted()), as: UTF8.self)]
    environment["LD_LIBRARY_PATH"] = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"]
    if way != .arguments {
      environment["DIORAMA_CONTRACT"] = String(decoding: try contract.encodedDocument(), as: UTF8.self)
    }
    let program = try #require(Bundle.main.executableURL).deletingLastPathComponent().appending(path: "DefaultsProbe")
    let words = ([program.path] + arguments).map { Array($0.utf8) }
    let outcome = try await onThread { [environment] in try Child(words, environment: environment).finish() }
    try #require(outcome.status == 0, "\(outcome.words)")
    return try JSONDecoder().decode([String: Found].self, from: Data(outcome.output))
  }

  @Test("keep their types in each way", arguments: Way.allCases)
  func types(_ way: Way) async throws {
    let found = try await find(
      [
        "yes": .bool(true), "no": .bool(false), "five": .int(5), "minus": .int(-5), "most": .int(.max),
        "half": .double(0.5), "tiny": .double(-1e-7), "list": .array([.int(1), .int(-2)]),
        "mixed": .array([.string("a"), .bool(true), .array([])]),
        "map": .object(["a": .int(1), "b": .object(["c": .string("<&>")])]),
        "date": .object(["$date": .string("2018-10-08T09:00:00Z")]), "data": .object(["$data": .string("AQL/")]),
        "like": .object(["$dictionary": .object(["$date": .string("no date")])]),
      ], way)
    #expect(found["yes"]?.bool == true && found["yes"]?.isBool == true)
    #expect(found["no"]?.bool == false && found["no"]?.isBool == true)
    #expect(found["five"]?.integer == 5 && found["five"]?.double == 5)
    #expect(found["minus"]?.integer == -5 && found["minus"]?.double == -5)
    #expect(found["most"]?.integer == .max)
    #expect(found["half"]?.double == 0.5)
    #expect(found["tiny"]?.double == -1e-7)
    #expect(found["list"]?.integers == [1, -2])
    #expect(found["mixed"]?.array?.count == 3)
    #expect(found["map"]?.dictionary == ["a", "b"])
    #expect(found["date"]?.date == Date(timeIntervalSince1970: 1_538_989_200))
    #expect(found["data"]?.data == Data([1, 2, 255]))
    #expect(found["like"]?.dictionary == ["$date"])
  }

  @Test("keep every string unchanged", arguments: Way.allCases)
  func strings(_ way: Way) async throws {
    let texts = [
      "", "plain", "two words", "-dash", "--", "{brace", "(1,2)", "[a]", "<true/>", "\"quoted\"", " spaces ", "\ttab",
      "line\nline", "naïve 🙂", "YES", "5", "<&>\"'", "=", "\u{A0}hard space", "]]>", "e\u{301}",
    ]
    let defaults = Dictionary(
      uniqueKeysWithValues: texts.enumerated().map { ("text\($0.offset)", JSON.string($0.element)) })
    let found = try await find(defaults, way)
    for (index, text) in texts.enumerated() {
      #expect(found["text\(index)"]?.string == text)
      #expect(found["text\(index)"]?.array == nil)
    }
  }

  @Test("can be set by the contract if an argument cannot")
  func carried() async throws {
    let defaults: [String: JSON] = [
      "-dash": .int(1), "": .int(2), "bell": .string("-\u{7}"), "return": .string("{\r}"),
      "precise": .object(["$date": .string("2018-10-08T09:00:00.25Z")]),
      "long": .string(String(repeating: "x", count: 40_000)), "nul": .string("a\u{0}b"),
    ]
    #expect(try await find(defaults, .arguments).isEmpty)
    let found = try await find(defaults.filter { $0.key != "long" }, .both)
    #expect(found["-dash"]?.integer == 1)
    #expect(found[""]?.integer == 2)
    #expect(found["bell"]?.string == "-\u{7}")
    #expect(found["return"]?.string == "{\r}")
    #expect(found["precise"]?.date == Date(timeIntervalSince1970: 1_538_989_200.25))
    #expect(found["nul"]?.string == "a\u{0}b")
  }
}
