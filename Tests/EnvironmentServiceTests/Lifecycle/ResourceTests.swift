import Basics
import Cassettes
import ControlAPI
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing
@testable import Transforms

@testable import EnvironmentService

@Suite("Resources of an environment")
struct ResourceTests {
  private static let queries = ["patient": ResourceQuery(pool: "patients", where: ["plan": "premium"])]

  private static func leased(_ name: String = "anna", password: String = "s3cret-of-anna") -> [String: LeasedResource] {
    [
      "patient": LeasedResource(
        pool: "patients", name: name, attributes: ["plan": "premium"], secrets: ["password": password], fence: 4)
    ]
  }

  private static func signIn(_ environment: Environment) async throws -> RawClient.Answer {
    let variables = environment.variables
    let name = variables["DIORAMA_RESOURCE_PATIENT"] ?? ""
    let password = variables["DIORAMA_RESOURCE_PATIENT_PASSWORD"] ?? ""
    return try await ask(
      environment.upstreams[0].port,
      request("POST", "/sign-in", ["Content-Type": "text/plain"], "\(name) \(password)"))
  }

  @Test("are recorded without secrets, and replayed by placeholders")
  func recorded() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let report = try await fixture.run(
        .record, ["api": upstream.origin],
        with: {
          $0.resources = Self.queries
          $0.leased = Self.leased()
        }
      ) { environment async throws in
        #expect(environment.variables["DIORAMA_RESOURCE_PATIENT_PLAN"] == "premium")
        #expect(
          environment.contract.credentials?.items.map { [$0.service, $0.account] } == [["patient", "password"]])
        #expect(environment.specification.holdsResources)
        #expect(try await Self.signIn(environment).status == 200)
      }
      #expect(report.ok)
      #expect(!(try fixture.read("c.har")).contains("s3cret-of-anna"))
      #expect(
        try fixture.cassette().header.resources["patient"]
          == .init(pool: "patients", name: "anna", attributes: ["plan": "premium"], secrets: ["password"]))
      let replay = try await fixture.run(.replay, with: { $0.resources = Self.queries }) { environment async throws in
        #expect(environment.variables["DIORAMA_RESOURCE_PATIENT"] == "anna")
        #expect(environment.variables["DIORAMA_RESOURCE_PATIENT_PLAN"] == "premium")
        #expect(environment.variables["DIORAMA_RESOURCE_PATIENT_PASSWORD"] == "diorama-patient-password")
        #expect(!environment.specification.holdsResources)
        #expect(try await Self.signIn(environment).status == 200)
      }
      #expect(replay.ok && replay.requests.replayed == 1)
      // Also without naming them, and with a note if others are meant.
      let plain = try fixture.provision(.replay)
      #expect(plain.variables["DIORAMA_RESOURCE_PATIENT"] == "anna" && plain.notes.isEmpty)
      let other = try fixture.provision(.replay) {
        $0.resources = [
          "patient": ResourceQuery(pool: "patients", where: ["plan": "free"]), "x": ResourceQuery(pool: "y"),
        ]
      }
      #expect(other.notes.contains { $0.hasPrefix("the resource 'patient' of the recording, 'anna'") })
      #expect(other.notes.contains { $0.hasPrefix("the recording has no resource 'x'") })
    }
  }

  @Test("are leased only if requests will reach a backend; an extension needs the recorded ones")
  func needed() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      func needed(_ mode: Mode, _ change: (inout EnvironmentSpecification) -> Void = { _ in }) throws -> [String:
        ResourceQuery]
      {
        var specification = EnvironmentSpecification(name: "a", mode: mode)
        specification.cassette = fixture.location()
        specification.resources = Self.queries
        change(&specification)
        return try specification.resourcesToLease()
      }
      for mode in [Mode.record, .extend, .proxy, .once] { #expect(try needed(mode) == Self.queries) }
      #expect(try needed(.mock).isEmpty && needed(.replay).isEmpty)
      #expect(try needed(.record) { $0.leased = Self.leased() }.isEmpty)
      #expect(throws: CodedError.self) { try needed(.once) { $0.isContinuousIntegration = true } }
      try await fixture.run(
        .record, ["api": upstream.origin],
        with: {
          $0.resources = Self.queries
          $0.leased = Self.leased()
        }
      ) { environment async throws in _ = try await Self.signIn(environment) }
      #expect(try needed(.once).isEmpty && needed(.replay).isEmpty)
      #expect(try needed(.extend)["patient"]?.attributes == ["plan": "premium", "name": "anna"])
      #expect(try needed(.record) == Self.queries && needed(.proxy) == Self.queries)
      var old = CassettePolicies()
      old.rerecordAfterDays = 0.000_000_1
      #expect(try needed(.once) { $0.policies = old } == Self.queries)
    }
  }

  @Test("have placeholders in mode mock, and must be leased otherwise")
  func placeholders() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock) { $0.resources = Self.queries }
      #expect(environment.variables["DIORAMA_RESOURCE_PATIENT"] == "patient")
      #expect(environment.variables["DIORAMA_RESOURCE_PATIENT_PLAN"] == "premium")
      let error = try #require(throws: CodedError.self) {
        try fixture.provision(.proxy, ["api": Origin(scheme: "https", host: "a.test", port: 443)]) {
          $0.resources = Self.queries
        }
      }
      #expect(error.message.contains("were not leased"))
    }
  }
}
