import Basics
import Foundation
import Gherkin
import Testing

@testable import DioramaScenarios

@Suite struct SpeedTests {
  @Test("runs 1,000 scenarios of 7 steps with 100 definitions")
  func manyScenarios() async throws {
    let text =
      "Feature: f\n"
      + (0..<1000).map { number in
        "Scenario: s\(number)\n"
          + (0..<7).map { "Given definition \(number % 90 + $0) takes \(number) and \"a text\"\n" }.joined()
      }.joined()
    let run = try await FeatureRun(
      text,
      Steps {
        for number in 0..<100 {
          Given("definition \(number) takes {int} and {string}") { (_: Int, _: String) in }
        }
      })
    #expect(run.statuses.count == 7000)
    #expect(run.messages == [])
  }
}
