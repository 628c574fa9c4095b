@testable import CassetteChecks
import Testing

@testable import Cassettes

@Suite("Drift of the shape of JSON")
struct ShapeTests {
  private static let fieldCases: [(String, String, [String], Int)] = [
    (#"{"a":1,"b":"x"}"#, #"{"a":2,"b":"y"}"#, [], 2),
    (#"{"a":1,"b":"x"}"#, #"{"a":1}"#, ["body $.b: gone, was a string"], 0),
    (#"{"a":1}"#, #"{"a":1,"b c":{}}"#, [#"body $["b c"]: new, an object"#], 0),
    (#"{"a":1}"#, #"{"a":"1"}"#, ["body $.a: was a number, is a string"], 0),
    (#"{"a":{"b":[1]}}"#, #"{"a":{"b":{"c":1}}}"#, ["body $.a.b: was an array, is an object"], 0),
    (#"{"a":1}"#, #"[1]"#, ["body $: was an object, is an array"], 0),
    (#"{"a":1}"#, #"{ "a":1.0 }"#, [], 0),
    (
      #"{"b":1,"a":1}"#, #"{"c":1,"a":true}"#,
      [
        "body $.a: was a number, is a boolean", "body $.b: gone, was a number", "body $.c: new, a number",
      ], 0
    ),
  ]

  @Test(
    "reports removed and added fields and changed types, one line each, separately from values",
    arguments: fieldCases)
  func members(_ recorded: String, _ live: String, _ lines: [String], _ values: Int) {
    let changes = changes(recorded, live)
    #expect(changes.lines == lines)
    #expect(changes.valueCount == values)
  }

  private static let nullCases: [(String, String, [String])] = [
    (#"{"a":null}"#, #"{"a":"x"}"#, []),
    (#"{"a":"x"}"#, #"{"a":null}"#, ["body $.a: was a string, is null"]),
    (#"[{"a":null},{"a":"x"}]"#, #"[{"a":null}]"#, []),
    (#"[{"a":"x"}]"#, #"[{"a":"x"},{"a":null}]"#, ["body $[].a: was a string, is a string or null"]),
  ]

  @Test(
    "treats a recorded null as an unknown type, and a new null as a change",
    arguments: nullCases)
  func null(_ recorded: String, _ live: String, _ lines: [String]) {
    #expect(changes(recorded, live).lines == lines)
  }

  private static let listCases: [(String, String, [String])] = [
    (#"[{"a":1,"b":1},{"a":1}]"#, #"[{"a":1}]"#, []),
    (#"[{"a":1}]"#, #"[{"a":1},{"a":2},{"a":3}]"#, []),
    (#"[{"a":1,"b":1}]"#, #"[{"a":1,"b":1},{"a":1}]"#, []),
    (#"[]"#, #"[{"a":1}]"#, []),
    (#"[{"a":1}]"#, #"[]"#, []),
    (#"[{"a":1,"b":1},{"a":2,"b":2}]"#, #"[{"a":1},{"a":2}]"#, ["body $[].b: gone, was a number"]),
    (#"[{"a":1}]"#, #"[{"a":1},{"a":2,"b":[]}]"#, ["body $[].b: new, an array"]),
    (#"[1,"x"]"#, #"["x"]"#, []),
    (#"[1]"#, #"[1,"x"]"#, ["body $[]: was a number, is a string or a number"]),
  ]

  @Test(
    "compares arrays by the combined shape of their elements: their number and optional fields are no drift",
    arguments: listCases)
  func arrays(_ recorded: String, _ live: String, _ lines: [String]) {
    #expect(changes(recorded, live).lines == lines)
  }

  private static let mapCases: [(String, String, [String])] = [
    (#"{"17":{"n":1},"18":{"n":2}}"#, #"{"19":{"n":3}}"#, []),
    (#"{"17":{"n":1}}"#, #"{"19":{"n":"x"}}"#, ["body $.*.n: was a number, is a string"]),
    (
      #"{"f81d4fae-7dec-11d0-a765-00a0c91e6bf6":{"n":1},"total":1}"#,
      #"{"2ed6657d-e927-568b-95e1-2665a8aea6a2":{"n":1,"m":1}}"#,
      ["body $.*.m: new, a number", "body $.total: gone, was a number"]
    ),
    (#"{"2018-10-08":[1]}"#, #"{"2018-10-09":[1],"2018-10-10":[2]}"#, []),
    (
      #"{"ann":{"n":1},"bob":{"n":1},"cid":{"n":1}}"#, #"{"dan":{"n":1},"eve":{"n":1},"fay":{"n":1},"bob":{"n":1}}"#,
      []
    ),
    (#"{"home":{"n":1},"work":{"n":1}}"#, #"{"home":{"n":1}}"#, ["body $.work: gone, was an object"]),
  ]

  @Test(
    "treats ids as data if they are keys: other ids are no drift, but another shape below them is",
    arguments: mapCases)
  func maps(_ recorded: String, _ live: String, _ lines: [String]) {
    #expect(changes(recorded, live).lines == lines)
  }

  @Test("counts changed values by their places, an inserted element as one, and reports a changed shape once")
  func values() {
    let two = changes(#"{"s":[{"i":1,"t":"a"},{"i":2,"t":"b"}],"n":1}"#, #"{"s":[{"i":1},{"i":9}],"n":2}"#)
    #expect(two.lines == ["body $.s[].t: gone, was a string"])
    #expect(two.valueLines == ["body $.n: was 1, is 2", "body $.s[1].i: was 2, is 9"])
    let more = changes("[1,2,3]", "[0,1,2,3]")
    #expect(more.valueLines == ["body $[0]: new, 0"])
    #expect(more.lines == [])
  }

  @Test("keeps a thousand values, and counts all")
  func many() {
    let old = "[" + (0..<3000).map { "{\"n\":\($0)}" }.joined(separator: ",") + "]"
    let new = "[" + (0..<3000).map { "{\"n\":\($0 + 1)}" }.joined(separator: ",") + "]"
    let changes = changes(old, new)
    #expect(changes.valueCount == 3000)
    #expect(changes.values.count == 1000)
    #expect(changes.shape.isEmpty)
  }

  @Test("compares values beyond the maximum depth by their kind, and ends")
  func deep() {
    let open = String(repeating: "[", count: 500)
    let close = String(repeating: "]", count: 500)
    let changes = changes(open + "1" + close, open + "2" + close)
    #expect(changes.lines == [])
    #expect(changes.valueCount == 1)
  }

  private static let nameCases: [(String, Bool)] = [
    ("17", true), ("-3", true), ("f81d4fae-7dec-11d0-a765-00a0c91e6bf6", true), ("5f2b8c9d0e1a", true),
    ("2018-10-08T09:00:00Z", true), ("ann@example.com", true), ("01ARZ3NDEKTSV4RRFFQ69G5FAV", true), ("v1", false),
    ("users", false), ("deadbeef", false), ("@context", false), ("address2", false), ("", false), ("sha256", false),
    ("openapi3-document", false), ("E10", false),
  ]

  @Test(
    "recognizes ids",
    arguments: nameCases)
  func ids(_ name: String, _ isID: Bool) {
    #expect(ChangingName.matches(name) == isID)
  }
}
