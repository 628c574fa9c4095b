import Basics
import Foundation
import TestSupport
import Testing

@testable import GRPCSchemas

@Suite("gRPC messages as JSON")
struct MessageJSONTests {
  private static let text = """
    syntax = "proto3";
    package pets;
    import "google/protobuf/any.proto";
    import "google/protobuf/struct.proto";
    import "google/protobuf/timestamp.proto";
    enum Kind { UNKNOWN = 0; DOG = 1; }
    message Owner { string name = 1; int64 phone = 2; }
    message Pet {
      string given_name = 1;
      Kind kind = 2;
      repeated sint32 weights = 3;
      map<string, Owner> owners = 4;
      bytes photo = 5;
      google.protobuf.Timestamp born = 6;
      Pet pup = 7;
      google.protobuf.Any other = 8;
      google.protobuf.Struct more = 9;
      repeated Pet litter = 10;
    }
    service Store { rpc Find(Pet) returns (Owner); }
    """
  private static let path = "/pets.Store/Find"

  private let schema: GRPCSchema

  init() throws {
    let files = try ProtoFiles(["pets.proto": Self.text])
    schema = try GRPCSchema(files: ["\(files.path)/pets.proto"], importPaths: [])
  }

  private func json(_ message: [UInt8], isRequest: Bool = true) throws -> GRPCMessageJSON {
    try #require(try schema.json(message, of: Self.path, isRequest: isRequest))
  }

  private func bytes(_ json: String, isRequest: Bool = true) throws -> [UInt8] {
    try #require(try schema.bytes(fromJSON: json, of: Self.path, isRequest: isRequest))
  }

  @Test("converts to JSON and back")
  func roundTrip() throws {
    let text =
      #"{"givenName":"Rex","kind":"DOG","weights":[-1,20],"owners":{"a":{"name":"Ann","phone":"9007199254740993"},"#
      + #""b":{}},"photo":"/wA=","born":"2018-10-08T09:00:00Z","pup":{"givenName":"Max"},"#
      + #""other":{"@type":"type.googleapis.com/pets.Owner","name":"Bob"},"more":{"n":1.5,"x":null},"litter":[{},{}]}"#
    let message = try bytes(text)
    #expect(try json(message) == GRPCMessageJSON(text: text, unknownFields: []))
    #expect(try bytes(try json(message).text) == message)
  }

