import Foundation
import FuzzedParsers
import Testing

@Suite("The fuzzers' corpus")
struct CorpusTests {
  @Test("is read to the end, or refused with an error, by its parser", arguments: FuzzedParser.allCases)
  func isRead(_ parser: FuzzedParser) throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Fuzzing/Corpus/\(parser.rawValue)")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(!names.isEmpty)
    for name in names {
      let bytes = [UInt8](try Data(contentsOf: folder.appendingPathComponent(name)))
      // What an earlier fault has taught: a trap would end this very process.
      do { try parser.parse(bytes) } catch { #expect(!"\(error)".isEmpty, "\(name)") }
    }
  }
}
