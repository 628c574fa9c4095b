import DioramaScenarios
import Testing

/// Its properties belong to the main actor, like all code in this target.
final class Features: StepDefinitions {
  private var booked = 0

  var steps: [Step] {
    Given("nothing") { self.booked = 0 }
    When("{word} books {int} slot(s)") { (_: String, count: Int) in self.booked += count }
    Then("she has {int} slot(s)") { (count: Int) in #expect(self.booked == count) }
  }
}
