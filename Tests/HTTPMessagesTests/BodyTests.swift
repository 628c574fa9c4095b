import HTTPMessages
import Testing

@Suite("Bodies", .timeLimit(.minutes(5)))
struct BodyTests {
  @Test("knows its length where it is known")
  func length() {
    #expect(Body.empty.length == 0)
    #expect(Body.bytes([1, 2]).length == 2)
    #expect(Body.stream(BytePipe(), length: 7).length == 7)
    #expect(Body.stream(BytePipe(), length: nil).length == nil)
  }

  @Test("collects up to the limit and not beyond", arguments: [nil, 3])
  func collect(length: Int?) async throws {
    #expect(try await Body.bytes([1, 2, 3]).collect(upTo: 3) == [1, 2, 3])
    await #expect(throws: BodyTooLarge.self) { try await Body.bytes([1, 2, 3]).collect(upTo: 2) }
    let stream = { Body.stream(BytePipe(holding: [1, 2, 3]), length: length) }
    #expect(try await stream().collect(upTo: 3) == [1, 2, 3])
    await #expect(throws: BodyTooLarge.self) { try await stream().collect(upTo: 2) }
  }

  @Test("lets go of the writer of a stream that turns out too large")
  func tooLarge() async throws {
    let pipe = BytePipe(capacity: 1)
    let writer = Task { while true { try await pipe.write([1, 2]) } }
    await #expect(throws: BodyTooLarge.self) { try await Body.stream(pipe, length: nil).collect(upTo: 3) }
    await #expect(throws: BytePipe.ReaderGone.self) { try await writer.value }
  }

  @Test("a stream that fails is not collected")
  func failing() async {
    struct Broken: Error {}
    let pipe = BytePipe()
    pipe.fail(Broken())
    await #expect(throws: Broken.self) { try await Body.stream(pipe, length: nil).collect(upTo: 3) }
  }
}
