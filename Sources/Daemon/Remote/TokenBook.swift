package import Basics
package import ControlAPI
import EnvironmentService
package import Foundation
package import LaunchContract

/// A program on another machine, known by its token.
package struct RemoteClient: Sendable, Equatable {
  /// Stays the same for as long as the token is valid. A new token of the same name has another one.
  package let id: String
  package let name: String
}

/// The tokens of programs on other machines. Only their digests are stored.
///
/// ```swift
/// let book = try TokenBook(folder: "/run/user/1000/diorama")
/// let token = try book.create("ci")            // shown once
/// book.client(bearing: token.revealed)?.name   // "ci"
/// ```
package final class TokenBook: Sendable {
  private struct Entry: Codable, Sendable {
    var id: String
    var name: String
    /// SHA-256 in hexadecimal.
    var digest: String
    /// In RFC 3339.
    var createdAt: String
    var lastUsedAt: String?
  }

  private struct File: Codable {
    var tokens: [Entry]
  }

  private struct State: Sendable {
    var entries: [Entry] = []
    /// Whether a use is not stored yet.
    var hasNewUses = false
    var savedAt = ContinuousClock.now
  }

  /// More than a team needs, but few enough to compare all of them for each request.
  private static let most = 1000

  private let files: ControlFiles
  private let state: Guarded<State>

  /// Reads the tokens of a state folder.
  ///
  /// - Parameter folder: the state folder's path.
  /// - Throws: ``CodedError`` if they can't be read. Ignoring the file would lose the tokens at the next change.
  package convenience init(folder: String) throws(CodedError) { try self.init(ControlFiles(folder: folder)) }

  init(_ files: ControlFiles) throws(CodedError) {
    self.files = files
    state = Guarded(State())
    guard FileManager.default.fileExists(atPath: files.tokens) else { return }
    do {
      let file = try JSON.decode(File.self, from: InputFile(files.tokens).read(atMost: 1 << 20), source: files.tokens)
      state.withLock { $0.entries = file.tokens }
    } catch {
      throw CodedError(
        .broken,
        "\(files.tokens): the tokens cannot be read (\(error)); restore the file, or remove it and create new ones")
    }
  }

  /// Creates a token and stores its digest.
  ///
  /// - Parameters:
  ///   - name: who uses it.
  ///   - now: the current time.
  /// - Returns: the token, 256 random bits in hexadecimal. It can't be shown again.
  /// - Throws: ``DaemonError``: 409 if the name is taken or there are too many, 507 if it can't be stored.
  package func create(_ name: String, now: Date = Date()) throws(DaemonError) -> Secret {
    let token = Daemon.randomToken()
    let entry = Entry(
      id: UUID().uuidString.lowercased(), name: name, digest: try Self.digest(of: token),
      createdAt: RFC3339.format(now))
    try change { entries throws(DaemonError) in
      guard !entries.contains(where: { $0.name == name }) else {
        throw DaemonError(
          409, "Token exists",
          "there is a token named '\(name)'; revoke it with diorama token revoke, or use another name")
      }
      guard entries.count < Self.most else {
        throw DaemonError(409, "Too many tokens", "there are \(entries.count) tokens; revoke unused ones")
      }
      entries.append(entry)
    }
    return Secret(token)
  }

  /// Revokes a token. Requests with it are refused from now on.
  ///
  /// - Parameter name: who used it.
  /// - Returns: the client that used it.
  /// - Throws: ``DaemonError``: 404 if there is none, 507 if the change can't be stored.
  package func revoke(_ name: String) throws(DaemonError) -> RemoteClient {
    var revoked: RemoteClient?
    try change { entries throws(DaemonError) in
      guard let index = entries.firstIndex(where: { $0.name == name }) else {
        throw DaemonError(404, "Token not found", "no token is named '\(name)'; list them with: diorama token list")
      }
      revoked = RemoteClient(id: entries.remove(at: index).id, name: name)
    }
    return revoked ?? RemoteClient(id: "", name: name)
  }

  /// Whether a client's token has not been revoked.
  func has(_ client: RemoteClient) -> Bool { state.withLock { $0.entries.contains { $0.id == client.id } } }

  /// All tokens in the order of their creation, without the tokens themselves.
  package var list: TokenList {
    TokenList(
      tokens: state.withLock { $0.entries }.map {
        .init(name: $0.name, createdAt: $0.createdAt, lastUsedAt: $0.lastUsedAt)
      })
  }

  /// Returns who uses a token, and notes the use.
  ///
  /// - Parameters:
  ///   - token: the token.
  ///   - now: the current time.
  /// - Returns: nil if the token isn't valid.
  package func client(bearing token: String, now: Date = Date()) -> RemoteClient? {
    guard let digest = try? Self.digest(of: token) else { return nil }
    let given = Array(digest.utf8)
    return state.withLock { state in
      // All are compared, so that the time doesn't tell which one was close.
      var found: Int?
      for (index, entry) in state.entries.enumerated() where ConstantTime.areEqual(given, Array(entry.digest.utf8)) {
        found = index
      }
      guard let found else { return nil }
      state.entries[found].lastUsedAt = RFC3339.format(now)
      state.hasNewUses = true
      return RemoteClient(id: state.entries[found].id, name: state.entries[found].name)
    }
  }

  /// Stores when tokens were used last. Call it now and then; a use that is lost does no harm.
  ///
  /// - Parameter interval: does nothing if that has been stored within this time.
  package func saveUses(every interval: Duration = .zero) {
    state.withLock { state in
      guard state.hasNewUses, ContinuousClock.now - state.savedAt >= interval else { return }
      state.savedAt = .now
      state.hasNewUses = (try? store(state.entries)) == nil
    }
  }

  private func change(_ body: (inout [Entry]) throws(DaemonError) -> Void) throws(DaemonError) {
    try state.withLock { state throws(DaemonError) in
      var entries = state.entries
      try body(&entries)
      try store(entries)
      state.entries = entries
      state.hasNewUses = false
    }
  }

  private func store(_ entries: [Entry]) throws(DaemonError) {
    do {
      try files.write(try JSON.encode(File(tokens: entries)) + Data("\n".utf8), to: files.tokens)
    } catch {
      throw DaemonError(507, "Tokens not stored", "\(error)")
    }
  }

  private static func digest(of token: String) throws(DaemonError) -> String {
    do { return try ContentDigest.hexadecimal(of: Array(token.utf8)) } catch {
      throw DaemonError(503, "No digest", error.message)
    }
  }
}
