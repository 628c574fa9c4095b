import Basics
@testable import Transforms
import Cassettes
import Foundation
import HTTPMessages
import LaunchContract
import PortLeases
import Testing

@testable import EnvironmentService

@Suite("An environment's launch contract")
struct ContractTests {
  private static let api = Origin(scheme: "https", host: "a.test", port: 443)
  private static let cdn = Origin(scheme: "https", host: "b.test", port: 443)

  @Test("names endpoints, toggles, ports, credentials and control")
  func contract() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.proxy, ["api": Self.api, "cdn": Self.cdn]) {
        $0.name = "Booking/books a slot"
        $0.seed = "s"
        $0.toggles = ["skip": .bool(true)]
        $0.defaults = ["seen": .int(1)]
        $0.values = ["place": .string("x")]
        $0.ports = ["debug": 20_012]
        $0.credentials = [.init(service: "clinic", account: "token", secret: Array("geheim".utf8))]
        $0.credentialFaults = [.init("locked")]
      }
      let contract = environment.contract
      #expect(contract.version == 1)
      #expect(contract.environment == .init(id: environment.id, name: "Booking/books a slot"))
      #expect(contract.mode == "proxy")
      #expect(contract.seed == "s")
      #expect(contract.toggles == ["skip": .bool(true)])
      #expect(contract.defaults == ["seen": .int(1)])
      #expect(contract.values == ["place": .string("x")])
      #expect(contract.ports == ["debug": 20_012])
      #expect(contract.endpoints["api"] == "http://127.0.0.1:\(environment.upstreams[0].port)")
      #expect(contract.endpoints["cdn"] == environment.endpoint("cdn"))
      #expect(environment.endpoint("none") == nil)
      #expect(contract.credentials?.items.first?.secret.revealed == Data("geheim".utf8).base64EncodedString())
      #expect(contract.credentials?.faults == [.init("locked")])
      #expect(contract.control?.url == "http://127.0.0.1:\(environment.mainPort)/__diorama")
      #expect(contract.control?.token.revealed == environment.token)
      // The library that apps use must be able to read it.
      let decoded = try JSONDecoder().decode(LaunchContract.self, from: try contract.encodedDocument())
      #expect(decoded == contract)
    }
  }

  @Test("has variables for programs in any language")
  func variables() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.proxy, ["my-api.v2": Self.api]) {
        $0.ports = ["débug": 20_012]
        $0.clock.timeZone = "Europe/London"
      }
      #expect(
        environment.variables == [
          "DIORAMA_ENDPOINT_MY_API_V2": "http://127.0.0.1:\(environment.upstreams[0].port)",
          "DIORAMA_PORT_D_BUG": "20012", "DIORAMA_ENVIRONMENT": environment.id,
          "DIORAMA_CONTROL": "http://127.0.0.1:\(environment.mainPort)/__diorama", "DIORAMA_TOKEN": environment.token,
          "DIORAMA_MAIN": "http://127.0.0.1:\(environment.mainPort)",
          "DIORAMA_PROXY": "http://127.0.0.1:\(environment.mainPort)", "TZ": "Europe/London",
        ])
      let bare = try fixture.provision(.proxy, ["api": Self.api])
      #expect(bare.variables["TZ"] == nil)
    }
  }

  @Test("gives an upstream the requested port and variable")
  func fixedPorts() async throws {
    try await withService { fixture in
      let held = try PortReservation()
      let environment = try fixture.provision(.proxy, ["api": Self.api, "auth": Self.cdn]) {
        $0.endpointPorts = ["auth": held.port]
        $0.endpointVariables = ["AUTH_URL": "auth"]
      }
      #expect(environment.endpoint("auth") == "http://127.0.0.1:\(held.port)")
      #expect(environment.variables["AUTH_URL"] == "http://127.0.0.1:\(held.port)")
      #expect(environment.endpoint("api") != environment.endpoint("auth"))
      let error = #expect(throws: CodedError.self) {
        try fixture.provision(.proxy, ["api": Self.api]) { $0.endpointPorts = ["api": held.port] }
      }
      #expect(error?.description.contains("\(held.port)") == true)
      for change: (inout EnvironmentSpecification) -> Void in [
        { $0.endpointPorts = ["aip": 8081] }, { $0.endpointVariables = ["API_URL": "aip"] },
      ] {
        let error = #expect(throws: CodedError.self) { try fixture.provision(.proxy, ["api": Self.api], change) }
        #expect(error?.description.contains("there is no upstream 'aip'; the declared upstreams are: api") == true)
      }
    }
  }

  @Test("has strings derived, derived and reported, or recorded, depending on the mode")
  func policies() async throws {
    try await withService { fixture in
      #expect(try fixture.provision(.proxy, ["api": Self.api]).contract.strings == .init(policy: .derive))
      #expect(try fixture.provision(.mock).contract.strings == .init(policy: .derive))
      try await fixture.run(.once, ["api": Self.api], with: { $0.seed = "recording-2018" }) { environment in
        #expect(environment.contract.strings == .init(policy: .report))
        #expect(environment.contract.mode == "record")
        _ = try await environment.control("/strings", #"{"key": "email"}"#)
      }
      try await fixture.run(.extend, ["api": Self.api]) { environment in
        #expect(environment.contract.strings?.policy == .report)
        #expect(environment.contract.seed == "recording-2018")
      }
      let replayed = try fixture.provision(.once).contract
      #expect(replayed.mode == "replay")
      #expect(replayed.seed == "recording-2018")
      #expect(replayed.strings?.policy == .replay)
      #expect(replayed.strings?.entries?["email"]?.map { $0?.value } == ["z0r1lpyugt7o"])
    }
  }

  @Test("has a different id, token and ports for each environment")
  func isolation() async throws {
    try await withService { fixture in
      let environments = try (0..<8).map { _ in try fixture.provision(.proxy, ["api": Self.api]) }
      #expect(Set(environments.map(\.id)).count == 8)
      #expect(Set(environments.map(\.token)).count == 8)
      #expect(Set(environments.map(\.seed)).count == 8)
      #expect(Set(environments.flatMap { [$0.mainPort, $0.upstreams[0].port] }).count == 16)
      #expect(environments.allSatisfy { $0.token.count == 64 })
    }
  }
}
