import Diorama

/// Makes a patient out of somebody who has never been here.
struct Registration {
  let api: ClinicAPI
  let controls: AppControls

  /// An account that nobody else has.
  func register() async throws -> (email: String, token: String) {
    let email = try controls.strings.string("email", length: 12) + "@example.com"
    let user = try await api.register(email: email, age: try controls.strings.integer("age", in: 18...99))
    return (email, user.token)
  }
}
