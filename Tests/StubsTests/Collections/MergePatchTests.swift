import Basics
import Stubs
import Testing

@Suite("Merge patches")
struct MergePatchTests {
  @Test(
    "give the results of RFC 7396's appendix A",
    arguments: [
      (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
      (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
      (#"{"a":"b"}"#, #"{"a":null}"#, "{}"),
      (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
      (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
      (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
      (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
      (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
      (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
      (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#),
      (#"{"a":"foo"}"#, "null", "null"),
      (#"{"a":"foo"}"#, #""bar""#, "bar"),
      (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
      ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
      ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
    ])
  func examples(document: String, patch: String, result: String) throws {
    #expect(try json(document).merging(json(patch)).text == result)
  }

  @Test("give the document of RFC 7396's section 3, and keep the order of members")
  func document() throws {
    let document = try json(
      #"{"title":"Goodbye!","author":{"givenName":"John","familyName":"Doe"},"tags":["example","sample"],"content":"This"}"#
    )
    let patch = try json(
      #"{"title":"Hello!","phoneNumber":"+01-123-456-7890","author":{"familyName":null},"tags":["example"]}"#)
    let result =
      #"{"title":"Hello!","author":{"givenName":"John"},"tags":["example"],"content":"This","phoneNumber":"+01-123-456-7890"}"#
    #expect(document.merging(patch).text == result)
  }

  @Test("of many members are not slow")
  func large() throws {
    let document = JSON.object((0..<50_000).map { JSON.Member("a\($0)", .int($0)) })
    let patch = JSON.object((0..<50_000).map { JSON.Member("a\($0 * 2)", $0 % 2 == 0 ? .null : .int(-$0)) })
    #expect(document.merging(patch).object?.count == 50_000 + 25_000 - 12_500 - 12_500)
  }
}
