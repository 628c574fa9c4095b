import Foundation
import HTTPMessages
import Testing

@Suite("Bodies", .timeLimit(.minutes(5)))
struct BodyTests {
  @Test("has a length if it is known")
  func length() {
    #expect(Body.empty.length == 0)
    #expect(Body.bytes([1, 2]).length == 2)
    #expect(Body.stream(BytePipe(), length: 7).length == 7)
    #expect(Body.stream(BytePipe(), length: nil).length == nil)
  }

  @Test("collects up to the limit only", arguments: [nil, 3])
  func collect(length: Int?) async throws {
    #expect(try await Body.bytes([1, 2, 3]).collect(upTo: 3) == [1, 2, 3])
    await #expect(throws: BodyTooLarge.self) { try await Body.bytes([1, 2, 3]).collect(upTo: 2) }
    let stream = { Body.stream(BytePipe(holding: [1, 2, 3]), length: length) }
    #expect(try await stream().collect(upTo: 3) == [1, 2, 3])
    await #expect(throws: BodyTooLarge.self) { try await stream().collect(upTo: 2) }
  }

  @Test("stops the writer of a stream that exceeds the limit")
  func tooLarge() async throws {
    let pipe = BytePipe(capacity: 1)
    let writer = Task { while true { try await pipe.write([1, 2]) } }
    await #expect(throws: BodyTooLarge.self) { try await Body.stream(pipe, length: nil).collect(upTo: 3) }
    await #expect(throws: BytePipe.ReaderGone.self) { try await writer.value }
  }

  @Test("throws the error of a failed stream")
  func failing() async {
    struct Broken: Error {}
    let pipe = BytePipe()
    pipe.fail(Broken())
    await #expect(throws: Broken.self) { try await Body.stream(pipe, length: nil).collect(upTo: 3) }
  }
}

@Suite("File bodies")
struct FileBodyTests {
  private func withFile(_ bytes: [UInt8], length: Int? = nil, _ body: (FileBody) async throws -> Void) async throws {
    let path = NSTemporaryDirectory() + "diorama-\(UUID().uuidString)"
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    try await body(FileBody(owning: open(path, O_RDONLY | O_CLOEXEC), length: length ?? bytes.count))
  }

  @Test("reads at any offset, repeatedly, up to the length")
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

  @Test("reports a truncated file")
  func cut() async throws {
    try await withFile([1, 2, 3], length: 4) { file async throws in
      let cut = await #expect(throws: BodyError.self) { try await Body.file(file).collect(upTo: 10) }
      #expect(cut?.description == "cannot read byte 3 of a file of 4 bytes: the file was truncated")
    }
  }

  @Test("closes the file with the last reference")
  func closed() async throws {
    var descriptor: Int32 = -1
    try await withFile([1]) { file async throws in descriptor = file.descriptor }
    // The number may already have been reused for another test's file.
    var status = stat()
    #expect(fstat(descriptor, &status) != 0 || status.st_size != 1 || status.st_nlink != 0)
  }
}