  @Test("uses the type of the direction")
  func directions() throws {
    let message = try bytes(#"{"name":"Ann"}"#, isRequest: false)
    #expect(try json(message, isRequest: false).text == #"{"name":"Ann"}"#)
    #expect(try json(message, isRequest: true).text == #"{"givenName":"Ann"}"#)
    #expect(try json([]).text == "{}")
  }

  @Test("orders fields by number, maps by key, and merges what is given twice")
  func order() throws {
    func owner(_ key: String) -> [UInt8] { Encoding.message(4, Encoding.text(1, key), Encoding.message(2)) }
    let message = Encoding.all(
      Encoding.message(3, [2]), owner("b"), Encoding.text(1, "Max"), owner("a"), Encoding.message(3, [4]),
      Encoding.text(1, "Rex"))
    #expect(try json(message).text == #"{"givenName":"Rex","weights":[1,2],"owners":{"a":{},"b":{}}}"#)
  }

  @Test("lists unknown fields with the path of their message")
  func unknownFields() throws {
    let message = Encoding.all(
      Encoding.message(7, Encoding.text(99, "new"), Encoding.text(1, "Max")), Encoding.number(100, 1),
      // Field 5 is not a number.
      Encoding.number(5, 1))
    let converted = try json(message)
    #expect(converted.text == #"{"pup":{"givenName":"Max"}}"#)
    #expect(converted.unknownFields == ["100", "5", "pup.99"])
  }

  @Test("lists at most 16 unknown fields")
  func manyUnknownFields() throws {
    #expect(try json((100..<200).flatMap { Encoding.number($0, 1) }).unknownFields.count == 16)
  }

  @Test("keeps unknown values of enumerations as numbers")
  func unknownEnumeration() throws {
    #expect(try json(Encoding.number(2, 77)).text == #"{"kind":77}"#)
  }

  @Test(
    "refuses bytes that do not fit",
    arguments: [
      [0x0A, 5, 0x52],
      [0x0A],
      [0xFF],
      [0x00],
      [0x0A, 1, 0xFF],
      [0x0C],
      [0x0B],
      [0x10, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
      [0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F],
      // A group that does not end, and one that ends with another number.
      [0xA3, 0x06],
      [0xA3, 0x06, 0xAC, 0x06],
      // A time after the year 9999.
      [0x32, 10, 0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
      // A message of an unknown type.
      [0x42, 6, 0x0A, 1, 0x78, 0x12, 1, 0x78],
    ] as [[UInt8]])
  func broken(_ message: [UInt8]) throws {
    let error = #expect(throws: CodedError.self) { try schema.json(message, of: Self.path, isRequest: true) }
    #expect(error?.kind == .broken && error?.place == "pets.Pet" && error?.problem.contains("\n") == false)
  }

  @Test("refuses JSON that does not fit")
  func brokenJSON() throws {
    for (text, problem) in [
      (#"{"givenNmae":"Rex"}"#, "givenNmae"), (#"{"kind":"CAT"}"#, "CAT"), ("{", "end"), ("[]", "must"), ("", "end"),
      (#"{"weights":[3000000000]}"#, "3000000000"), (String(repeating: "[", count: 100_000), "end"),
    ] {
      let error = #expect(throws: CodedError.self, "\(text.prefix(100))") {
        try schema.bytes(fromJSON: text, of: Self.path, isRequest: true)
      }
      #expect(error?.kind == .broken && error?.problem.contains(problem) == true, "\(error?.message ?? "")")
      #expect(error?.problem.isEmpty == false && error?.problem.contains("\n") == false)
    }
  }

  @Test("refuses deep nesting")
  func depth() throws {
    func nested(_ depth: Int) -> [UInt8] { (0..<depth).reduce([]) { inner, _ in Encoding.message(7, inner) } }
    #expect(try json(nested(50)).text.hasPrefix(#"{"pup":{"pup":"#))
    for depth in [101, 5000] {
      #expect(throws: CodedError.self) { try schema.json(nested(depth), of: Self.path, isRequest: true) }
    }
    // Groups in an unknown field.
    var groups: [UInt8] = [0xA3, 0x06]
    while groups.count < 1 << 20 { groups += groups }
    #expect(throws: CodedError.self) { try schema.json(groups, of: Self.path, isRequest: true) }
  }

  @Test("refuses a message that is small as bytes and large in memory")
  func memory() throws {
    // Four million empty pets of two bytes each.
    var message: [UInt8] = [0x52, 0]
    while message.count < 8 << 20 { message += message }
    let error = #expect(throws: CodedError.self) { try schema.json(message, of: Self.path, isRequest: true) }
    #expect(error?.problem == "the message would take more than 512 MB of memory")
  }

  @Test("converts damaged messages, or refuses them")
  func damaged() throws {
    var generator = SeededGenerator(1)
    let valid = try bytes(
      #"{"givenName":"Rex","owners":{"a":{"name":"Ann"}},"born":"2018-10-08T09:00:00Z","pup":{},"more":{"n":[1]}}"#)
    for _ in 0..<2000 {
      let message = Encoding.damaged(valid, using: &generator)
      guard let converted = try? schema.json(message, of: Self.path, isRequest: true) else { continue }
      _ = try JSON.parse(Array(converted.text.utf8))
    }
  }

  @Test("converts with damaged descriptors, or refuses them")
  func damagedDescriptors() throws {
    var generator = SeededGenerator(1)
    var count = 0
    let message = try bytes(#"{"givenName":"Rex","pup":{"givenName":"Max"}}"#)
    for _ in 0..<2000 {
      let files = [Encoding.damaged(Encoding.pet, using: &generator), Encoding.store]
      guard let schema = try? GRPCSchema(fileDescriptors: files) else { continue }
      count += 1
      _ = try? schema.json(message, of: Self.path, isRequest: true)
      _ = try? schema.bytes(fromJSON: #"{"name":"Rex","born":"2018-10-08T09:00:00Z"}"#, of: Self.path, isRequest: true)
    }
    #expect(count > 10)
  }
}
