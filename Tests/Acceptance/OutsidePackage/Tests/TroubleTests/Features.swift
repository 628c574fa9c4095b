import DioramaScenarios
import Testing

struct Features: StepDefinitions {
  var steps: [Step] {
    EnvironmentSteps(app: "clinic")
    When("the slot is taken twice") { #expect([1, 1].count == 1) }
    When("she books {int} slot") { (count: Int) in }
    When("she waits") {}
    When("she wait(s)") {}
  }
}
