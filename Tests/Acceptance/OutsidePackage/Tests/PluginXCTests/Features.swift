import DioramaScenarios
import XCTest

final class Features: StepDefinitions {
  private var booked = 0

  var steps: [Step] {
    When("{word} books {int} slot(s)") { (_: String, count: Int) in self.booked += count }
    Then("she has {int} slot(s)") { (count: Int) in XCTAssertEqual(self.booked, count) }
  }
}
