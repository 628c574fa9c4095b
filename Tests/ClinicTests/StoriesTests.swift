@testable import Clinic
import DioramaTesting
import Testing

extension ClinicAPI.Prescription: Mockable {}
extension ClinicAPI.User: Mockable {}

/// What no recording can hold: what another person does, what works only once, and what goes wrong.
@Suite("Stories of a patient")
struct StoriesTests {
  private let prescription: ClinicAPI.Prescription

  init() throws { prescription = try .mock().with(\.medicine, "amoxicillin").with(\.dose, 500) }

  @Test("sees a prescription that only a GP could write, while the rest is replayed", .environment(.replay))
  func prescribed() async throws {
    let environment = try TestEnvironment.current
    try await environment.stub(.get("/v1/prescriptions")) { .json([prescription]) }

    let app = TestApplication(executable: "clinic")
    app.launchArguments = ["prescriptions"]
    try await app.launch()
    try await app.wait(forOutput: "amoxicillin, 500 mg, from \(prescription.doctor)\n")
    try await app.wait(for: .exited(0))
    try await environment.verify(.get("/v1/prescriptions"), count: 1)
  }

  @Test(
    "registers with Facebook once, and is refused a second time",
    .environment(.mock, upstreams: ["clinic": "https://clinic.example", "facebook": "https://graph.facebook.com"]))
  func registeredWithFacebook() async throws {
    let environment = try TestEnvironment.current
    try await environment.stub(.get("/oauth/access_token").upstream("facebook")) { .json(["access_token": "a token"]) }
    try await environment.stub(.post("/v1/users").upstream("clinic")) {
      try .responses(
        .json(ClinicAPI.User.mock().with(\.email, "ann@example.com"), status: 201),
        .json(["detail": "this Facebook account is already registered"], status: 409))
    }

    let app = TestApplication(executable: "clinic")
    app.launchArguments = ["register", "--with", "facebook"]
    try await app.launch()
    try await app.wait(forOutput: "enter the code it shows:\n")
    try await app.write("code-1\n")
    try await app.wait(forOutput: "registered ann@example.com with Facebook\n")
    try await app.wait(for: .exited(0))

    try await app.launch()
    try await app.write("code-2\n")
    try await app.wait(for: .exited(1))
    #expect(app.standardError.hasSuffix("status 409: this Facebook account is already registered\n"))
    for code in ["code-1", "code-2"] {
      try await environment.verify(.get("/oauth/access_token").query("code", code), count: 1)
    }
    try await environment.verify(.post("/v1/users").body(\.facebookToken, "a token"), count: 2)
  }

  // A pause of five seconds takes five milliseconds.
  @Test(
    "sees the prescription although the network drops and the backend is busy",
    .environment(.mock, upstreams: ["clinic": "https://clinic.example"], clock: .scaled(by: 1_000)))
  func interrupted() async throws {
    let environment = try TestEnvironment.current
    try await environment.stub(.post("/v1/users")) { try .json(ClinicAPI.User.mock(), status: 201) }
    try await environment.stub(.get("/v1/prescriptions")) {
      .responses(.fault(.connectionReset), .status(503), .json([prescription]))
    }

    let app = TestApplication(executable: "clinic")
    app.launchArguments = ["prescriptions"]
    try await app.launch()
    try await app.wait(forOutput: "trying again in 5 seconds\n")
    try await app.wait(forOutput: "amoxicillin, 500 mg")
    try await app.wait(for: .exited(0))
    // The system may repeat the first request itself, so the app may not see its failure.
    try await environment.verify(.get("/v1/prescriptions"), count: 3)
  }

  @Test(
    "gets an error after three attempts if the network stays down",
    .environment(.mock, upstreams: ["clinic": "https://clinic.example"], clock: .scaled(by: 1_000)))
  func offline() async throws {
    let environment = try TestEnvironment.current
    try await environment.stub(.post("/v1/users")) { try .json(ClinicAPI.User.mock(), status: 201) }
    try await environment.stub(.get("/v1/prescriptions")) { .fault(.connectionReset) }

    let app = TestApplication(executable: "clinic")
    app.launchArguments = ["prescriptions"]
    try await app.launch()
    for _ in 1...2 { try await app.wait(forOutput: "trying again in 5 seconds\n") }
    try await app.wait(for: .exited(1))
    #expect(app.standardError.hasPrefix("clinic: GET "))
  }
}
