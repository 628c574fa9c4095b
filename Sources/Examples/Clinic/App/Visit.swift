import Diorama
import Foundation

/// A patient who stays: signed in for a quarter of an hour at a time, behind a PIN.
struct Visit {
  /// How long one is signed in without a word from the patient.
  private static let session = Duration.seconds(15 * 60)
  /// How often the PIN may be wrong.
  private static let attempts = 3

  let api: ClinicAPI
  let controls: AppControls
  let screen: Screen

  /// Signs in, waits until the session is over, and begins again, until the patient has no more to say.
  func run() async throws {
    let token = try await signUp()
    try choosePIN()
    repeat {
      try await api.openSession(token: token)
      screen.show("signed in at \(time)")
      try await controls.clock.sleep(for: Self.session)
      screen.show("your session ended at \(time)")
    } while try logIn()
    screen.show("good-bye")
  }

  /// The account of this device, or a new one.
  private func signUp() async throws -> String {
    if let token = try secret("auth-token") { return token }
    let account = try await Registration(api: api, controls: controls).register()
    try controls.credentials.add(account.token, service: Self.service, account: "auth-token")
    screen.show("registered \(account.email)")
    return account.token
  }

  private func choosePIN() throws {
    guard try secret("pin") == nil, let pin = screen.ask("choose a PIN:") else { return }
    try controls.credentials.add(pin, service: Self.service, account: "pin")
  }

  /// Whether the patient is back, and is who it was.
  private func logIn() throws -> Bool {
    if controls.toggles[.neverAskForPIN] { return true }
    for _ in 0..<Self.attempts {
      guard let pin = screen.ask("log in with your PIN:") else { return false }
      if try pin == secret("pin") { return true }
      screen.show("that is not your PIN")
    }
    return false
  }

  private static let service = "clinic"

  /// What the device keeps for us; nil where it keeps nothing yet.
  private func secret(_ account: String) throws -> String? {
    do {
      return try controls.credentials.readString(service: Self.service, account: account)
    } catch  where error.kind == .notFound {
      return nil
    }
  }

  private var time: String { controls.clock.timeOfDay(controls.clock.now) }
}

extension Toggle<Bool> {
  static let neverAskForPIN = Toggle(
    "never-ask-for-pin", default: false, purpose: "Signs in again by itself when a session is over.")
}
