package import Basics
import Foundation
package import Gherkin

/// A message of Cucumber's stream about a run of scenarios (`cucumber/messages`): a line of NDJSON.
///
/// ```swift
/// for message in try Message.read(text, source: "messages.ndjson") { … }
/// ```
package enum Message: Hashable, Sendable {
  case attachment(Attachment)
  case externalAttachment(ExternalAttachment)
  case gherkinDocument(GherkinDocument)
  case hook(Hook)
  case meta(Meta)
  case parameterType(ParameterType)
  case parseError(ParseError)
  case pickle(Pickle)
  case suggestion(Suggestion)
  case source(Source)
  case stepDefinition(StepDefinition)
  case testCase(TestCase)
  case testCaseFinished(TestCaseFinished)
  case testCaseStarted(TestCaseStarted)
  case testRunFinished(TestRunFinished)
  case testRunStarted(TestRunStarted)
  case testStepFinished(TestStepFinished)
  case testStepStarted(TestStepStarted)
  case testRunHookStarted(TestRunHookStarted)
  case testRunHookFinished(TestRunHookFinished)
  case undefinedParameterType(UndefinedParameterType)
  /// A kind of message that later versions of the schema add, with its content.
  case other(kind: String, JSON)

  /// - Parameter envelope: what the parser writes.
  package init(_ envelope: Envelope) {
    switch envelope {
    case .source(let source): self = .source(source)
    case .gherkinDocument(let document): self = .gherkinDocument(document)
    case .pickle(let pickle): self = .pickle(pickle)
    case .parseError(let error): self = .parseError(error)
    }
  }

  /// Reads messages.
  ///
  /// - Parameters:
  ///   - text: NDJSON. Empty lines are ignored.
  ///   - source: the path or name of the text, for errors.
  /// - Returns: the messages in order.
  /// - Throws: ``CodedError`` of kind `broken`, with the line.
  package static func read(_ text: String, source: String) throws(CodedError) -> [Message] {
    var messages: [Message] = []
    var number = 0
    // Not by characters: "\r\n" is one.
    for line in text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false) {
      number += 1
      guard line.contains(where: { $0 > 0x20 }) else { continue }
      messages.append(try message(Data(line), at: "\(source): line \(number)"))
    }
    return messages
  }

  private static func message(_ line: Data, at place: String) throws(CodedError) -> Message {
    do throws(CodedError) {
      return try JSON.decode(Message.self, from: line, source: place)
    } catch {
      // Foundation rejects half of a surrogate pair, which JavaScript writes. Here it is replaced.
      guard let document = try? JSON.parse([UInt8](line)).encoded() else {
        throw CodedError(
          .broken, "\(error.problem); each line must be a Cucumber message, so delete an incomplete one", at: place)
      }
      return try JSON.decode(Message.self, from: Data(document), source: place)
    }
  }

  /// The message in one line of JSON, without a line break.
  package func encoded() -> String {
    // Only numbers without JSON form could fail, and there are only integers.
    (try? JSON.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
  }
}

