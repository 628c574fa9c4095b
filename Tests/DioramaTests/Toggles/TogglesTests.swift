import Diorama
import Foundation
import LaunchContract
import Testing

@Suite("Toggles under a contract")
struct TogglesTests {
  private let warnings = Collected<String>()

  private func toggles(_ values: [String: ContractValue]) throws -> Toggles {
    try controls(values, control: nil).toggles
  }

  private func controls(_ values: [String: ContractValue], control: LaunchContract.Control?) throws -> AppControls {
    var contract = LaunchContract(
      environment: .init(id: "", name: ""), mode: "mock", clock: .init(kind: .system), seed: "", toggles: values)
    contract.control = control
    return try AppControls(contract) { [warnings] in warnings.add($0) }
  }

  @Test("have the test's values, of four types, and else their defaults")
  func types() throws {
    let toggles = try toggles(["skip-onboarding": .bool(true), "pages": .int(3), "rate": .int(2), "name": .string("x")])
    #expect(toggles[.skipOnboarding])
    #expect(toggles[Toggle("pages", default: 1)] == 3)
    #expect(toggles[Toggle("rate", default: 0.5)] == 2.0)
    #expect(toggles[Toggle("name", default: "")] == "x")
    #expect(toggles[Toggle("unset", default: "default")] == "default")
    #expect(warnings.values.isEmpty)
  }

  @Test("complain once of a value of another type, and keep the default")
  func otherType() throws {
    let toggles = try toggles(["skip-onboarding": .string("perhaps")])
    #expect(!toggles[.skipOnboarding])
    #expect(!toggles[.skipOnboarding])
    #expect(warnings.values.count == 1)
    #expect(warnings.values.first?.contains("skip-onboarding is perhaps, which is no Bool") == true)
  }

  @Test("tell the environment of their first reading, with what the app got")
  func usage() throws {
    try withControlServer { server in
      let controls = try controls(["skip-onboarding": .bool(true)], control: server.control)
      for _ in 0..<3 {
        _ = controls.toggles[.skipOnboarding]
        _ = controls.toggles[Toggle("pages", default: 7)]
      }
      controls.flush()
      let reports = try server.requests.map { try JSONDecoder().decode(UsageReport.self, from: $0.body).toggles }
      #expect(
        reports.flatMap { $0 }.sorted { $0.key < $1.key }.map(\.value) == [.int(7), .bool(true)])
      #expect(reports.flatMap(\.keys).sorted() == ["pages", "skip-onboarding"])
      #expect(server.requests.allSatisfy { $0.path == "/__diorama/usage" })
    }
  }

  @Test("keep their value when the environment does not answer")
  func unreported() throws {
    let server = try ControlServer { _ in nil }
    server.stop()
    let controls = try controls(["skip-onboarding": .bool(true)], control: server.control)
    #expect(controls.toggles[.skipOnboarding])
    controls.flush()
    #expect(warnings.values.count == 1)
  }
}
