import Foundation
import Testing

@testable import Daemon

@Suite("Cassette roots")
struct CassetteRootsTests {
  /// Runs `body` with a temporary folder that has `in/` and `out/`.
  private static func inFolder(_ body: (String) throws -> Void) throws {
    let folder = ResolvedPath(FileManager.default.temporaryDirectory.path + "/diorama-roots-\(UUID().uuidString)").text
    let files = FileManager.default
    for name in ["in/deep", "out"] {
      try files.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
    }
    defer { try? files.removeItem(atPath: folder) }
    try body(folder)
  }

  private static func isAllowed(_ path: String, in roots: [String]) -> Bool {
    do throws(DaemonError) {
      try CassetteRoots(roots).check(path)
      return true
    } catch {
      #expect(error.status == 422)
      return false
    }
  }

  @Test("without roots, allow any absolute path without '..'")
  func noRoots() {
    #expect(Self.isAllowed("/tmp/a/b", in: []))
    #expect(Self.isAllowed("/tmp/a..b/..c", in: []))
    for path in [
      "a/b", "", "~/a", "/tmp/../etc/a", "/tmp/..", "/tmp/a/", "/tmp/a\u{0}b", "/tmp/a\nb", "/tmp/../\u{301}/a",
    ] {
      #expect(!Self.isAllowed(path, in: []), "\(path.debugDescription)")
    }
  }

  @Test("allow paths inside a root, not beside it")
  func below() throws {
    try Self.inFolder { folder in
      let roots = ["\(folder)/in"]
      #expect(Self.isAllowed("\(folder)/in/a", in: roots))
      #expect(Self.isAllowed("\(folder)/in/new/deeper/a.har", in: roots))
      #expect(!Self.isAllowed("\(folder)/inside/a", in: roots))
      #expect(!Self.isAllowed("\(folder)/out/a", in: roots))
      #expect(!Self.isAllowed("\(folder)/in", in: roots))
      #expect(!Self.isAllowed("\(folder)/in/../\u{301}/a", in: roots), "a slash before a combining accent is a slash")
      #expect(Self.isAllowed("\(folder)/in/\u{301}/a", in: roots))
    }
  }

  @Test("refuse links out of the roots: folders, files, and dangling links")
  func links() throws {
    try Self.inFolder { folder in
      let files = FileManager.default
      let roots = ["\(folder)/in"]
      try files.createSymbolicLink(atPath: "\(folder)/in/away", withDestinationPath: "\(folder)/out")
      #expect(!Self.isAllowed("\(folder)/in/away/a", in: roots))
      try files.createSymbolicLink(atPath: "\(folder)/in/b.har", withDestinationPath: "../out/b.har")
      #expect(!Self.isAllowed("\(folder)/in/b", in: roots))
      try files.createSymbolicLink(atPath: "\(folder)/in/c.strings.json", withDestinationPath: "/nowhere/c")
      #expect(!Self.isAllowed("\(folder)/in/c", in: roots))
      try files.createSymbolicLink(atPath: "\(folder)/in/loop", withDestinationPath: "loop")
      _ = Self.isAllowed("\(folder)/in/loop/a", in: roots)
      // A link into a root is allowed.
      try files.createSymbolicLink(atPath: "\(folder)/link", withDestinationPath: "in/deep")
      #expect(Self.isAllowed("\(folder)/link/a", in: roots))
    }
  }
}
