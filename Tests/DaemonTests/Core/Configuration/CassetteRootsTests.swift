import Foundation
import Testing

@testable import Daemon

@Suite("Where cassettes may lie")
struct CassetteRootsTests {
  /// A folder with `in/`, `out/` and links between them, gone afterwards.
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

  @Test("is anywhere where no roots are named, but only by an absolute path without '..'")
  func noRoots() {
    #expect(Self.isAllowed("/tmp/a/b", in: []))
    #expect(Self.isAllowed("/tmp/a..b/..c", in: []))
    for path in [
      "a/b", "", "~/a", "/tmp/../etc/a", "/tmp/..", "/tmp/a/", "/tmp/a\u{0}b", "/tmp/a\nb", "/tmp/../\u{301}/a",
    ] {
      #expect(!Self.isAllowed(path, in: []), "\(path.debugDescription)")
    }
  }

  @Test("is below a root, not beside one whose name begins alike")
  func below() throws {
    try Self.inFolder { folder in
      let roots = ["\(folder)/in"]
      #expect(Self.isAllowed("\(folder)/in/a", in: roots))
      #expect(Self.isAllowed("\(folder)/in/new/deeper/a.har", in: roots))
      #expect(!Self.isAllowed("\(folder)/inside/a", in: roots))
      #expect(!Self.isAllowed("\(folder)/out/a", in: roots))
      #expect(!Self.isAllowed("\(folder)/in", in: roots))
      #expect(!Self.isAllowed("\(folder)/in/../\u{301}/a", in: roots), "a slash is one before an accent, too")
      #expect(Self.isAllowed("\(folder)/in/\u{301}/a", in: roots))
    }
  }

  @Test("is not outside by a link: of a folder, of a file, of one that is not there yet")
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
      // A link that leads inside is as good as the place.
      try files.createSymbolicLink(atPath: "\(folder)/door", withDestinationPath: "in/deep")
      #expect(Self.isAllowed("\(folder)/door/a", in: roots))
    }
  }
}
