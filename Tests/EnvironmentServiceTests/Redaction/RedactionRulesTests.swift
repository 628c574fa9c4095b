import Basics
import EnvironmentConfiguration
import Foundation
import LaunchContract
import Testing

@testable import EnvironmentService
@testable import Transforms

@Suite("Redaction rules")
struct RedactionRulesTests {
  @Test("are read and written as a file has them")
  func codable() throws {
    let text =
      #"{"form":["pin"],"headers":["X-S"],"json":["$..ssn"],"keep":{"credentials":["a/b"],"headers":["Cookie"]},"patterns":["x+"],"query":["token"]}"#
    let rules = try RedactionRules(decoding: Data(text.utf8))
    #expect(rules.json == ["$..ssn"])
    #expect(rules.keep.credentials == ["a/b"])
    #expect(String(decoding: try JSON.encode(rules), as: UTF8.self) == text)
    #expect(String(decoding: try JSON.encode(RedactionRules()), as: UTF8.self) == "{}")
  }

  @Test(
    "that are invalid are refused with their place and the valid ones",
    arguments: [
      (
        #"{"header": ["a"]}"#,
        "header: unknown member; did you mean 'headers'? The members are headers, query, json, form"
      ),
      (#"{"keep": {"query": []}}"#, "keep.query: unknown member; the members are headers, fields, credentials"),
      (#"{"json": "$.a"}"#, "json: expected an array, not a string"),
      (#"{"json": [1]}"#, "json[0]: expected a string, not a number"),
      (#"{"json": ["$.a"], "json": ["$.b"]}"#, "json: the member is given twice"),
      ("{", "not JSON"), ("[]", "expected an object, not an array"),
      (#"{"headers": [""]}"#, "headers[0]: must not be empty"),
    ])
  func unknown(text: String, problem: String) {
    let error = #expect(throws: CodedError.self) { try RedactionRules(decoding: Data(text.utf8)) }
    #expect(error?.problem.contains(problem) == true, "\(error?.problem ?? "")")
  }

  @Test(
    "that cannot be used are refused, with their place",
    arguments: [
      (#"{"headers": ["X-S*"]}"#, "headers[0]: 'X-S*' is not a header name"),
      (#"{"headers": ["Authorization:"]}"#, "headers[0]: 'Authorization:' is not a header name"),
      (#"{"query": ["a", "to*"]}"#, "query[1]: 'to*': '*' is not a wildcard here"),
      (#"{"keep": {"credentials": ["nosuch"]}}"#, "keep.credentials[0]: 'nosuch' is not a credential name"),
      (#"{"json": ["$.a[-1]"]}"#, "json[0]: '$.a[-1]' counts from the end"),
      (#"{"json": ["$.a", "b"]}"#, "json[1]: 'b' is not a valid JSON path"),
      (#"{"patterns": ["("]}"#, "patterns[0]: '(' is not a valid regular expression: missing"),
      (#"{"patterns": ["a*"]}"#, "patterns[0]: it also matches the empty string"),
      (#"{"keep": {"headers": ["Accept"]}}"#, "keep.headers[0]: 'Accept' is not redacted by default"),
    ])
  func unusable(text: String, problem: String) throws {
    let rules = try RedactionRules(decoding: Data(text.utf8))
    let error = #expect(throws: CodedError.self) { try rules.compiled() }
    #expect(error?.kind == .usage)
    #expect(error?.message.contains("redaction.\(problem)") == true, "\(error?.message ?? "")")
  }

  @Test("are part of a configuration")
  func request() throws {
    var configuration = EnvironmentConfiguration()
    configuration.redaction = try RedactionRules(decoding: Data(#"{"query": ["token"]}"#.utf8))
    #expect(try EnvironmentSpecification(configuration).redaction.query == ["token"])
    configuration.redaction?.json = ["x"]
    let error = #expect(throws: CodedError.self) { try EnvironmentSpecification(configuration) }
    #expect(error?.message.hasPrefix("redaction.json[0]: ") == true)
  }
}
