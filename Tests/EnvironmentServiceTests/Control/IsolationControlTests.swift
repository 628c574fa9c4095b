import Basics
import ControlAPI
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing
import Transforms

@testable import EnvironmentService

@Suite("The control paths for isolated commands")
struct IsolationControlTests {
  private static let upgrade: Headers = ["Connection": "Upgrade", "Upgrade": "diorama-tunnel"]

  private static func isolated(_ specification: inout EnvironmentSpecification) {
    specification.isolation = .init()
    specification.isolation?.kind = "namespaces"
    specification.isolation?.hostPorts = [5432]
  }

  private func get(
    _ path: String, _ environment: Environment, token: String? = nil, _ more: Headers = [:]
  ) async throws -> RawClient.Answer {
    var headers = environment.headers(token: token)
    for field in more.fields { headers.append(field.name, field.value) }
    return try await ask(environment.mainPort, request("GET", "/__diorama" + path, headers))
  }

  @Test("need the token, and an environment for isolated commands")
  func refused() async throws {
    try await withService { fixture in
      let plain = try fixture.provision(.mock)
      let isolated = try fixture.provision(.mock, [:], Self.isolated)
      let tunnel = "/tunnel?address=192.0.2.1&port=80"
      for path in ["/isolation", tunnel] {
        #expect(try await get(path, isolated, token: "wrong", Self.upgrade).status == 401)
        let answer = try await get(path, plain, Self.upgrade)
        let detail = try answer.json["detail"]?.string
        #expect(answer.status == 409 && detail?.contains("--isolate") == true)
      }
      #expect(try await get(tunnel, isolated).status == 426)
      for query in ["", "?address=192.0.2.1", "?port=80", "?address=192.0.2.1&port=70000"] {
        #expect(try await get("/tunnel" + query, isolated, Self.upgrade).status == 400, "\(query)")
      }
      #expect(try await isolated.control("/isolation", #"{"kind": "x", "missing": [], "problems": []}"#).status == 400)
      for environment in [plain, isolated] { _ = await environment.end() }
    }
  }

  @Test("describe how to isolate a command")
  func plan() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock, ["api": Origin(scheme: "http", host: "localhost", port: 80)]) {
        Self.isolated(&$0)
        $0.seed = "s"
        $0.ports = ["debug": 4000]
      }
      let answer = try await get("/isolation", environment)
      let plan = try JSON.decode(IsolationPlan.self, from: Data(answer.body), source: "")
      #expect(plan.environment == environment.id && plan.seed == "s" && plan.ports == [4000])
      #expect(plan.ownPorts == [environment.mainPort, environment.upstreams[0].port] && plan.hasLocalOrigins)
      #expect(plan.settings.hostPorts == [5432] && plan.clock.clock.kind == .frozen)
      let again = try JSON.decode(
        IsolationPlan.self, from: Data(try await get("/isolation", environment).body), source: "")
      #expect(again.certificate == plan.certificate && !plan.certificate.isEmpty)
      _ = await environment.end()
    }
  }

  @Test("make a connection one of the command, which ends with the environment")
  func tunnel() async throws {
    try await withService { fixture in
      try fixture.writeCassette(url: "http://api.example.com/a", text: "hello")
      let environment = try fixture.provision(.replay, [:], Self.isolated)
      let client = try await onThread { try RawClient(port: environment.mainPort) }
      var headers = environment.headers()
      for field in Self.upgrade.fields { headers.append(field.name, field.value) }
      let target = "/__diorama/tunnel?address=198.18.0.1&port=80&name=api.example.com"
      let (accepted, answer) = try await onThread { [headers] in
        try client.send(request("GET", target, headers))
        let accepted = try client.receiveHead()
        try client.send(request("GET", "/a", ["Host": "api.example.com"]))
        return (accepted, try client.receiveAnswer())
      }
      #expect(accepted.status == 101)
      #expect(answer.status == 200 && answer.text == "hello")
      let note = #"{"kind": "namespaces", "missing": ["m"], "problems": []}"#
      for _ in 0..<2 { #expect(try await environment.control("/isolation", note).status == 204) }
      let (report, _) = await environment.end()
      #expect(report.ok && report.requests.replayed == 1)
      #expect(report.isolation?.kind == "namespaces" && report.isolation?.missing == ["m"])
      let rest = try await onThread { try client.receiveAll() }
      #expect(rest.isEmpty)
    }
  }

  @Test("report the commands that were running at the end")
  func interrupted() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock, [:], Self.isolated)
      for (name, member) in [
        ("a", "entering"), ("b", "entering"), ("b", "entering"), ("a", "leaving"), ("b", "leaving"),
      ] {
        let note = #"{"kind": "seccomp", "missing": [], "problems": [], "\#(member)": "\#(name)"}"#
        #expect(try await environment.control("/isolation", note).status == 204)
      }
      let (report, _) = await environment.end()
      #expect(report.ok && report.isolation?.kind == "seccomp" && report.isolation?.interrupted == ["b"])
    }
  }

  @Test("report the weakest kind of isolation, and the problems of commands")
  func notes() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock, [:], Self.isolated)
      environment.noteIsolation(.init(kind: "namespaces", missing: ["a"]))
      environment.noteIsolation(.init(kind: "proxy", reason: "no namespaces", missing: ["a", "b"], problems: ["p"]))
      environment.noteIsolation(.init(kind: "seccomp"))
      let (report, _) = await environment.end()
      #expect(report.isolation?.kind == "proxy" && report.isolation?.reason == "no namespaces")
      #expect(report.isolation?.missing == ["a", "b"] && report.failures == ["p"])
    }
  }

  @Test("exist beside the main port as a proxy for any host, which needs the token")
  func absoluteForm() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let environment = try fixture.provision(.record, [:], Self.isolated)
      // The upstream is on this machine, which other kinds keep from commands.
      environment.noteIsolation(.init(kind: "proxy"))
      func status(_ password: String?) async throws -> Int {
        var headers: Headers = ["Host": upstream.origin.authority]
        if let password { headers.append("Proxy-Authorization", "Basic " + Base64.encode(Array("a:\(password)".utf8))) }
        return try await ask(environment.mainPort, request("GET", "\(upstream.origin)/a", headers)).status
      }
      // Also once the host is known.
      for _ in 0..<2 {
        for password in [nil, "", "wrong", "\(environment.token):"] {
          #expect(try await status(password) == 407, "\(password ?? "none")")
        }
        #expect(try await status(environment.token) == 200)
      }
      let (report, _) = await environment.end()
      #expect(report.ok && report.requests.recorded == 2)
    }
  }
}
