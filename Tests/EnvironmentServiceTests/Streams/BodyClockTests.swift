import Cassettes
import Testing

@testable import EnvironmentService

@Suite("The times of a stream that is recorded")
struct BodyClockTests {
  @Test("are those at which it came, though what is secret in it is taken out later; lengths are those of what is kept")
  func redacted() async throws {
    var clock = BodyClock(.events)
    clock.take(Array("data: secret\n\n".utf8))
    let first = clock.parts[0].milliseconds
    // Until so much time has passed that it would be another one.
    while clock.parts.last?.milliseconds == first { clock.take(Array("data: two\n\n".utf8)) }
    let came = clock.parts
    clock.keep(Array("data: <redacted>\n\n".utf8))
    for _ in 1..<came.count { clock.keep(Array("data: two\n\n".utf8)) }
    #expect(clock.parts.map(\.milliseconds) == came.map(\.milliseconds))
    #expect(clock.parts.map(\.count) == [18] + Array(repeating: 11, count: came.count - 1))
  }

  @Test("of a body that is no row of messages are those of its pauses")
  func plain() {
    var clock = BodyClock(nil)
    clock.take([1, 2, 3])
    clock.keep([1, 2, 3])
    #expect(clock.parts.isEmpty)
  }
}
