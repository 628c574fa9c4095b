import Basics
import Stubs
import Testing

@Suite("JSON equality")
struct JSONEqualityTests {
  private static func equality(_ json: String, order: Bool = false, extra: Bool = false) throws -> JSONEquality {
    try JSONEquality(
      try JSON.parse(Array(json.utf8)), ignoreArrayOrder: order, ignoreExtraElements: extra)
  }

  private static func json(_ text: String) throws -> JSON { try JSON.parse(Array(text.utf8)) }

  @Test(
    "compares members in any order, and numbers by value",
    arguments: [
      (#"{"a": 1, "b": 2}"#, #"{"b": 2.0, "a": 1e0}"#, true), ("[10]", "[10.0]", true), ("[1, 2]", "[2, 1]", false),
      (#"{"a": null}"#, "{}", false), ("{}", #"{"a": null}"#, false), ("[]", "{}", false), (#""1""#, "1", false),
      (#"{"a": 1, "a": 2}"#, #"{"a": 2}"#, true), ("true", "true", true), ("[0.1]", "[0.10000000000000001]", false),
      ("\"\u{e9}\"", "\"e\u{301}\"", false),
    ] as [(String, String, Bool)])
  func values(expected: String, actual: String, isEqual: Bool) throws {
    #expect(try Self.equality(expected).matches(try Self.json(actual)) == isEqual)
  }

  @Test(
    "understands placeholders",
    arguments: [
      ("${json-unit.any-string}", #""x""#, true), ("${json-unit.any-string}", "1", false),
      ("#{json-unit.any-number}", "1.5", true), ("${json-unit.any-number}", #""1""#, false),
      ("${json-unit.any-boolean}", "false", true), ("${json-unit.any-boolean}", "null", false),
      ("${json-unit.ignore}", "[1]", true), ("${json-unit.ignore-element}", "1", true),
      ("${json-unit.regex}[A-Z]+", #""ABC""#, true), ("${json-unit.regex}[A-Z]+", #""ABc""#, false),
      ("${json-unit.regex}[A-Z]+", "1", false), ("${json-unit.regex}", #""""#, true),
      ("${json-unit.any-string} ", #""x""#, false), ("${json-unit.unknown}", #""${json-unit.unknown}""#, true),
    ] as [(String, String, Bool)])
  func placeholders(placeholder: String, actual: String, isEqual: Bool) throws {
    let equality = try Self.equality(#"{"a": "\#(placeholder)"}"#)
    #expect(try equality.matches(try Self.json(#"{"a": \#(actual)}"#)) == isEqual)
  }

  @Test("lets only an ignored element be missing")
  func missing() throws {
    #expect(try Self.equality(#"{"a": "${json-unit.ignore-element}"}"#).matches(try Self.json("{}")))
    #expect(try !Self.equality(#"{"a": "${json-unit.ignore}"}"#).matches(try Self.json("{}")))
  }

  @Test("rejects custom matchers, invalid patterns and deep nesting")
  func errors() {
    #expect(throws: CodedError.self) { try Self.equality(#"["${json-unit.matches:isOdd}3"]"#) }
    #expect(throws: CodedError.self) { try Self.equality(##"["${json-unit.regex}("]"##) }
    let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
    #expect(throws: CodedError.self) { try Self.equality(deep) }
  }

  @Test("pairs elements in any order, even if several fit")
  func order() throws {
    let expected = #"["${json-unit.any-string}", "a", {"k": "${json-unit.ignore}"}, {"k": 1}]"#
    let equality = try Self.equality(expected, order: true)
    #expect(try equality.matches(try Self.json(#"[{"k": 2}, "a", {"k": 1}, "b"]"#)))
    #expect(try equality.matches(try Self.json(#"[{"k": 1}, {"k": 1}, "a", "a"]"#)))
    #expect(try !equality.matches(try Self.json(#"[{"k": 2}, {"k": 3}, "a", "b"]"#)))
    #expect(try !equality.matches(try Self.json(#"[{"k": 1}, "a", {"k": 1}]"#)))
  }

  @Test("ignores more elements and members than expected")
  func extra() throws {
    let equality = try Self.equality(#"{"a": [1, {"b": 2}]}"#, extra: true)
    #expect(try equality.matches(try Self.json(#"{"c": 0, "a": [1, {"b": 2, "x": 3}, 4]}"#)))
    #expect(try !equality.matches(try Self.json(#"{"a": [4, 1, {"b": 2}]}"#)))
    let unordered = try Self.equality(#"{"a": [1, {"b": 2}]}"#, order: true, extra: true)
    #expect(try unordered.matches(try Self.json(#"{"a": [4, {"b": 2, "x": 3}, 1]}"#)))
    #expect(try !unordered.matches(try Self.json(#"{"a": [4, {"b": 3}, 1]}"#)))
  }

  @Test(
    "has WireMock's distances",
    arguments: [
      (#"{"a": [1, 2]}"#, #"{"a": [1, 3], "b": 2}"#, 2.0 / 6), ("1", #""x""#, 1.0), ("[1, 2]", "[1]", 1.0 / 3),
      (#"{"a": 1}"#, #"{"a": 1}"#, 0.0), ("[]", "{}", 1.0), (#"{"a": {"b": 1}}"#, "{}", 0.5),
    ] as [(String, String, Double)])
  func distances(expected: String, actual: String, distance: Double) throws {
    #expect(abs(try Self.equality(expected).distance(to: try Self.json(actual)) - distance) < 1e-9)
  }

  @Test("compares long arrays in any order quickly, or ends with one error")
  func long() throws {
    let elements = (0..<2_000).map { JSON.object(["id": .int($0)]) }
    let equality = try JSONEquality(.array(elements), ignoreArrayOrder: true)
    #expect(try equality.matches(.array(elements.reversed())))
    #expect(try !equality.matches(.array(elements.dropLast() + [.int(1)])))
    let patterns = try JSONEquality(
      .array((0..<5_000).map { _ in .string("${json-unit.any-number}") }), ignoreArrayOrder: true)
    #expect(throws: CodedError.self) { try patterns.matches(.array((0..<5_000).map { .int($0) })) }
  }

  @Test("compares deeply nested values on a small stack, and quickly in any order")
  func depth() async throws {
    try await onSmallStack {
      let equality = try Self.equality(.nested(30, #"[{"a":"#, "1", "}]"), order: true)
      let other = try Self.json(.nested(30, #"[{"a":"#, "2", "}]"))
      #expect(try !equality.matches(other))
      #expect(try equality.distance(to: other) > 0)
    }
  }

  @Test("survives 20,000 damaged values")
  func mutations() throws {
    let texts = [
      #"{"a": ["${json-unit.regex}[a-z]+", 1.5e3, null], "b": {"c": "${json-unit.ignore-element}"}}"#,
      ##"[{"a": 1}, {"a": "#{json-unit.any-string}"}, [true, [false]]]"##,
    ]
    var mutations = Mutations()
    for round in 0..<20_000 {
      guard let expected = try? Self.json(mutations.next(of: texts)),
        let actual = try? Self.json(mutations.next(of: texts)),
        let equality = try? JSONEquality(
          expected, ignoreArrayOrder: round % 2 == 0, ignoreExtraElements: round % 3 == 0)
      else { continue }
      let matches = try equality.matches(actual)
      let distance = try equality.distance(to: actual)
      #expect(matches == (distance == 0))
      #expect(0...1 ~= distance)
    }
  }

  @Test("has a fingerprint that rules out other values, and no value that is equal")
  func fingerprint() throws {
    func json(_ text: String) throws -> JSON { try JSON.parse(Array(text.utf8)) }
    let equality = try JSONEquality(json(#"{"a": 1, "b": [1.50, null]}"#))
    for (text, isEqual) in [
      (#"{"b": [1.5, null], "a": 10e-1}"#, true), (#"{"a": 2, "a": 1, "b": [1.5, null]}"#, true),
      (#"{"a": 1, "b": [null, 1.5]}"#, false), (#"{"a": 1}"#, false),
    ] {
      let value = try json(text)
      #expect(try equality.matches(value) == isEqual, "\(text)")
      // A value that repeats a name has none.
      let fingerprint = JSONEquality.Fingerprint(value)
      #expect((fingerprint.map { $0 == equality.fingerprint } ?? true) == isEqual, "\(text)")
    }
    for equality in [
      try JSONEquality(json(#"{"a": "${json-unit.any-string}"}"#)),
      try JSONEquality(json("[1, 2]"), ignoreArrayOrder: true),
      try JSONEquality(json("[1]"), ignoreExtraElements: true),
    ] { #expect(equality.fingerprint == nil) }
  }
}
