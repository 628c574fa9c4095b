import Basics
@testable import Transforms
import ControlAPI
import Foundation
import LaunchContract
import Testing

@testable import EnvironmentService

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
    "that are none are refused, with their place and what there is",
    arguments: [
      (#"{"header": ["a"]}"#, "$.header: there is no such rule; there are headers, query, json, form, patterns, keep"),
      (#"{"keep": {"query": []}}"#, "$.keep.query: there is no such rule; there are headers, credentials"),
      (#"{"json": "$.a"}"#, "$.json: it is a string, not "),
      (#"{"json": [1]}"#, "$.json.0: it is a whole number, not a string"),
      (#"{"json": ["$.a"], "json": ["$.b"]}"#, "'json' is there twice; put both into one"),
      ("{", "not valid JSON"), ("[]", "it is an array"),
    ])
  func unknown(text: String, problem: String) {
    let error = #expect(throws: CodedError.self) { try RedactionRules(decoding: Data(text.utf8)) }
    #expect(error?.problem.contains(problem) == true, "\(error?.problem ?? "")")
  }

  @Test(
    "that cannot be used are refused, with their place",
    arguments: [
      (#"{"headers": ["X-S*"]}"#, "$.headers[0]: 'X-S*' is no header's name"),
      (#"{"headers": ["Authorization:"]}"#, "$.headers[0]: 'Authorization:' is no header's name"),
      (#"{"query": ["a", "to*"]}"#, "$.query[1]: 'to*': '*' stands for nothing here"),
      (#"{"keep": {"credentials": ["nosuch"]}}"#, "$.keep.credentials[0]: 'nosuch' is no credential"),
      (#"{"json": ["$.a[-1]"]}"#, "$.json[0]: '$.a[-1]' counts from an end"),
      (#"{"json": ["$.a", "b"]}"#, "$.json[1]: 'b' is not a valid JSON path"),
      (#"{"patterns": ["("]}"#, "$.patterns[0]: '(' is no regular"),
      (#"{"patterns": ["a*"]}"#, "$.patterns[0]: it also finds nothing"),
      (#"{"headers": [""]}"#, "$.headers[0]: it is empty"),
      (#"{"keep": {"headers": ["Accept"]}}"#, "$.keep.headers[0]: 'Accept' is not redacted by default"),
    ])
  func unusable(text: String, problem: String) throws {
    let rules = try RedactionRules(decoding: Data(text.utf8))
    let error = #expect(throws: CodedError.self) { try rules.compiled(from: "redact.json") }
    #expect(error?.kind == .usage)
    #expect(error?.message.contains("redact.json: \(problem)") == true, "\(error?.message ?? "")")
  }

  @Test("of the files beside a cassette and of who asks add up")
  func files() throws {
    let folder = NSTemporaryDirectory() + "diorama-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try #"{"headers": ["X-A"]}"#.write(toFile: "\(folder)/c.redact.json", atomically: false, encoding: .utf8)
    try #"{"headers": ["X-A", "X-B"]}"#.write(toFile: "\(folder)/redact.json", atomically: false, encoding: .utf8)
    var specification = EnvironmentSpecification(name: "a test", mode: .mock)
    specification.cassette = CassetteLocation("\(folder)/c")
    specification.redaction.headers = ["X-C"]
    #expect(try specification.redactor(token: "t").rules.headers == ["x-a", "x-b", "x-c"])
    specification.cassette = CassetteLocation("\(folder)/d")
    #expect(try specification.redactor(token: "t").rules.headers == ["x-a", "x-b", "x-c"])
    try #"{"heads": []}"#.write(toFile: "\(folder)/redact.json", atomically: false, encoding: .utf8)
    let error = #expect(throws: CodedError.self) { try specification.redactor(token: "t") }
    #expect(error?.message.contains("\(folder)/redact.json: $.heads: there is no such rule") == true)
  }

  @Test("come over the control API and go back into it")
  func request() throws {
    var request = ProvisioningRequest()
    request.redact = try RedactionRules(decoding: Data(#"{"query": ["token"]}"#.utf8))
    let specification = try EnvironmentSpecification(request)
    #expect(specification.redaction.query == ["token"])
    #expect(try ProvisioningRequest(specification).redact == request.redact)
    request.redact?.json = ["x"]
    let error = #expect(throws: CodedError.self) { try EnvironmentSpecification(request) }
    #expect(error?.message.hasPrefix("redact: $.json[0]: ") == true)
  }
}
