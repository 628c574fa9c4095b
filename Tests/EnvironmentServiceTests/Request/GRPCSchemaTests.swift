import Basics
import Foundation
import GRPCSchemas
import HTTPMessages
import Testing
import Transforms

@testable import EnvironmentService

@Suite("An environment with .proto files")
struct GRPCSchemaTests {
  private func provision(_ fixture: ServiceFixture, paths: [String]? = nil) throws -> Environment {
    try fixture.provision(.mock, ["api": Origin(parsing: "https://api.test")]) {
      $0.proto = ["\(fixture.folder)/pets.proto"]
      $0.protoPaths = paths
    }
  }

  @Test("reads them with what they import")
  func reads() async throws {
    try await withService { fixture in
      try fixture.write(
        #"syntax = "proto3"; import "pet.proto"; service Store { rpc Find(Pet) returns (Pet); }"#, to: "pets.proto")
      try FileManager.default.createDirectory(atPath: "\(fixture.folder)/common", withIntermediateDirectories: false)
      try fixture.write(#"syntax = "proto3"; message Pet { string name = 1; }"#, to: "common/pet.proto")
      let environment = try provision(fixture, paths: [fixture.folder, "\(fixture.folder)/common"])
      let json = try environment.redactor.schemas?.schema(of: "/Store/Find")?.json(
        [0x0A, 1, 0x41], of: "/Store/Find", isRequest: true)
      #expect(json?.text == #"{"name":"A"}"#)
      _ = await environment.end()
    }
  }

  @Test("is refused with the place of an error in them")
  func refuses() async throws {
    try await withService { fixture in
      try fixture.write("syntax = \"proto3\";\nmessage {}\n", to: "pets.proto")
      let error = #expect(throws: CodedError.self) { try provision(fixture) }
      #expect(
        error?.message == "\(fixture.folder)/pets.proto: line 2, column 9: Expected message name. "
          + "Correct the file, or name another one with --proto FILE.")
    }
  }
}
