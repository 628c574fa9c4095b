import Basics
import Foundation
import Testing

@testable import EnvironmentService

@Suite("The lock of a recording")
struct PartialLockTests {
  @Test("is released at once, even if a child process that is being started has inherited the descriptor")
  func inherited() async throws {
    try await withService { fixture in
      var lock: PartialLock? = try PartialLock.making(fixture.location())
      #expect(throws: CodedError.self) { try PartialLock.making(fixture.location()) }
      // As between fork and exec.
      let inherited = dup(try #require(lock).descriptor)
      defer { close(inherited) }
      lock = nil
      #expect(throws: Never.self) { try PartialLock.making(fixture.location()) }
    }
  }
}
