import DioramaScenarios
import DioramaTesting

/// Steps and a configuration for tests.
struct TrialDefinitions: StepDefinitions {
  var configuration: TestEnvironment.Configuration?
  let own: () -> [Step]

  init(_ configuration: TestEnvironment.Configuration? = nil, @StepsBuilder _ own: @escaping () -> [Step]) {
    self.configuration = configuration
    self.own = own
  }

  var steps: [Step] { own() }
}
