import Diorama
import Foundation
import LaunchContract
import Testing

@Suite("Launching under a contract")
struct LaunchTests {
  private let warnings = Collected<String>()

  private func launch(_ contract: String) throws -> AppControls {
    try AppControls.launch(arguments: ["app"], environment: ["DIORAMA_CONTRACT": contract]) { [warnings] in
      warnings.add($0)
    }
  }

  @Test(
    "refuses to start under a broken contract or a later one", arguments: ["{", #"{"version":2}"#, "file:/nowhere"])
  func refuses(_ contract: String) {
    let error = #expect(throws: DioramaError.self) { try launch(contract) }
    #expect(error?.kind == .contract)
  }

  @Test("names unknown members once, and goes on")
  func unknown() throws {
    _ = try launch(#"{"version":1,"weather":1,"clock":{"kind":"system","drift":2}}"#)
    #expect(warnings.values == ["members of the launch contract are not known here: clock.drift, weather"])
  }

  @Test("sends nothing before the app asks for something")
  func quiet() throws {
    try withControlServer { server in
      _ = try launch(#"{"version":1,"seed":"s","control":{"url":"\#(server.control.url)","token":"t"}}"#)
      #expect(server.requests.isEmpty)
    }
  }

  @Test("finds the backends where the contract has them")
  func endpoints() throws {
    let url = try #require(URL(string: "https://dev.api1.com"))
    let controls = try launch(#"{"version":1,"endpoints":{"api":"http://127.0.0.1:20013"}}"#)
    #expect(controls.endpoint("api", default: url).absoluteString == "http://127.0.0.1:20013")
    #expect(controls.endpoint("other", default: url) == url)
    #expect(throws: DioramaError.self) { try launch(#"{"version":1,"endpoints":{"api":"no url"}}"#) }
  }

  @Test(
    "asks the main port for a backend that the test has not declared, by its host",
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

  @Test("hands the test's values over")
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
