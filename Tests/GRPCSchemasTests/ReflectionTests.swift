import Basics
import Testing

@testable import GRPCSchemas

@Suite("gRPC server reflection")
struct ReflectionTests {
  /// FileDescriptorResponse, in ServerReflectionResponse.
  private func files(_ files: [UInt8]...) -> [UInt8] {
    Encoding.text(1, "host") + Encoding.message(4, files.reduce(into: []) { $0 += Encoding.message(1, $1) })
  }

  private let notFound = Encoding.message(7, Encoding.number(1, 5), Encoding.text(2, "not found"))

  private func reflection() throws -> GRPCReflection { try #require(GRPCReflection(path: "/pets.Store/Find")) }

  @Test("asks for the service, then for the files that are missing")
  func questions() throws {
    var reflection = try reflection()
    #expect(reflection.request == Encoding.text(4, "pets.Store"))
    try reflection.receive(files(Encoding.store))
    #expect(reflection.request == Encoding.text(3, "pets/pet.proto"))
    try reflection.receive(files(Encoding.pet))
    #expect(reflection.request == Encoding.text(3, "google/protobuf/timestamp.proto"))
    // Some servers do not have it.
    try reflection.receive(notFound)
    #expect(reflection.request == nil)
    let schema = try GRPCSchema(fileDescriptors: reflection.fileDescriptors)
    #expect(try schema.json([0x0A, 1, 0x41], of: "/pets.Store/Find", isRequest: true)?.text == #"{"name":"A"}"#)
  }

  @Test("does not ask for what the server sends unasked")
  func allAtOnce() throws {
    var reflection = try reflection()
    try reflection.receive(
      files(Encoding.store, Encoding.pet, Encoding.text(1, "google/protobuf/timestamp.proto"), Encoding.pet))
    #expect(reflection.request == nil && reflection.fileDescriptors.count == 3)
  }

  @Test("accepts only paths of methods")
  func paths() {
    for path in ["/pets.Store", "pets.Store/Find", "//Find", "/a/b/c", "/", ""] {
      #expect(GRPCReflection(path: path) == nil, "\(path)")
    }
  }

  @Test("reports what the server does not know")
  func unknownService() throws {
    var reflection = try reflection()
    let error = #expect(throws: CodedError.self) { try reflection.receive(notFound) }
    #expect(
      error?.message
        == "the server's gRPC reflection: it does not know pets.Store: not found; use --proto with the service's .proto files"
    )
  }

  @Test("refuses files with more parts, or more dependencies, than a schema has")
  func large() throws {
    for (count, problem) in [(20_000, "too many fields"), (2_000, "more than 1000 files")] {
      var reflection = try reflection()
      let file = (0..<count).reduce(into: Encoding.text(1, "a.proto")) { $0 += Encoding.text(3, "\($1).proto") }
      let error = #expect(throws: CodedError.self) { try reflection.receive(files(file)) }
      #expect(error?.message.contains(problem) == true)
      #expect(reflection.fileDescriptors.count <= 1)
    }
  }

  @Test(
    "refuses invalid answers",
    arguments: [[], [0xFF], [0x22, 9], [0x22, 2, 0x0A, 5], [0x07], [0x3A, 1, 0xFF]] as [[UInt8]])
  func broken(_ response: [UInt8]) throws {
    var reflection = try reflection()
    #expect(throws: CodedError.self) { try reflection.receive(response) }
  }

  @Test("limits how much a server may send")
  func limits() throws {
    var reflection = try reflection()
    #expect(throws: CodedError.self) {
      for index in 0... {
        try reflection.receive(files(Encoding.file("\(index).proto", importing: ["\(index + 1).proto"], method: "A")))
      }
    }
    var large = try self.reflection()
    #expect(throws: CodedError.self) {
      try large.receive(
        files(Encoding.text(1, "large.proto") + Encoding.message(99, [UInt8](repeating: 0, count: 17 << 20))))
    }
  }
}
