import Basics
import Foundation
import Gherkin
import ScenarioReports
import Testing

/// The official JSON Schema of messages (see `Fixtures/NOTICE`), as far as it uses the language.
private struct MessageSchema {
  private let root: JSON
  private let documents: [String: JSON]

  init() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/messages.schema.json")
    root = try JSON.parse([UInt8](Data(contentsOf: file)))
    documents = Dictionary(
      uniqueKeysWithValues: (root["$defs"]?.object ?? []).map {
        (String($0.key.split(separator: "/").last ?? ""), $0.value)
      })
  }

  /// The violations by a message, each with its place.
  func violations(of message: JSON) -> [String] { check(message, root, in: root, at: "") }

  private func check(_ value: JSON, _ schema: JSON, in document: JSON, at place: String) -> [String] {
    if let reference = schema["$ref"]?.string {
      if reference.hasPrefix("#/definitions/") {
        let definition = document["definitions"]?[String(reference.dropFirst(14))]
        return definition.map { check(value, $0, in: document, at: place) } ?? ["\(place): no \(reference)"]
      }
      let other = documents[String(reference.split(separator: "/").last ?? "")]
      return other.map { check(value, $0, in: $0, at: place) } ?? ["\(place): no \(reference)"]
    }
    var problems: [String] = []
    switch (schema["type"]?.string, value) {
    case ("object", .object(let members)):
      let properties = schema["properties"]
      for member in members {
        if let property = properties?[member.key] {
          problems += check(member.value, property, in: document, at: "\(place).\(member.key)")
        } else {
          problems.append("\(place).\(member.key): not in the schema")
        }
      }
      for name in schema["required"]?.array ?? [] where value[name.text] == nil {
        problems.append("\(place).\(name.text): missing")
      }
    case ("array", .array(let elements)):
      for element in elements { problems += check(element, schema["items"] ?? .null, in: document, at: "\(place)[]") }
    case ("string", .string(let text)):
      if let words = schema["enum"]?.array, !words.contains(.string(text)) { problems.append("\(place): \(text)") }
    case ("integer", .number(let text)) where Int(text) != nil: break
    case ("boolean", .bool): break
    default: problems.append("\(place): \(value.text) is not of type \(schema["type"]?.text ?? "?")")
    }
    return problems
  }
}

@Suite("Schema of Cucumber messages")
struct MessageSchemaTests {
  private func check(_ messages: [Message]) throws {
    let schema = try MessageSchema()
    for message in messages {
      #expect(schema.violations(of: try JSON.parse(Array(message.encoded().utf8))) == [])
    }
  }

  @Test("is kept by what the library writes about a run")
  func run() throws {
    let feature = """
      # comment
      @tag
      Feature: f
        Rule: r
          Background:
            Given c
          Scenario Outline: s
            Given <a>
              | t |
            When b
              \"\"\"json
              {}
              \"\"\"
            Examples:
              | a |
              | 1 |
      """
    let argument = Message.StepMatchArgument(
      group: .init(children: [.init(start: 0, value: "1")], start: 0, value: "1"))
    let failed = SampleRun.Result(
      status: .failed, message: "m", arguments: [argument], attachments: [("text/plain", "b")])
    try check(
      try SampleRun(feature, attempts: [[[failed], [.init(status: .undefined, snippet: "code")]]]).messages)
  }

  @Test("is kept by every kind of message with all its members")
  func allMembers() throws {
    let time = Message.Timestamp(seconds: 1, nanos: 2)
    let place = Message.SourceReference(
      uri: "a", javaMethod: .init(className: "c", methodName: "m", methodParameterTypes: ["t"]),
      javaStackTraceElement: .init(className: "c", fileName: "f", methodName: "m"),
      location: Location(line: 1, column: 2))
    let error = Message.Exception(type: "t", message: "m", stackTrace: "s")
    let product = Message.Product(name: "n", version: "v")
    try check([
      .meta(
        .init(
          protocolVersion: "v", implementation: product, runtime: product, os: product, cpu: product,
          ci: .init(
            name: "n", url: "u", buildNumber: "1", git: .init(remote: "r", revision: "r", branch: "b", tag: "t")))),
      .hook(.init(id: "1", name: "n", sourceReference: place, tagExpression: "@a", type: .beforeTestStep)),
      .parameterType(
        .init(
          name: "n", regularExpressions: ["r"], preferForRegularExpressionMatch: true, useForSnippets: false, id: "1",
          sourceReference: place)),
      .undefinedParameterType(.init(expression: "e", name: "n")),
      .testRunFinished(.init(message: "m", success: false, timestamp: time, exception: error, testRunStartedId: "1")),
      .testRunHookStarted(.init(id: "1", testRunStartedId: "1", hookId: "1", workerId: "w", timestamp: time)),
      .testRunHookFinished(
        .init(
          testRunHookStartedId: "1",
          result: .init(duration: .init(seconds: 1, nanos: 2), message: "m", status: .failed, exception: error),
          timestamp: time)),
      .testCase(.init(id: "1", pickleId: "1", testSteps: [.init(hookId: "1", id: "1")], testRunStartedId: "1")),
      .attachment(
        .init(
          body: "b", contentEncoding: .base64, fileName: "f", mediaType: "m", source: Source(uri: "u", data: "d"),
          testCaseStartedId: "1", testStepId: "1", url: "u", testRunStartedId: "1", testRunHookStartedId: "1",
          timestamp: time)),
      .externalAttachment(
        .init(
          url: "u", mediaType: "m", testCaseStartedId: "1", testStepId: "1", testRunHookStartedId: "1", timestamp: time)
      ),
    ])
  }

  @Test("is kept by errors in feature files")
  func parseErrors() throws {
    let errors = try #require(throws: GherkinErrors.self) {
      try GherkinParser().parse("not a feature", uri: "a.feature")
    }
    let messages = errors.messages.map(Message.parseError)
    try #require(!messages.isEmpty)
    try check(messages)
    #expect(HTMLReport.html(messages).contains("Invalid feature file"))
  }

  @Test(
    "finds violations",
    arguments: [
      #"{"hook":{"id":1,"sourceReference":{}}}"#, #"{"hook":{"sourceReference":{}}}"#, #"{"unknown":{}}"#,
      #"{"testStepFinished":{"testCaseStartedId":"1","testStepId":"1","timestamp":{"seconds":1,"nanos":1},"testStepResult":{"duration":{"seconds":0,"nanos":0},"status":"GOOD"}}}"#,
    ])
  func violations(line: String) throws {
    #expect(try MessageSchema().violations(of: JSON.parse(Array(line.utf8))).count == 1)
  }
}
