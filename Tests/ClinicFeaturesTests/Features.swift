import DioramaScenarios
import DioramaTesting
import Foundation

/// The steps of the clinic's feature files.
///
/// They replay. To record, run a backend: `clinic-backend --now 2018-10-08T09:20:00Z`, then
/// `DIORAMA_MODE=record CLINIC_BACKEND=http://127.0.0.1:PORT swift test --filter ClinicFeaturesTests`.
struct Features: StepDefinitions {
  var configuration: TestEnvironment.Configuration? {
    let backend = ProcessInfo.processInfo.environment["CLINIC_BACKEND"]
    return .init(.replay, upstreams: backend.map { ["clinic": $0] } ?? [:], toggles: ["skip-onboarding": true])
  }

  var steps: [Step] {
    EnvironmentSteps(app: "clinic")
    Visit()
    Rezepte()
  }
}

/// What a patient does during a visit.
final class Visit: StepDefinitions {
  var steps: [Step] {
    Given("a patient with the PIN {string} is signed in") { (pin: String) in
      try await self.perform("the app is launched with \"visit\"")
      try await self.perform("the app prints \"choose a PIN:\"")
      try await self.perform("the user enters \"\(pin)\"")
      try await self.perform("the app prints \"signed in\"")
    }
  }
}

/// The steps in German.
final class Rezepte: StepDefinitions {
  private struct Rezept: Codable {
    var mittel: String
    var dosis: Int
  }

  private struct Prescription: Codable {
    var medicine: String
    var dose: Int
    var doctor: String
  }

  var steps: [Step] {
    Given("die Ärztin {string} hat verschrieben:") { (doctor: String, list: [Rezept]) in
      try await TestEnvironment.current.stub(.get("/v1/prescriptions")) {
        .json(list.map { Prescription(medicine: $0.mittel, dose: $0.dosis, doctor: doctor) })
      }
    }
    Given("die Klinik antwortet immer mit {int}") { (status: Int) in
      try await self.perform("the backend answers \(status) to everything")
    }
    When("sie ihre Rezepte ansieht") { try await self.perform("the app is launched with \"prescriptions\"") }
    When("{int} Sekunde(n) vergeht/vergehen") { (seconds: Int) in
      try await self.perform("\(seconds) seconds pass once the app is waiting")
    }
    Then("liest sie {string}") { (text: String) in try await self.perform("the app prints \"\(text)\"") }
    Then("endet die App mit {int}") { (status: Int) in try await self.perform("the app exits with \(status)") }
    Then("die App hat {string} {int} Mal abgefragt") { (request: String, count: Int) in
      try await self.perform("the app has asked for \"\(request)\" \(count) times")
    }
  }
}
