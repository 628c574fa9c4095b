import Basics
import Foundation
import Testing

@testable import GRPCSchemas

@Suite("gRPC schemas from files")
struct SchemaFilesTests {
  private static let path = "/pets.Store/Find"
  private static let store = """
    syntax = "proto3";
    package pets;
    import "pets/pet.proto";
    service Store { rpc Find(Pet) returns (stream Pet); }
    """
  private static let pet = """
    syntax = "proto3";
    package pets;
    message Pet { string name = 1; }
    """
  /// The message whose field 1 is "Rex".
  private static let rex: [UInt8] = [0x0A, 3, 0x52, 0x65, 0x78]

  private func failure(_ files: [String], importPaths: [String] = []) -> String? {
    do {
      _ = try GRPCSchema(files: files, importPaths: importPaths)
      return nil
    } catch { return error.message }
  }

  @Test("reads a file and what it imports")
  func imports() throws {
    let files = try ProtoFiles(["store/store.proto": Self.store, "common/pets/pet.proto": Self.pet])
    let schema = try GRPCSchema(
      files: ["\(files.path)/store/store.proto"], importPaths: ["\(files.path)/store", "\(files.path)/common"])
    #expect(try schema.json(Self.rex, of: Self.path, isRequest: true)?.text == #"{"name":"Rex"}"#)
    #expect(try schema.json(Self.rex, of: "/pets.Store/Lose", isRequest: true) == nil)
    #expect(try schema.json(Self.rex, of: "pets.Store.Find", isRequest: true) == nil)
    #expect(try schema.bytes(fromJSON: "{}", of: "/", isRequest: true) == nil)
  }

  @Test("finds a file without import paths, and imports of Protocol Buffers itself")
  func ownFolder() throws {
    let text = """
      syntax = "proto3";
      import "google/protobuf/timestamp.proto";
      service Clock { rpc Read(google.protobuf.Timestamp) returns (google.protobuf.Timestamp); }
      """
    let files = try ProtoFiles(["clock.proto": text])
    let schema = try GRPCSchema(files: ["\(files.path)/clock.proto"], importPaths: [])
    #expect(try schema.json([8, 1], of: "/Clock/Read", isRequest: false)?.text == #""1970-01-01T00:00:01Z""#)
  }

  @Test("finds a file in an import path")
  func inImportPath() throws {
    let files = try ProtoFiles(["common/store.proto": Self.store, "common/pets/pet.proto": Self.pet])
    let schema = try GRPCSchema(files: ["store.proto"], importPaths: ["\(files.path)/common"])
    #expect(schema.has(Self.path))
    #expect(!schema.has("/pets.Store/Lose"))
  }

