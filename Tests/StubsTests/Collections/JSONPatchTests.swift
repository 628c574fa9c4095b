import Basics
import Stubs
import Testing

@Suite("JSON patches")
struct JSONPatchTests {
  private func apply(_ patch: String, to document: String) throws -> String {
    try JSONPatch(json(patch)).apply(to: json(document)).text
  }

  @Test(
    "give the results of RFC 6902's appendix A",
    arguments: [
      ("A.1", #"{"foo":"bar"}"#, #"[{"op":"add","path":"/baz","value":"qux"}]"#, #"{"foo":"bar","baz":"qux"}"#),
      (
        "A.2", #"{"foo":["bar","baz"]}"#, #"[{"op":"add","path":"/foo/1","value":"qux"}]"#,
        #"{"foo":["bar","qux","baz"]}"#
      ),
      ("A.3", #"{"baz":"qux","foo":"bar"}"#, #"[{"op":"remove","path":"/baz"}]"#, #"{"foo":"bar"}"#),
      ("A.4", #"{"foo":["bar","qux","baz"]}"#, #"[{"op":"remove","path":"/foo/1"}]"#, #"{"foo":["bar","baz"]}"#),
      (
        "A.5", #"{"baz":"qux","foo":"bar"}"#, #"[{"op":"replace","path":"/baz","value":"boo"}]"#,
        #"{"baz":"boo","foo":"bar"}"#
      ),
      (
        "A.6", #"{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}"#,
        #"[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]"#,
        #"{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}"#
      ),
      (
        "A.7", #"{"foo":["all","grass","cows","eat"]}"#, #"[{"op":"move","from":"/foo/1","path":"/foo/3"}]"#,
        #"{"foo":["all","cows","eat","grass"]}"#
      ),
      (
        "A.8", #"{"baz":"qux","foo":["a",2,"c"]}"#,
        #"[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]"#,
        #"{"baz":"qux","foo":["a",2,"c"]}"#
      ),
      (
        "A.10", #"{"foo":"bar"}"#, #"[{"op":"add","path":"/child","value":{"grandchild":{}}}]"#,
        #"{"foo":"bar","child":{"grandchild":{}}}"#
      ),
      (
        "A.11", #"{"foo":"bar"}"#, #"[{"op":"add","path":"/baz","value":"qux","xyz":123}]"#,
        #"{"foo":"bar","baz":"qux"}"#
      ),
      ("A.14", #"{"/":9,"~1":10}"#, #"[{"op":"test","path":"/~01","value":10}]"#, #"{"/":9,"~1":10}"#),
      (
        "A.16", #"{"foo":["bar"]}"#, #"[{"op":"add","path":"/foo/-","value":["abc","def"]}]"#,
        #"{"foo":["bar",["abc","def"]]}"#
      ),
    ])
  func examples(name: String, document: String, patch: String, result: String) throws {
    #expect(try apply(patch, to: document) == result)
  }

  @Test(
    "fail as in RFC 6902's appendix A, with the operation and the reason",
    arguments: [
      (
        #"{"baz":"qux"}"#, #"[{"op":"test","path":"/baz","value":"bar"}]"#,
        "[0]: the value at '/baz' is not the tested one"
      ),
      (
        #"{"foo":"bar"}"#, #"[{"op":"add","path":"/baz/bat","value":"qux"}]"#,
        "[0]: nothing is at '/baz/bat', or it has no place there"
      ),
      (
        #"{"foo":"bar"}"#, #"[{"op":"add","path":"/baz","value":"qux","op":"remove"}]"#,
        "[0].op: occurs twice; keep one of them"
      ),
      (
        #"{"/":9,"~1":10}"#, #"[{"op":"test","path":"/~01","value":"10"}]"#,
        "[0]: the value at '/~01' is not the tested one"
      ),
    ])
  func failures(document: String, patch: String, problem: String) {
    #expect(#expect(throws: CodedError.self) { try apply(patch, to: document) }?.message == problem)
  }

  @Test(
    "follow RFC 6902 where its examples end",
    arguments: [
      ("[1]", #"[{"op":"add","path":"","value":{"a":1}}]"#, #"{"a":1}"#),
      ("[1]", #"[{"op":"replace","path":"","value":null}]"#, "null"),
      (#"{"a":1}"#, #"[{"op":"add","path":"/a","value":null}]"#, #"{"a":null}"#),
      (
        #"{"a":[1]}"#, #"[{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/a/0","value":0}]"#,
        #"{"a":[0,1],"b":[1]}"#
      ),
      (#"{"a":1}"#, #"[{"op":"move","from":"/a","path":"/a"}]"#, #"{"a":1}"#),
      (#"{"a":{"b":1}}"#, #"[{"op":"move","from":"/a/b","path":"/a"}]"#, #"{"a":1}"#),
      (#"{"a":{"b":1}}"#, #"[{"op":"move","from":"/a/b","path":""}]"#, "1"),
      (
        #"{"a":{"x":1,"y":[1.0]}}"#, #"[{"op":"test","path":"/a","value":{"y":[1],"x":1e0}}]"#,
        #"{"a":{"x":1,"y":[1.0]}}"#
      ),
      (#"{"":{"":1}}"#, #"[{"op":"remove","path":"//"}]"#, #"{"":{}}"#),
      (#"{"a":[1,2]}"#, #"[{"op":"replace","path":"/a/1","value":3}]"#, #"{"a":[1,3]}"#),
      (#"{"\#u{E9}":1}"#, #"[{"op":"add","path":"/e\#u{301}","value":2}]"#, #"{"\#u{E9}":1,"e\#u{301}":2}"#),
    ])
  func details(document: String, patch: String, result: String) throws {
    #expect(try apply(patch, to: document).utf8.elementsEqual(result.utf8))
  }

  @Test(
    "are refused with the operation's place and what to do",
    arguments: [
      ("{}", #"a JSON Patch is an array of operations, such as [{"op": "remove", "path": "/name"}]"#),
      ("[1]", "[0]: expected an object, found 1"),
      ("[{}]", "[0].op: missing"),
      (#"[{"op":"replce","path":""}]"#, "[0].op: 'replce' is not an operation; did you mean replace?"),
      (#"[{"op":"x","path":""}]"#, "[0].op: 'x' is not an operation; use add, remove, replace, move, copy, test"),
      (#"[{"op":"add","value":1}]"#, "[0].path: missing"),
      (#"[{"op":"add","path":"/a"}]"#, "[0].value: missing"),
      (#"[{"op":"test","path":"","value":{}},{"op":"move","path":"/a"}]"#, "[1].from: missing"),
      (#"[{"op":"add","path":"a","value":1}]"#, "[0].path: 'a' is not a JSON pointer; begin it with '/'"),
      (
        #"[{"op":"add","path":"/~2","value":1}]"#,
        "[0].path: '~' in the JSON pointer '/~2' is followed by neither 0 nor 1; write '~' as '~0'"
      ),
      (#"[{"op":"remove","path":""}]"#, "[0]: the whole document cannot be removed or moved; replace it"),
      (#"[{"op":"move","from":"/a","path":"/a/b"}]"#, "[0]: '/a' cannot be moved into itself"),
      (#"[{"op":"remove","path":"/list/01"}]"#, "[0]: '01' in '/list/01' is not the index of an element"),
      (#"[{"op":"remove","path":"/list/-"}]"#, "[0]: '-' in '/list/-' is not the index of an element"),
      (#"[{"op":"add","path":"/list/3","value":1}]"#, "[0]: nothing is at '/list/3', or it has no place there"),
      (#"[{"op":"replace","path":"/b","value":1}]"#, "[0]: nothing is at '/b', or it has no place there"),
    ])
  func refused(patch: String, problem: String) {
    let error = #expect(throws: CodedError.self) { try apply(patch, to: #"{"a":{},"list":[1,2]}"#) }
    #expect(error?.message == problem)
  }

  @Test("change all or nothing")
  func atomic() throws {
    var client = try Client()
    let patch = #"[{"op":"replace","path":"/name","value":"Eve"},{"op":"test","path":"/id","value":9}]"#
    let answer = try client.send("PATCH", "/people/1", patch, type: "application/json-patch+json")
    #expect(answer.status == 409)
    #expect(client.collection["1"]?["name"] == .string("Ann"))
  }

  @Test("find the values of RFC 6901's examples")
  func pointers() throws {
    let document = try json(
      #"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}"#)
    let expected = [
      ("/foo", #"["bar","baz"]"#), ("/foo/0", "bar"), ("/", "0"), ("/a~1b", "1"), ("/c%d", "2"), ("/e^f", "3"),
      ("/g|h", "4"), ("/i\\j", "5"), ("/k\"l", "6"), ("/ ", "7"), ("/m~0n", "8"),
    ]
    for (pointer, value) in expected {
      #expect(document[try JSONPointer(pointer)]?.text == value)
      #expect(try JSONPointer(pointer).text == pointer)
    }
    #expect(document[try JSONPointer("")] == document)
    #expect(document[try JSONPointer("/foo/2")] == nil)
  }

  @Test("end with an error if they nest too deep, add too much or take too many steps")
  func limits() throws {
    // Each copy doubles the depth, or the size.
    let deeper = Array(repeating: #"{"op":"copy","from":"","path":"/a"}"#, count: 100).joined(separator: ",")
    let larger = (0..<100).map { #"{"op":"copy","from":"/a","path":"/a/\#($0)"}"# }.joined(separator: ",")
    let slow = Array(repeating: #"{"op":"add","path":"/0","value":1}"#, count: 9_000).joined(separator: ",")
    let list = "[" + Array(repeating: "1", count: 20_000).joined(separator: ",") + "]"
    for (patch, document, problem) in [
      (deeper, #"{"a":1}"#, "nested more than 64 levels"), (larger, #"{"a":{"0":1}}"#, "the patch "),
      (slow, list, "more than 10000000 steps"),
    ] {
      let error = #expect(throws: CodedError.self) { try apply("[\(patch)]", to: document) }
      #expect(error?.kind == .usage)
      #expect(error?.message.contains(problem) == true, "\(error?.message ?? "")")
    }
    let copies = Array(repeating: #"{"op":"copy","from":"/a","path":"/b/-"}"#, count: 9_000).joined(separator: ",")
    let large = #"{"a":"\#(String(repeating: "x", count: 10_000))","b":[]}"#
    let error = #expect(throws: CodedError.self) { try apply("[\(copies)]", to: large) }
    #expect(error?.message.contains("adds more than 16777216 bytes") == true)
    let many = Array(repeating: #"{"op":"test","path":"","value":1}"#, count: 10_001).joined(separator: ",")
    #expect(throws: CodedError.self) { try apply("[\(many)]", to: "1") }
  }
}