extension Message: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: AnyKey.self)
    guard container.allKeys.count == 1, let key = container.allKeys.first else {
      throw CodedError(
        .broken, "a Cucumber message is an object with one member such as 'pickle'; found \(container.allKeys.count)")
    }
    switch key.stringValue {
    case "attachment": self = .attachment(try container.decode(Attachment.self, forKey: key))
    case "externalAttachment": self = .externalAttachment(try container.decode(ExternalAttachment.self, forKey: key))
    case "gherkinDocument": self = .gherkinDocument(try container.decode(GherkinDocument.self, forKey: key))
    case "hook": self = .hook(try container.decode(Hook.self, forKey: key))
    case "meta": self = .meta(try container.decode(Meta.self, forKey: key))
    case "parameterType": self = .parameterType(try container.decode(ParameterType.self, forKey: key))
    case "parseError": self = .parseError(try container.decode(ParseError.self, forKey: key))
    case "pickle": self = .pickle(try container.decode(Pickle.self, forKey: key))
    case "suggestion": self = .suggestion(try container.decode(Suggestion.self, forKey: key))
    case "source": self = .source(try container.decode(Source.self, forKey: key))
    case "stepDefinition": self = .stepDefinition(try container.decode(StepDefinition.self, forKey: key))
    case "testCase": self = .testCase(try container.decode(TestCase.self, forKey: key))
    case "testCaseFinished": self = .testCaseFinished(try container.decode(TestCaseFinished.self, forKey: key))
    case "testCaseStarted": self = .testCaseStarted(try container.decode(TestCaseStarted.self, forKey: key))
    case "testRunFinished": self = .testRunFinished(try container.decode(TestRunFinished.self, forKey: key))
    case "testRunStarted": self = .testRunStarted(try container.decode(TestRunStarted.self, forKey: key))
    case "testStepFinished": self = .testStepFinished(try container.decode(TestStepFinished.self, forKey: key))
    case "testStepStarted": self = .testStepStarted(try container.decode(TestStepStarted.self, forKey: key))
    case "testRunHookStarted": self = .testRunHookStarted(try container.decode(TestRunHookStarted.self, forKey: key))
    case "testRunHookFinished": self = .testRunHookFinished(try container.decode(TestRunHookFinished.self, forKey: key))
    case "undefinedParameterType":
      self = .undefinedParameterType(try container.decode(UndefinedParameterType.self, forKey: key))
    default: self = .other(kind: key.stringValue, try container.decode(JSON.self, forKey: key))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: AnyKey.self)
    switch self {
    case .attachment(let content): try container.encode(content, forKey: AnyKey(stringValue: "attachment"))
    case .externalAttachment(let content):
      try container.encode(content, forKey: AnyKey(stringValue: "externalAttachment"))
    case .gherkinDocument(let content): try container.encode(content, forKey: AnyKey(stringValue: "gherkinDocument"))
    case .hook(let content): try container.encode(content, forKey: AnyKey(stringValue: "hook"))
    case .meta(let content): try container.encode(content, forKey: AnyKey(stringValue: "meta"))
    case .parameterType(let content): try container.encode(content, forKey: AnyKey(stringValue: "parameterType"))
    case .parseError(let content): try container.encode(content, forKey: AnyKey(stringValue: "parseError"))
    case .pickle(let content): try container.encode(content, forKey: AnyKey(stringValue: "pickle"))
    case .suggestion(let content): try container.encode(content, forKey: AnyKey(stringValue: "suggestion"))
    case .source(let content): try container.encode(content, forKey: AnyKey(stringValue: "source"))
    case .stepDefinition(let content): try container.encode(content, forKey: AnyKey(stringValue: "stepDefinition"))
    case .testCase(let content): try container.encode(content, forKey: AnyKey(stringValue: "testCase"))
    case .testCaseFinished(let content): try container.encode(content, forKey: AnyKey(stringValue: "testCaseFinished"))
    case .testCaseStarted(let content): try container.encode(content, forKey: AnyKey(stringValue: "testCaseStarted"))
    case .testRunFinished(let content): try container.encode(content, forKey: AnyKey(stringValue: "testRunFinished"))
    case .testRunStarted(let content): try container.encode(content, forKey: AnyKey(stringValue: "testRunStarted"))
    case .testStepFinished(let content): try container.encode(content, forKey: AnyKey(stringValue: "testStepFinished"))
    case .testStepStarted(let content): try container.encode(content, forKey: AnyKey(stringValue: "testStepStarted"))
    case .testRunHookStarted(let content):
      try container.encode(content, forKey: AnyKey(stringValue: "testRunHookStarted"))
    case .testRunHookFinished(let content):
      try container.encode(content, forKey: AnyKey(stringValue: "testRunHookFinished"))
    case .undefinedParameterType(let content):
      try container.encode(content, forKey: AnyKey(stringValue: "undefinedParameterType"))
    case .other(let kind, let content): try container.encode(content, forKey: AnyKey(stringValue: kind))
    }
  }
}
