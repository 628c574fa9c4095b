/// The step definitions that come with the library DioramaScenarios, for Swift files that use them.
enum BuiltInSteps {
  /// The name in places, instead of a path.
  static let place = "DioramaScenarios"

  /// Adds those that a Swift file uses.
  ///
  /// - Parameters:
  ///   - text: the file's text.
  ///   - steps: the steps found so far.
  ///   - added: what was added before.
  static func add(usedIn text: String, to steps: inout SwiftSteps, _ added: inout Set<String>) {
    for (name, definitions) in [("EnvironmentSteps", environment), ("CommonPageSteps", pages)]
    where text.contains("\(name)(") && added.insert(name).inserted {
      steps.add(definitions, path: place)
    }
  }

  /// The steps of `EnvironmentSteps`, which a test compares with its file.
  static let environment = ##"""
    extension EnvironmentSteps {
      ParameterType("duration", #"\d+(?:\.\d+)? (?:milliseconds?|seconds?|minutes?|hours?|days?).*"#) { $0 }
      ParameterType("instant", #"\d{4}-\d{2}-\d{2}\S*"#) { $0 }
      ParameterType("json", ".+") { $0 }
      Given("the toggle {string} is {json}") {}
      When("the app is launched") {}
      When("the app is launched with {string}") {}
      When("the app is launched with the arguments:") {}
      When("the app {string} is launched") {}
      When("the app {string} is launched with {string}") {}
      When("the app {string} is launched with the arguments:") {}
      When("the user enters {string}") {}
      When("the user ends the input") {}
      When("the app is terminated") {}
      Then("the app prints {string}") {}
      Then("the app prints the error {string}") {}
      Then("the app has not printed {string}") {}
      Then("the app exits with {int}") {}
      When("{duration} pass(es)") {}
      When("{duration} pass(es) once the app is waiting") {}
      When("{duration} pass(es) once {int} tasks of the app are waiting") {}
      Given("the clock is set to {instant}") {}
      Then("the clock shows {instant}") {}
      Given("the backend answers {int} to {string}") {}
      Given("the backend {string} answers {int} to {string}") {}
      Given("the backend is down") {}
      Given("the backend {string} is down") {}
      Given("the backend answers {int} to everything") {}
      Given("the backend takes {duration} to answer") {}
      Given("the backend has the fault {string}") {}
      Given("the backend works again") {}
      Then("the app has asked for {string}") {}
      Then("the app has asked for {string} {int} time(s)") {}
      Then("the app has not asked for {string}") {}
      Then("the app has asked for nothing") {}
    }
    """##

  /// The steps of `CommonPageSteps`, whose expressions depend on the pages.
  private static let pages = ##"""
    extension CommonPageSteps {
      Then(/(?:I see|I should see|it is) .+/) {}
    }
    """##
}
