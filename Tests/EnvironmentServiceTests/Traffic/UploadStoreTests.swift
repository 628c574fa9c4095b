import Basics
import Foundation
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("A request body that is held until it is sent")
struct UploadStoreTests {
  @Test("is in memory while it is short, then in an unnamed file", arguments: [10, 1 << 20, (1 << 20) + 1])
  func kept(size: Int) async throws {
    try await withService { fixture in
      let store = UploadStore(folder: fixture.folder)
      let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
      for start in stride(from: 0, to: size, by: 300_000) {
        try store.append(Array(bytes[start..<min(size, start + 300_000)]))
      }
      #expect(fixture.files.isEmpty)
      let body = store.finish()
      if case .file = body { #expect(size > 1 << 20) } else { #expect(size <= 1 << 20) }
      for _ in 0..<2 { #expect(try await body.collect(upTo: size) == bytes) }
    }
  }

  @Test("is refused if the disk is full, with advice")
  func noRoom() {
    let problem = #expect(throws: Problem.self) {
      try UploadStore(folder: "/nowhere/at all").append([UInt8](repeating: 0, count: 2 << 20))
    }
    #expect(problem?.status == 507)
    #expect(problem?.detail.contains("set TMPDIR") == true)
  }

  @Test("loses nothing that was recorded if the disk is full, and the error says where it is")
  func full() {
    errno = ENOSPC
    let temporary = FileWriting.failure("write", "/x", isRecording: false).message
    errno = ENOSPC
    let recording = FileWriting.failure("write", "/x").message
    #expect(temporary == "cannot write /x: No space left on device; free disk space and run again")
    #expect(recording == temporary + "; the old file is unchanged")
    errno = ENOSPC
    let partial = FileWriting.failure("write", "/a b/x.har.partial").message
    #expect(partial.hasSuffix("recorded so far; recover it with: diorama cassette check --recover '/a b/x'"))
  }
}
