import Cassettes
import Testing

@testable import EnvironmentService

@Suite("The parts of a recorded stream")
struct BodyClockTests {
  @Test("have the times of arrival, even if redaction delays them, and the lengths after redaction")
  func redacted() async throws {
    var clock = BodyClock(.events)
    clock.take(Array("data: secret\n\n".utf8))
    let first = clock.parts[0].milliseconds
    // Until the time would be a different one.
    while clock.parts.last?.milliseconds == first { clock.take(Array("data: two\n\n".utf8)) }
    let came = clock.parts
    clock.keep(Array("data: <redacted>\n\n".utf8))
    for _ in 1..<came.count { clock.keep(Array("data: two\n\n".utf8)) }
    #expect(clock.parts.map(\.milliseconds) == came.map(\.milliseconds))
    #expect(clock.parts.map(\.count) == [18] + Array(repeating: 11, count: came.count - 1))
  }

  @Test("are split at pauses if the body is not a stream of messages")
  func plain() {
    var clock = BodyClock(nil)
    clock.take([1, 2, 3])
    clock.keep([1, 2, 3])
    #expect(clock.parts.isEmpty)
  }
}
