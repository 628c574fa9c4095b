import ControlAPI
import Foundation
import LaunchContract
import TestSupport
import Testing

@testable import Daemon

@Suite("Token book")
struct TokenBookTests {
  private let folder: ScratchFolder

  init() throws { folder = try ScratchFolder() }

  @Test("accepts a token and nothing else, also after a restart")
  func accepted() throws {
    let token = try TokenBook(folder: folder.path).create("ci").revealed
    #expect(token.utf8.count == 64)
    let book = try TokenBook(folder: folder.path)
    let client = try #require(book.client(bearing: token))
    #expect(client.name == "ci")
    #expect(book.client(bearing: token)?.id == client.id)
    for other in ["", "ci", String(token.dropLast()), token + "0", String(repeating: "0", count: 64)] {
      #expect(book.client(bearing: other) == nil)
    }
  }

  @Test("stores only the digest, in a file of mode 0600")
  func stored() throws {
    let token = try TokenBook(folder: folder.path).create("ci").revealed
    let path = folder.path + "/tokens.json"
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(text.contains("ci") && !text.contains(token))
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test("refuses a revoked token at once; a new one of the same name is another client")
  func revoked() throws {
    let book = try TokenBook(folder: folder.path)
    let token = try book.create("ci").revealed
    let client = try #require(book.client(bearing: token))
    #expect(throws: DaemonError.self) { try book.create("ci") }
    #expect(try book.revoke("ci") == client)
    #expect(book.client(bearing: token) == nil)
    #expect(throws: DaemonError.self) { try book.revoke("ci") }
    #expect(book.client(bearing: try book.create("ci").revealed)?.id != client.id)
  }

  @Test("tells when a token was used last, also after a restart")
  func uses() throws {
    let book = try TokenBook(folder: folder.path)
    let token = try book.create("ci", now: Date(timeIntervalSince1970: 0)).revealed
    #expect(book.list.tokens.first?.lastUsedAt == nil)
    _ = book.client(bearing: token, now: Date(timeIntervalSince1970: 60))
    book.saveUses(every: .seconds(3600))
    #expect(try TokenBook(folder: folder.path).list.tokens.first?.lastUsedAt == nil)
    book.saveUses()
    let listed = try #require(try TokenBook(folder: folder.path).list.tokens.first)
    #expect(listed.createdAt.hasPrefix("1970-01-01T00:00:00"))
    #expect(listed.lastUsedAt?.hasPrefix("1970-01-01T00:01:00") == true)
  }

  @Test("does not replace a damaged file")
  func damaged() throws {
    try Data("{".utf8).write(to: URL(fileURLWithPath: folder.path + "/tokens.json"))
    #expect(throws: (any Error).self) { try TokenBook(folder: folder.path) }
  }
}
