import Basics
import Testing

@testable import Cassettes
@testable import LaunchContract

@Suite("Parallel HAR reading")
struct LargeHARTests {
  private static let count = 2_000

  /// An entry on its own line that contains `more`.
  private static func entry(_ index: Int, more: String = "") -> String {
    let url = "http://a.test/\(index)"
    let body = String(repeating: "x", count: 200)
    return """
            {\(more)
              "startedDateTime": "2018-10-08T09:00:00Z",
              "request": {"method": "GET", "url": "\(url)", "headers": []},
              "response": {"status": 200, "statusText": "OK", "headers": [], "content": {"text": "\(body)"}}
            }
      """
  }

  private static func har(_ entries: [String]) -> [UInt8] {
    Array("{\n  \"log\": {\n    \"entries\": [\n\(entries.joined(separator: ",\n"))\n    ]\n  }\n}\n".utf8)
  }

  /// The file up to the first entry.
  private static func reader(_ bytes: UnsafeRawBufferPointer) throws -> JSONReader {
    var reader = JSONReader(bytes)
    for _ in 0..<2 {
      var members = try reader.beginObject()
      _ = try reader.nextKey(&members)
    }
    _ = try reader.beginArray()
    return reader
  }

  /// The result of a parallel read; nil if the file has to be read in order.
  private static func read(_ bytes: [UInt8], processors: Int) throws -> HAR.EntryRun? {
    try bytes.withUnsafeBytes { bytes in
      let runs = HAR.EntryRuns(try reader(bytes), processors: processors) { reader in
        HAR.EntryRun(reader, name: "c.har", author: .other, isDone: { _ in })
      }
      return runs?.read()
    }
  }

  private static func urls(_ run: HAR.EntryRun?) -> [String]? { run?.interactions.map(\.request.url) }

  @Test("reads all entries in order with their numbers", arguments: 2...4)
  func whole(processors: Int) throws {
    var entries = (0..<Self.count).map { Self.entry($0) }
    entries[1_700] = entries[1_700].replacing("http://a.test", with: "data://a.test")
    entries[1_800] = entries[1_800].replacing(#""text": "x"#, with: #""size": 3, "texts": "x"#)
    let bytes = Self.har(entries)
    let run = try #require(try Self.read(bytes, processors: processors))
    #expect(Self.urls(run) == (0..<Self.count).filter { $0 != 1_700 }.map { "http://a.test/\($0)" })
    #expect(run.count == Self.count)
    #expect(run.skipped.map(\.number) == [1_701])
    #expect(run.incomplete.map(\.number) == [1_801])
    let cassette = try HAR.read(bytes, name: "c.har")
    #expect(cassette.interactions.map(\.request.url) == Self.urls(run))
    #expect(cassette.skipped == ["entry 1701: its URL begins with data:"])
    #expect(cassette.incomplete == ["entry 1801: GET http://a.test/1800"])
  }

  @Test("falls back to one run if lines only look like entries")
  func misleading() throws {
    // Each has an array of objects with the same indentation as the entries.
    let rows = "\n" + #"  "_rows": ["# + String(repeating: "\n      {},", count: 9) + "\n      {}],"
    let entries = (0..<Self.count).map { Self.entry($0, more: rows) }
    let bytes = Self.har(entries)
    let cassette = try HAR.read(bytes, name: "c.har")
    #expect(cassette.interactions.map(\.request.url) == (0..<Self.count).map { "http://a.test/\($0)" })
  }

  @Test("uses one run if the file is small or has no line breaks")
  func onlyOne() throws {
    #expect(try Self.read(Self.har([Self.entry(0)]), processors: 4) == nil)
    let line = Self.har((0..<Self.count).map { Self.entry($0) }).filter { $0 != 0x0A }
    #expect(try Self.read(line, processors: 4) == nil)
    #expect(try HAR.read(line, name: "c.har").interactions.count == Self.count)
  }

  @Test("reports the same error as for a small file", arguments: [0, 10, 990, 1_000, 1_010, 1_999])
  func broken(index: Int) throws {
    var entries = (0..<Self.count).map { Self.entry($0) }
    entries[index] = entries[index].replacing(#""url""#, with: #""uri""#)
    let expected = #expect(throws: CodedError.self) { try HAR.read(Self.har(entries), name: "c.har") }
    #expect(expected?.place == "c.har: entry \(index + 1)")
    #expect(expected?.problem.hasPrefix("request.url is missing; ") == true)
    entries[index] = entries[index].replacing(#""status": 200"#, with: #""status": 2x0"#)
    // Reports the first error even if another run found a later one.
    if index < 1_999 { entries[1_999] = "}" }
    let broken = #expect(throws: CodedError.self) { try HAR.read(Self.har(entries), name: "c.har") }
    #expect(broken?.place.hasPrefix("c.har: line \(4 + 5 * index + 3), ") == true)
  }

  @Test("stops at the end of the array")
  func end() throws {
    var bytes = Self.har((0..<Self.count).map { Self.entry($0) })
    bytes += Array("x".utf8)
    let error = #expect(throws: CodedError.self) { try HAR.read(bytes, name: "c.har") }
    #expect(error?.problem.hasPrefix("expected the end after the value, found 'x'; ") == true)
    bytes.removeLast(20)
    #expect(throws: CodedError.self) { try HAR.read(bytes, name: "c.har") }
  }
}
