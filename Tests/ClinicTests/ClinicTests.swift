import Basics
import Foundation
import LaunchContract
import Testing

@Suite("Clinic app and backend")
struct ClinicTests {
  private func contract(
    _ backend: Backend, at start: String, seed: String = "s", toggles: [String: JSON] = [:]
  ) -> LaunchContract {
    LaunchContract(
      environment: .init(id: "", name: ""), mode: "proxy",
      clock: .init(kind: .frozen, start: start, timeZone: "Europe/London"), seed: seed, toggles: toggles,
      endpoints: ["clinic": backend.url])
  }

  @Test("books a slot live, with a different e-mail address each time")
  func live() throws {
    let backend = try Backend()
    let runs = try (0..<2).map { _ in try Programs.clinic("book", "--backend", backend.url) }
    for run in runs {
      #expect(run.status == 0, "\(run.errors)")
      #expect(run.output.contains("Welcome"))
      #expect(run.output.contains(/registered [a-z0-9]{12}@example\.com\n/))
      #expect(
        run.output.contains(/booked \d{4}-\d\d-\d\dT\d\d:(00|30):00Z, \d\d:\d\d here, at Chelsea for [a-z0-9]{24}\n/))
      #expect(run.output.contains(/confirmation of \d+ bytes\n/))
    }
    #expect(runs[0].output != runs[1].output)
    #expect(backend.stop() == 0)
  }

  @Test("uses the contract's time, time zone and random values, and skips the onboarding if the toggle is on")
  func controlled() throws {
    let backend = try Backend("--now", "2018-10-08T09:20:00Z")
    let run = try Programs.clinic(
      "book",
      contract: contract(
        backend, at: "2018-10-08T09:20:00Z", seed: "recording-2018", toggles: ["skip-onboarding": .bool(true)]))
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.output.hasPrefix("registered z0r1lpyugt7o@example.com\nbooked 2018-10-08T10:00:00Z, 11:00 here, at"))
  }

  @Test("rejects slots that are in the past by the app's clock")
  func past() throws {
    let backend = try Backend("--now", "2018-10-08T09:20:00Z")
    let run = try Programs.clinic("book", contract: contract(backend, at: "2018-10-09T09:20:00Z"))
    #expect(run.status == 1)
    #expect(
      run.errors == "clinic: every slot is in the past: the last at Chelsea is 2018-10-08T12:30:00Z, "
        + "and it is 2018-10-09T09:20:00Z\n")
    let inBetween = try Programs.clinic("book", contract: contract(backend, at: "2018-10-08T11:45:00Z", seed: "t"))
    #expect(inBetween.output.contains("booked 2018-10-08T12:00:00Z"), "\(inBetween.errors)")
  }

  @Test("shows the backend's explanation of an error")
  func refused() throws {
    let backend = try Backend("--now", "2018-10-08T09:20:00Z")
    let contract = contract(backend, at: "2018-10-08T09:20:00Z", seed: "recording-2018")
    _ = try Programs.clinic("book", contract: contract)
    let run = try Programs.clinic("book", contract: contract)
    #expect(run.status == 1)
    #expect(
      run.errors == "clinic: POST \(backend.url)/v1/users: status 409: z0r1lpyugt7o@example.com is already registered\n"
    )
  }

  @Test("has different IDs with every run of the backend")
  func ids() throws {
    let clinics = try [Backend(), Backend()].map { backend in
      try Data(contentsOf: #require(URL(string: "\(backend.url)/v1/clinics?page=2")))
    }
    #expect(clinics[0] != clinics[1])
  }

  @Test(
    "exits with an error on one line",
    arguments: [
      (["book", "--backend", "http://127.0.0.1:1"], 1, "clinic: POST http://127.0.0.1:1/v1/users: "),
      (["book", "-DioramaContract", #"{"version":7}"#], 1, "clinic: launch contract in the argument"),
      (["cook"], 64, "clinic: unknown command 'cook'\n"),
      (["book", "--backend", "nowhere"], 64, "clinic: --backend requires a URL"),
    ] as [([String], Int32, String)])
  func errors(_ arguments: [String], _ status: Int32, _ words: String) throws {
    let run = try Programs.run("clinic", arguments)
    #expect(run.status == status)
    #expect(run.errors.hasPrefix(words))
    #expect(run.errors.split(separator: "\n").count == (status == 64 ? 2 : 1))
  }

  @Test("prints the usage of the backend")
  func backendUsage() throws {
    for arguments in [["--port", "x"], ["--now", "soon"], ["--now"], ["--what"]] {
      let run = try Programs.run("clinic-backend", arguments)
      #expect(run.status == 64)
      #expect(run.errors.contains("usage: clinic-backend"))
    }
  }

  @Test("reports a port that is in use")
  func portTaken() throws {
    let backend = try Backend()
    let port = try #require(backend.url.split(separator: ":").last)
    let run = try Programs.run("clinic-backend", ["--port", String(port)])
    #expect(run.status == 1)
    #expect(run.errors.contains(port))
  }
}
