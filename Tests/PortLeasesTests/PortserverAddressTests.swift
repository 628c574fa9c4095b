import Basics
import Foundation
import PortLeases
import TestSupport
import Testing

@Suite("Portserver addresses")
struct PortserverAddressTests {
  private let pool: PortPool

  init() throws { pool = try PortPool.own(10) }

  @Test("can be a path, with a private socket that is removed at the end")
  func path() async throws {
    let path = FileManager.default.temporaryDirectory.path + "/diorama-\(UUID().uuidString.prefix(8))"
    let server = try PortserverServer(address: path, pool: pool)
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    #expect(attributes[.type] as? FileAttributeType == .typeSocket)
    let answer = try await onThread { try PortserverClient.ask("\(getpid())\n", at: path) }
    #expect(answer?.hasSuffix("\n") == true)
    await server.stop()
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test("are free after the server has stopped, which can be repeated")
  func stopped() async throws {
    let address = "@diorama-test-\(UUID().uuidString)"
    let server = try PortserverServer(address: address, pool: pool)
    await server.stop()
    await server.stop()
    #expect(throws: (any Error).self) { try PortserverClient(address) }
    // Until then, a child that is being started may hold the address.
    await (try #require(soon { try? PortserverServer(address: address, pool: pool) })).stop()
  }

  @Test("are refused while another process listens, in one line", arguments: ["@", "/"])
  func taken(kind: String) async throws {
    let name = "diorama-\(UUID().uuidString.prefix(8))"
    let address = kind == "@" ? "@\(name)" : FileManager.default.temporaryDirectory.path + "/\(name)"
    let first = try PortserverServer(address: address, pool: pool)
    let error = #expect(throws: CodedError.self) { try PortserverServer(address: address, pool: pool) }
    #expect(error?.description.contains(address) == true)
    #expect(error?.description.contains("another portserver or daemon listens there") == true)
    // The first server is unaffected.
    let answer = try await onThread { try PortserverClient.ask("\(getpid())\n", at: address) }
    #expect(answer?.hasSuffix("\n") == true)
    await first.stop()
  }

  @Test("of killed servers are reused, and other files are kept")
  func stale() async throws {
    let path = FileManager.default.temporaryDirectory.path + "/diorama-\(UUID().uuidString.prefix(8))"
    defer { try? FileManager.default.removeItem(atPath: path) }
    do {
      let left = try PortserverServer(address: path, pool: pool)
      try FileManager.default.moveItem(atPath: path, toPath: path + "-left")
      await left.stop()
      // No process listens on it any more.
      try FileManager.default.moveItem(atPath: path + "-left", toPath: path)
    }
    await (try PortserverServer(address: path, pool: pool)).stop()
    #expect(!FileManager.default.fileExists(atPath: path))
    try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
    #expect(throws: CodedError.self) { try PortserverServer(address: path, pool: pool) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("mine".utf8))
  }

  @Test(
    "are refused if invalid",
    arguments: ["", "@", "/tmp/" + String(repeating: "a", count: 200), "/nonexistent/folder/socket"])
  func none(address: String) {
    let error = #expect(throws: CodedError.self) { try PortserverServer(address: address, pool: pool) }
    #expect(error?.description.contains("\n") == false)
  }
}
