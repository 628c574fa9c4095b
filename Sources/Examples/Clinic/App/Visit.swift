import Diorama
import Foundation

/// A patient who stays signed in, for 15 minutes at a time, and logs in with a PIN.
struct Visit {
  /// The length of a session.
  private static let session = Duration.seconds(15 * 60)
  /// The number of attempts for the PIN.
  private static let attempts = 3

  let api: ClinicAPI
  let controls: AppControls
  let screen: Screen

  /// Signs in, waits for the end of the session, and repeats until the input ends.
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

  /// Whether the patient entered the right PIN.
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

  /// A stored secret; nil if there is none.
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
    "never-ask-for-pin", default: false, purpose: "Signs in automatically at the end of a session.")
}
