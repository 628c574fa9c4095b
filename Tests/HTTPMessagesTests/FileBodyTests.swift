import Foundation
import HTTPMessages
import Testing

@Suite("Files as bodies")
struct FileBodyTests {
  private func withFile(_ bytes: [UInt8], length: Int? = nil, _ body: (FileBody) async throws -> Void) async throws {
    let path = NSTemporaryDirectory() + "diorama-\(UUID().uuidString)"
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    try await body(FileBody(owning: open(path, O_RDONLY | O_CLOEXEC), length: length ?? bytes.count))
  }

  @Test("are read from any place, as often as one likes, and up to their length")
  func read() async throws {
    let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
    try await withFile(bytes, length: 299_999) { file async throws in
      #expect(Body.file(file).length == 299_999)
      for _ in 0..<2 {
        #expect(try await Body.file(file).collect(upTo: 299_999) == Array(bytes.dropLast()))
        #expect(try file.read(at: 100_000, upTo: 3) == Array(bytes[100_000..<100_003]))
        #expect(try file.read(at: 299_998, upTo: 3) == [bytes[299_998]])
        #expect(try file.read(at: 299_999, upTo: 3) == [])
      }
      await #expect(throws: BodyTooLarge.self) { try await Body.file(file).collect(upTo: 299_998) }
    }
  }

  @Test("that have become shorter say so")
  func cut() async throws {
    try await withFile([1, 2, 3], length: 4) { file async throws in
      let cut = await #expect(throws: FileBodyCut.self) { try await Body.file(file).collect(upTo: 10) }
      #expect(cut?.description == "a file of 4 bytes could not be read at byte 3: it is shorter now")
    }
  }

  @Test("are closed with the last reference")
  func closed() async throws {
    var descriptor: Int32 = -1
    try await withFile([1]) { file async throws in descriptor = file.descriptor }
    // Another test may have been given the number meanwhile: then it is another file.
    var status = stat()
    #expect(fstat(descriptor, &status) != 0 || status.st_size != 1 || status.st_nlink != 0)
  }
}
