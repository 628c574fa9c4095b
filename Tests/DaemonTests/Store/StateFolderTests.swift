import Basics
import Foundation
import Testing

@testable import Daemon

@Suite("State folder", .timeLimit(.minutes(2)))
struct StateFolderTests {
  private let scratch: ScratchFolder

  init() throws { scratch = try ScratchFolder() }

  private func error(_ path: String) -> CodedError? {
    do throws(CodedError) {
      _ = try StateFolder(path)
      return nil
    } catch {
      return error
    }
  }

  @Test("is created for its owner only, with its parents")
  func made() throws {
    let path = scratch.path + "/a/b/state"
    let folder = try StateFolder(path)
    for made in [path, scratch.path + "/a", scratch.path + "/a/b"] { #expect(scratch.mode(of: made) == 0o700) }
    #expect(scratch.mode(of: folder.path(of: "lock")) == 0o600)
  }

  @Test("is locked by one daemon, and names it to a second")
  func inUse() throws {
    let folder = try StateFolder(scratch.state)
    let error = error(scratch.state)
    #expect(error?.kind == .noUpstream)
    #expect(error?.description.contains("process \(getpid())") == true)
    withExtendedLifetime(folder) {}
  }

  @Test("detects its removal, even if another daemon has created it again")
  func removed() throws {
    let first = try StateFolder(scratch.state)
    #expect(first.isThere)
    try FileManager.default.removeItem(atPath: scratch.state)
    #expect(!first.isThere)
    let second = try StateFolder(scratch.state)
    #expect(second.isThere)
    #expect(!first.isThere)
  }

  @Test("can be locked again after a stop or a kill")
  func free() async throws {
    #expect(error(scratch.state) == nil)
    #expect(error(scratch.state) == nil)
    await #expect(processExitsWith: .signal(SIGKILL)) { [state = scratch.state as String] in
      let folder = try StateFolder(state)
      withExtendedLifetime(folder) { _ = kill(getpid(), SIGKILL) }
    }
    #expect(error(scratch.state) == nil)
  }

  @Test("becomes private if it is empty, and is refused if it is accessible to others and not empty")
  func open() throws {
    mkdir(scratch.state, 0o700)
    chmod(scratch.state, 0o755)
    #expect(error(scratch.state) == nil)
    #expect(scratch.mode(of: scratch.state) == 0o700)
    chmod(scratch.state, 0o750)
    let refusal = error(scratch.state)
    #expect(refusal?.kind == .cannotWrite && refusal?.description.contains("chmod 700") == true)
    #expect(scratch.mode(of: scratch.state) == 0o750)
  }

  @Test("is refused if it belongs to another user, even for root")
  func foreign() throws {
    if geteuid() == 0 {
      mkdir(scratch.state, 0o700)
      chown(scratch.state, 4711, 4711)
    }
    let path = geteuid() == 0 ? scratch.state : "/proc"
    #expect(error(path)?.kind == .cannotWrite)
    #expect(error(path)?.description.contains("belongs to user") == true)
  }

  @Test("is named in the error if it can't be created")
  func impossible() throws {
    _ = FileManager.default.createFile(atPath: scratch.path + "/file", contents: Data())
    let path = scratch.path + "/file/state"
    #expect(error(path)?.description.contains("'\(path)'") == true)
    #expect(error(scratch.path + "/file") != nil)
    #expect(error("") != nil)
  }
}

/// A temporary folder, removed when deallocated.
final class ScratchFolder: Sendable {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "diorama-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    chmod(path, 0o700)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path for a state folder.
  var state: String { path + "/state" }
  var database: String { state + "/state.sqlite" }

  /// The contents of all files in the state folder by name.
  func files() throws -> [String: Data] {
    let names = try FileManager.default.contentsOfDirectory(atPath: state)
    return try Dictionary(
      uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: URL(fileURLWithPath: "\(state)/\($0)"))) })
  }

  func mode(of path: String) -> Int {
    var status = stat()
    return lstat(path, &status) == 0 ? Int(status.st_mode & 0o777) : -1
  }
}

extension Data {
  init(_ text: String) { self.init(text.utf8) }
}
