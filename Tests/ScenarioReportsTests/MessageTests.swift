import Basics
import Foundation
import Gherkin
import ScenarioReports
import Testing

/// A file of messages of Cucumber's compatibility kit (see `Fixtures/NOTICE`).
struct KitSample: CustomTestStringConvertible, Sendable {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures")

  static let all: [KitSample] = {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.filter { $0.hasSuffix(".ndjson") }.sorted().map { KitSample(name: String($0.dropLast(7))) }
  }()

  let name: String

  var testDescription: String { name }

  func text() throws -> String {
    String(decoding: try Data(contentsOf: Self.folder.appending(path: "\(name).ndjson")), as: UTF8.self)
  }

  func messages() throws -> [Message] { try Message.read(try text(), source: "\(name).ndjson") }
}

extension JSON {
  /// With members sorted by name.
  var sorted: JSON {
    switch self {
    case .array(let values): .array(values.map(\.sorted))
    case .object(let members): .object(members.map { Member($0.key, $0.value.sorted) }.sorted { $0.key < $1.key })
    default: self
    }
  }
}

@Suite("Cucumber messages")
struct MessageTests {
  @Test("keeps every member of the compatibility kit's messages", arguments: KitSample.all)
  func roundTrip(sample: KitSample) throws {
    let lines = try sample.text().split(separator: "\n")
    let messages = try sample.messages()
    #expect(messages.count == lines.count)
    for (line, message) in zip(lines, messages) {
      #expect(try JSON.parse(Array(message.encoded().utf8)).sorted == JSON.parse(Array(line.utf8)).sorted)
      #expect(!message.encoded().contains("\n"))
    }
  }

  @Test("has the kit's samples")
  func samples() { #expect(KitSample.all.count >= 14) }

  @Test("keeps kinds of messages that it does not know")
  func unknownKind() throws {
    let line = #"{"newKind":{"id":"1","count":2.50}}"#
    let messages = try Message.read(line, source: "m")
    #expect(messages == [.other(kind: "newKind", ["count": .number("2.50"), "id": .string("1")].json)])
    #expect(messages[0].encoded() == #"{"newKind":{"count":2.50,"id":"1"}}"#)
  }

  @Test("replaces half of a surrogate pair")
  func loneSurrogate() throws {
    let line =
      #"{"attachment":{"body":"a\ud83dz","contentEncoding":"IDENTITY","mediaType":"text/plain"}}"#
    guard case .attachment(let attachment) = try Message.read(line, source: "m")[0] else {
      Issue.record("not an attachment")
      return
    }
    #expect(attachment.body == "a\u{FFFD}z")
  }

  @Test("ignores empty lines and carriage returns")
  func emptyLines() throws {
    let line = #"{"testRunStarted":{"timestamp":{"seconds":1,"nanos":0}}}"#
    #expect(try Message.read("\n\(line)\r\n\r\n\(line)", source: "m").count == 2)
  }

  @Test(
    "names the line of an error",
    arguments: [
      (#"{"pickle":"#, "not valid JSON"), ("[1]", "it is an array"),
      (#"{"hook":{},"meta":{}}"#, "an object with one member such as 'pickle'; found 2"),
      (#"{"testRunFinished":{"timestamp":{"seconds":1,"nanos":0}}}"#, "'success' is missing"),
      (#"{"hook":{"id":3}}"#, "hook.id: it is a whole number, not a string"),
    ])
  func errors(line: String, problem: String) throws {
    let good = #"{"testRunStarted":{"timestamp":{"seconds":1,"nanos":0}}}"#
    let error = #expect(throws: CodedError.self) { try Message.read("\(good)\n\(line)\n", source: "run.ndjson") }
    #expect(error?.kind == .broken)
    #expect(error?.place == "run.ndjson: line 2")
    #expect(error?.problem.contains(problem) == true, "\(error?.problem ?? "")")
  }

  @Test("converts instants and durations")
  func times() {
    #expect(Message.Timestamp(Date(timeIntervalSince1970: 12.5)) == .init(seconds: 12, nanos: 500_000_000))
    #expect(Message.Duration(.milliseconds(1250)) == .init(seconds: 1, nanos: 250_000_000))
  }

  @Test("reads what the parser writes")
  func parserOutput() throws {
    let source = Source(uri: "a.feature.md", data: "# Feature: a\n## Scenario: b\n* Given c")
    let messages = [Message(Envelope.source(source))]
    #expect(try Message.read(messages[0].encoded(), source: "m") == messages)
  }
}

extension [String: JSON] {
  fileprivate var json: JSON { .object(self) }
}

@Suite("Message writer")
struct MessageWriterTests {
  private func message(_ number: Int) -> Message {
    .testRunStarted(.init(timestamp: .init(seconds: number, nanos: 0), id: String(repeating: "x", count: number % 500)))
  }

  @Test("has each line in the file when append returns, and creates the folder")
  func live() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "deep/messages.ndjson").path
    let writer = try MessageWriter(path: path)
    for number in 1...3 {
      writer.append(message(number))
      let text = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
      #expect(try Message.read(text, source: path) == (1...number).map(message))
    }
  }

  @Test("keeps lines whole when threads and writers of one file append at once")
  func concurrent() async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let writers = [try MessageWriter(path: path), try MessageWriter(path: path)]
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<400 {
        group.addTask { writers[number % 2].append(self.message(number)) }
      }
    }
    let text = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
    #expect(Set(try Message.read(text, source: path)) == Set((0..<400).map(message)))
  }

  @Test("says which file cannot be opened")
  func unwritable() {
    let error = #expect(throws: CodedError.self) { try MessageWriter(path: "/dev/null/a/messages.ndjson") }
    #expect(error?.kind == .cannotWrite)
    #expect(error?.message.contains("/dev/null/a/messages.ndjson") == true)
    #expect(throws: CodedError.self) { try MessageWriter(path: "/") }
  }
}
