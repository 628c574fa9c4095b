import Foundation
import Testing

@Suite("Threat model")
struct ThreatPageTests {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  @Test("names an existing test in each row")
  func tests() throws {
    let page = try String(contentsOf: Self.root.appendingPathComponent("Sources/Daemon/THREATS.md"), encoding: .utf8)
    let rows = page.split(separator: "\n").filter {
      $0.hasPrefix("| ") && !$0.hasPrefix("| attacker |")
    }
    #expect(rows.count > 20)
    let sources = try sources()
    for row in rows {
      let names = row.matches(of: /`([A-Za-z]+)\.([a-zA-Z]+)`/).map { (String($0.1), String($0.2)) }
      let scripts = row.matches(of: /`([a-z_]+\.py): ([a-z_]+)`/).map { (String($0.1), String($0.2)) }
      #expect(!names.isEmpty || !scripts.isEmpty, "\(row)")
      for (suite, function) in names {
        let file = try #require(sources["\(suite).swift"], "\(suite)")
        #expect(file.contains("struct \(suite)") && file.contains("func \(function)("), "\(suite).\(function)")
      }
      for (script, function) in scripts {
        let file = try #require(sources[script], "\(script)")
        #expect(file.contains("def \(function)("), "\(script): \(function)")
      }
    }
  }

  /// The contents of all test files, by file name.
  private func sources() throws -> [String: String] {
    let folder = Self.root.appendingPathComponent("Tests").resolvingSymlinksInPath()
    var sources: [String: String] = [:]
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    while let file = files?.nextObject() as? URL {
      guard ["swift", "py"].contains(file.pathExtension) else { continue }
      sources[file.lastPathComponent, default: ""] += try String(contentsOf: file, encoding: .utf8)
    }
    return sources
  }
}