  @Test("names file, line and column of an error")
  func syntaxError() throws {
    let files = try ProtoFiles(["pet.proto": "syntax = \"proto3\";\nmessage Pet {\n  string name 1;\n}\n"])
    #expect(
      failure(["\(files.path)/pet.proto"]) == "\(files.path)/pet.proto: line 3, column 15: Missing field number. "
        + "Correct the file, or name another one with --proto FILE.")
  }

  @Test("names the place of a type that does not exist")
  func unknownType() throws {
    let files = try ProtoFiles(["pet.proto": "syntax = \"proto3\";\nmessage Pet {\n  Owner owner = 1;\n}\n"])
    #expect(
      failure(["\(files.path)/pet.proto"])
        == "\(files.path)/pet.proto: line 3, column 3: \"Owner\" is not defined. "
        + "Correct the file, or name another one with --proto FILE.")
  }

  @Test("says what to do about a missing import")
  func missingImport() throws {
    let files = try ProtoFiles(["store.proto": Self.store])
    let message = try #require(failure(["\(files.path)/store.proto"]))
    #expect(
      message.hasPrefix("\(files.path)/store.proto: line 3, column 1: Import \"pets/pet.proto\" was not found")
        && message.contains("Add the folder that contains it with --proto-path DIR"))
  }

  @Test("says what to do about two files with one name")
  func shadowed() throws {
    let files = try ProtoFiles(["a/pet.proto": Self.pet, "b/pet.proto": Self.pet])
    let message = failure(
      ["b", "a"].map { "\(files.path)/\($0)/pet.proto" }, importPaths: ["b", "a"].map { "\(files.path)/\($0)" })
    #expect(
      message
        == "\(files.path)/a/pet.proto: \(files.path)/b/pet.proto has the same name; add a folder that contains both with --proto-path DIR"
    )
  }

  @Test("refuses what is not a file")
  func noFile() throws {
    let files = try ProtoFiles(["folder.proto/file": ""])
    #expect(
      failure(["\(files.path)/none.proto"])
        == "\(files.path)/none.proto: No such file or directory; correct the path in --proto FILE, which begins in the current "
        + "folder or in a folder of --proto-path DIR")
    #expect(failure(["\(files.path)/folder.proto"]) == "\(files.path)/folder.proto: it is not a regular file")
    #expect(failure(["/dev/zero"]) == "/dev/zero: it is not a regular file")
  }

  @Test("reads a descriptor set, beside source files that import from it")
  func ownDescriptorSet() throws {
    let files = try ProtoFiles(["store.proto": Self.store])
    try files.write(Encoding.message(1, Encoding.pet), to: "pets.protoset")
    let schema = try GRPCSchema(
      files: ["\(files.path)/store.proto", "\(files.path)/pets.protoset"], importPaths: [files.path])
    #expect(try schema.json(Self.rex, of: Self.path, isRequest: true)?.text == #"{"name":"Rex"}"#)
  }

  @Test("refuses a file that is neither source nor descriptor set")
  func noDescriptorSet() throws {
    let files = try ProtoFiles(["pets.txt": Self.pet, "empty.pb": ""])
    for name in ["pets.txt", "empty.pb"] {
      #expect(
        failure(["\(files.path)/\(name)"])
          == "\(files.path)/\(name): it is not a descriptor set of protoc; name a source file .proto")
    }
  }

  @Test("builds descriptors in any order, without those of Protocol Buffers itself")
  func descriptors() throws {
    for descriptors in [[Encoding.pet, Encoding.store], [Encoding.store, Encoding.pet]] {
      let schema = try GRPCSchema(fileDescriptors: descriptors)
      #expect(try schema.json(Self.rex, of: Self.path, isRequest: false)?.text == #"{"name":"Rex"}"#)
    }
  }

  @Test("returns the files of a method, from which the schema can be built again")
  func descriptorSet() throws {
    let files = try ProtoFiles(["store/store.proto": Self.store, "common/pets/pet.proto": Self.pet])
    let schema = try GRPCSchema(files: ["\(files.path)/store/store.proto"], importPaths: ["\(files.path)/common"])
    let again = try GRPCSchema(descriptorSet: schema.descriptorSet(of: Self.path))
    let json = try again.json(Self.rex, of: Self.path, isRequest: true)
    #expect(json?.text == #"{"name":"Rex"}"#)
    #expect(schema.descriptorSet(of: "/pets.Store/Lose").isEmpty)
    #expect(throws: CodedError.self) { try GRPCSchema(descriptorSet: [0xFF]) }
  }

  @Test("refuses invalid descriptors")
  func invalidDescriptors() throws {
    let cases: [(files: [[UInt8]], message: String)] = [
      ([[0xFF]], "the bytes are not a FileDescriptorProto"),
      ([Encoding.store], "pets/store.proto: Import \"pets/pet.proto\" was not found"),
      // Each imports the other.
      (
        [
          Encoding.file("a.proto", importing: ["b.proto"], method: "A"),
          Encoding.file("b.proto", importing: ["a.proto"], method: "B"),
        ], "File recursively imports itself"
      ),
      // Two files define the same service.
      (
        [Encoding.pet, Encoding.store, Encoding.file("other.proto", importing: ["pets/pet.proto"], method: "Find")],
        "is already defined in file"
      ),
      // The fixed rules for times would meet a type of another form.
      (
        [
          Encoding.all(
            Encoding.text(1, "own.proto"), Encoding.text(2, "google.protobuf"),
            Encoding.message(4, Encoding.text(1, "Timestamp")))
        ], "own.proto: it defines google.protobuf.Timestamp; import google/protobuf/timestamp.proto instead"
      ),
    ]
    for (files, message) in cases {
      let error = #expect(throws: CodedError.self) { try GRPCSchema(fileDescriptors: files) }
      #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }
  }

  @Test("builds a chain of a thousand imports on a small stack")
  func longChain() async throws {
    let count = 1000
    let files = (0..<count).map { index -> [UInt8] in
      Encoding.text(1, "\(index).proto") + (index == 0 ? [] : Encoding.text(3, "\(index - 1).proto"))
    }
    let result = await withCheckedContinuation { continuation in
      let thread = Thread {
        continuation.resume(returning: Result { _ = try GRPCSchema(fileDescriptors: files.reversed()) })
      }
      thread.stackSize = 512 << 10
      thread.start()
    }
    try result.get()
  }
}
