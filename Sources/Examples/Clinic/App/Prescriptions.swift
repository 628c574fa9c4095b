import Diorama

/// The prescriptions of a new patient. Tries again if the network or the backend fails.
struct Prescriptions {
  /// The delay before another attempt.
  private static let pause = Duration.seconds(5)
  private static let attempts = 3

  let api: ClinicAPI
  let controls: AppControls
  let screen: Screen

  /// Registers, and prints the prescriptions.
  func run() async throws {
    let account = try await Registration(api: api, controls: controls).register()
    screen.show("registered \(account.email)")
    let prescriptions = try await prescriptions(token: account.token)
    if prescriptions.isEmpty { screen.show("you have no prescriptions") }
    for prescription in prescriptions {
      screen.show("\(prescription.medicine), \(prescription.dose) mg, from \(prescription.doctor)")
    }
  }

  private func prescriptions(token: String) async throws -> [ClinicAPI.Prescription] {
    for _ in 1..<Self.attempts {
      do { return try await api.prescriptions(token: token) } catch let error as ClinicError where error.isTemporary {
        screen.show("no answer from the clinic; trying again in 5 seconds")
        try await controls.clock.sleep(for: Self.pause)
      }
    }
    return try await api.prescriptions(token: token)
  }
}
