import Basics
import Diorama
import Foundation
import LaunchContract
import Testing

@Suite("Launch under a contract")
struct LaunchTests {
  private let warnings = Collected<String>()

  private func launch(_ contract: String) throws -> AppControls {
    try AppControls.launch(arguments: ["app"], environment: ["DIORAMA_CONTRACT": contract]) { [warnings] in
      warnings.add($0)
    }
  }

  @Test(
    "rejects an invalid contract and one of a later version", arguments: ["{", #"{"version":2}"#, "file:/nowhere"])
  func refuses(_ contract: String) {
    let error = #expect(throws: DioramaError.self) { try launch(contract) }
    #expect(error?.kind == .contract)
  }

  @Test("warns of unknown members once and continues")
  func unknown() throws {
    _ = try launch(#"{"version":1,"weather":1,"clock":{"kind":"system","drift":2}}"#)
    #expect(warnings.values == ["ignored unknown members of the launch contract: clock.drift, weather"])
  }

  @Test("sends nothing before the app reads a value")
  func quiet() throws {
    try withControlServer { server in
      _ = try launch(#"{"version":1,"seed":"s","control":{"url":"\#(server.control.url)","token":"t"}}"#)
      #expect(server.requests.isEmpty)
    }
  }

  @Test("uses the contract's endpoints")
  func endpoints() throws {
    let url = try #require(URL(string: "https://dev.api1.com"))
    let controls = try launch(#"{"version":1,"endpoints":{"api":"http://127.0.0.1:20013"}}"#)
    #expect(controls.endpoint("api", default: url).absoluteString == "http://127.0.0.1:20013")
    #expect(controls.endpoint("other", default: url) == url)
    #expect(throws: DioramaError.self) { try launch(#"{"version":1,"endpoints":{"api":"no url"}}"#) }
  }

  @Test(
    "uses the main port with the host as first path segment for an undeclared backend",
    arguments: [
      ("https://dev.api1.com", "http://127.0.0.1:20011/dev.api1.com"),
      ("https://dev.api1.com/", "http://127.0.0.1:20011/dev.api1.com/"),
      ("http://dev.api1.com:8080/v2/a%20b", "http://127.0.0.1:20011/dev.api1.com:8080/v2/a%20b"),
      ("file:///tmp/x", "file:///tmp/x"),
    ])
  func undeclared(_ backend: String, _ expected: String) throws {
    let controls = try launch(
      #"{"version":1,"endpoints":{"api":"http://127.0.0.1:20013"},"#
        + #""control":{"url":"http://127.0.0.1:20011/__diorama","token":"t"}}"#)
    let url = try #require(URL(string: backend))
    #expect(controls.endpoint("undeclared", default: url).absoluteString == expected)
  }

  @Test("provides the test's values")
  func values() throws {
    struct Place: Decodable, Equatable {
      var latitude: Double
      var name: String
    }
    let controls = try launch(
      #"{"version":1,"values":{"location":"51.5,-0.1","place":{"latitude":51.5,"name":"London"},"tries":3}}"#)
    #expect(controls.values["location"] == "51.5,-0.1")
    #expect(controls.values["tries"] == "3")
    #expect(controls.values["nothing"] == nil)
    #expect(try controls.values.decode("place") == Place(latitude: 51.5, name: "London"))
    #expect(try controls.values.decode("nothing", as: Place.self) == nil)
    let error = #expect(throws: DioramaError.self) { try controls.values.decode("tries", as: Place.self) }
    #expect(error?.description.contains("values.tries") == true)
  }
}

@Suite("Lookup of the launch contract")
struct ContractSourceTests {
  @Test("returns nil without an argument and a nonempty variable")
  func none() throws {
    #expect(try LaunchContract.decode(argumentsOf: ["app", "--x"], environment: ["HOME": "/"]) == nil)
    #expect(try LaunchContract.decode(argumentsOf: [], environment: ["DIORAMA_CONTRACT": ""]) == nil)
  }

  @Test("reads the environment variable")
  func variable() throws {
    let found = try LaunchContract.decode(
      argumentsOf: ["app"], environment: ["DIORAMA_CONTRACT": #"{"version":1,"mode":"a"}"#])
    #expect(found?.mode == "a")
  }

  @Test("prefers the argument to the variable, and the last argument to earlier ones")
  func precedence() throws {
    let contract = try LaunchContract.decode(
      argumentsOf: [
        "app", "-DioramaContract", #"{"version":1,"mode":"a"}"#, "-DioramaContract", #"{"version":1,"mode":"b"}"#,
      ],
      environment: ["DIORAMA_CONTRACT": "not even JSON"])
    #expect(contract?.mode == "b")
  }

  @Test("reports a missing value after the argument")
  func argumentWithoutValue() {
    #expect(
      throws: CodedError.contract(
        "requires a value: JSON or file:/absolute/path", source: "the argument -DioramaContract")
    ) {
      try LaunchContract.decode(argumentsOf: ["app", "-DioramaContract"], environment: [:])
    }
  }
}

@Suite("App without a contract")
struct LiveTests {
  private let controls: AppControls

  init() throws {
    controls = try AppControls.launch(arguments: ["app"], environment: [:]) { Issue.record("warned: \($0)") }
  }

  @Test("launches in a process without a contract")
  func launches() throws {
    _ = try AppControls.launch()
  }

  @Test("uses the machine's time, time zone and locale")
  func clock() async throws {
    let before = Date()
    let now = controls.clock.now
    #expect((before...Date()).contains(now))
    #expect(controls.clock.timeZone == .current)
    #expect(controls.clock.locale == .current)
    try await controls.clock.sleep(for: .zero)
  }

  @Test("makes really random strings, UUIDs and integers")
  func strings() throws {
    let strings = try (0..<100).map { _ in try controls.strings.string("email", length: 12) }
    #expect(Set(strings).count == 100)
    #expect(strings.allSatisfy { $0.count == 12 && $0.allSatisfy(RandomStrings.lettersAndDigits.contains) })
    #expect(try controls.strings.uuid("id") != controls.strings.uuid("id"))
    let numbers = try (0..<200).map { _ in try controls.strings.integer("age", in: -1...1) }
    #expect(Set(numbers) == [-1, 0, 1])
    #expect(try controls.strings.string("binary", length: 30, alphabet: "01").allSatisfy { "01".contains($0) })
  }

  @Test("rejects the same keys, lengths and alphabets as a recording")
  func rules() {
    #expect(throws: DioramaError.self) { try controls.strings.string("", length: 1) }
    #expect(throws: DioramaError.self) { try controls.strings.uuid("a\nb") }
    #expect(throws: DioramaError.self) { try controls.strings.string("k", length: -1) }
    #expect(throws: DioramaError.self) { try controls.strings.string("k", length: 1, alphabet: "x") }
  }

  @Test("uses the defaults of toggles, no values, and the live backends")
  func rest() throws {
    #expect(controls.toggles[Toggle("on", default: true)])
    #expect(controls.toggles[Toggle("pages", default: 7)] == 7)
    #expect(controls.values["location"] == nil)
    let url = try #require(URL(string: "https://dev.api1.com/v2"))
    #expect(controls.endpoint("api", default: url) == url)
  }
}
