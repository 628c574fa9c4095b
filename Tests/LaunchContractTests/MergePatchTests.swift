import Foundation
import LaunchContract
import Testing

@Suite("Merge patches")
struct MergePatchTests {
  /// The examples of RFC 7396, appendix A, in which documents and patches are objects.
  @Test(
    "apply the examples of the RFC",
    arguments: [
      (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
      (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
      (#"{"a":"b"}"#, #"{"a":null}"#, #"{}"#),
      (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
      (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
      (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
      (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
      (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
      (#"{"e":null}"#, #"{"a":1}"#, #"{"a":1,"e":null}"#),
      (#"{}"#, #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
    ])
  func examples(document: String, patch: String, expected: String) throws {
    var values = try decoded(document)
    values.merge(patch: try decoded(patch))
    #expect(values == (try decoded(expected)))
  }

  private func decoded(_ json: String) throws -> [String: ContractValue] {
    try JSONDecoder().decode([String: ContractValue].self, from: Data(json.utf8))
  }
}
