import DioramaTesting
import Foundation
import TestSupport
import Testing

extension Samples {
  @Test(
    "signs in with a leased account",
    .environment(
      upstreams: ["api": NestedRun.value("URL")], cassette: NestedRun.value("CASSETTE"),
      resources: ["patient": .pool("patients", where: ["plan": "premium"], wait: .seconds(30))]))
  func account() async throws {
    let patient = try TestEnvironment.current.resource("patient")
    print("account: \(patient.name) \(patient.attributes) \(patient.secrets)")
    #expect(throws: DioramaTestingError.self) { try TestEnvironment.current.resource("doctor") }
    let app = shell(
      """
      test "$1" = "$DIORAMA_RESOURCE_PATIENT" -a "$2" = "$DIORAMA_RESOURCE_PATIENT_PASSWORD" || exit 1
      curl -s -o /dev/null -d "$1 $2" "$DIORAMA_ENDPOINT_API/sign-in"
      """, patient.name, patient.secrets["password"] ?? "", in: .current)
    try await app.launch()
    try await app.wait(for: .exited(0))
  }
}

@Suite("Resources of a test")
struct ResourceTests {
  @Test(
    "are leased while it records, and replaced by the recorded ones in a replay", arguments: ["embedded", "daemon"])
  func account(host: String) async throws {
    let daemon = try await RunningDaemon()
    let folder = try Folder()
    try Data("name,plan,secret:password\nanna,premium,s3cret-1\n".utf8).write(
      to: URL(fileURLWithPath: folder.file("p.csv")))
    _ = try await daemon.diorama("pool", "create", "patients")
    _ = try await daemon.diorama("pool", "import", "patients", folder.file("p.csv"))
    let backend = try await Backend()
    func run(_ mode: String) async throws -> String {
      let (text, passed) = try await NestedRun.run(
        "Samples/account", values: ["URL": backend.url, "CASSETTE": folder.file("sign-in")],
        variables: [
          "DIORAMA_HOME": daemon.folder, "DIORAMA_DAEMON": host == "daemon" ? daemon.folder : "0",
          "DIORAMA_MODE": mode,
        ])
      #expect(passed, "\(text)")
      return text
    }
    #expect(try await run("record").contains(#"account: anna ["plan": "premium"] ["password": "s3cret-1"]"#))
    #expect(try await daemon.diorama("lease", "list") == "no leased resources\n")
    #expect(try await daemon.diorama("pool", "show", "patients").contains(#/free +1 /#))
    let har = try folder.read("sign-in.har")
    #expect(!har.contains("s3cret-1") && har.contains("patient"))
    #expect(
      try await run("replay").contains(
        #"account: anna ["plan": "premium"] ["password": "diorama-patient-password"]"#))
    #expect(try await daemon.diorama("pool", "show", "patients").contains(#/free +1 /#))
    await backend.app.terminate()
  }
}
