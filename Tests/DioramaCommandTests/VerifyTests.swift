import Foundation
import TestSupport
import Testing

@testable import DioramaCommand

@Suite("diorama verify and isolated runs", .timeLimit(.minutes(5)))
struct VerifyTests {
  @Test("begins all runs at the same time in mode mock, unless it is given")
  func start() async throws {
    let command = ["sh", "-c", "echo \"$DIORAMA_CONTRACT\" | grep -o '\"start\":[^,]*'"]
    for options in [[], ["--start", "2018-10-08T09:00:00Z"]] {
      let outcome = try await Diorama.run(
        ["verify", "--runs", "3", "--mode", "mock", "--allow-no-requests"] + options + ["--"] + command)
      #expect(outcome.status == 0, "\(outcome.words)")
      #expect(outcome.words.contains("3 runs did the same"), "\(outcome.words)")
    }
  }

  @Test("says that a proxy does not intercept programs that ignore its variables")
  func proxy() async throws {
    let outcome = try await Diorama.run(
      "run", "--isolate=proxy", "--mode", "mock", "--allow-no-requests", "--", "true")
    #expect(
      outcome.words.contains("programs that ignore the proxy variables are neither recorded nor kept from the network"),
      "\(outcome.words)")
  }

  @Test("names the frozen clock as a cause of a command that did not end in time")
  func timeout() {
    #expect(
      RunCommand.timeoutFailure(2, isClockFrozen: true)
        == "the command was stopped after 2.0 s; raise --timeout; if it waits for the time of day to pass, use --clock ticking"
    )
    #expect(
      RunCommand.timeoutFailure(2, isClockFrozen: false) == "the command was stopped after 2.0 s; raise --timeout")
  }
}
