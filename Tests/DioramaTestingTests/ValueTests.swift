import Basics
import LaunchContract
import Testing

@testable import DioramaTesting

@Suite("Values for the app")
struct ValueTests {
  private struct Location: Encodable {
    var latitude = 51.5
    var names = ["a", "b"]
  }

  @Test("keep the types of literals")
  func literals() throws {
    let word = "x"
    let values: [String: TestEnvironment.Value] = [
      "bool": true, "int": -7, "whole": 1.0, "double": 1.5, "text": "a\(word)", "list": [1, "b", [false]],
      "object": ["n": 1, "s": "t"],
    ]
    #expect(
      try values.contractValues("toggle") == [
        "bool": .bool(true), "int": .int(-7), "whole": .double(1), "double": .double(1.5), "text": .string("ax"),
        "list": .array([.int(1), .string("b"), .array([.bool(false)])]),
        "object": .object(["n": .int(1), "s": .string("t")]),
      ])
  }

  @Test("can be any Encodable value")
  func encodable() throws {
    #expect(
      try TestEnvironment.Value(Location()).content.get()
        == .object(["latitude": .double(51.5), "names": .array([.string("a"), .string("b")])]))
    #expect(try TestEnvironment.Value(true).content.get() == .bool(true))
  }

  @Test("cause an error with their name if they have no JSON representation")
  func unencodable() {
    let values = ["speed": TestEnvironment.Value(Double.infinity)]
    let error = #expect(throws: DioramaTestingError.self) { try values.contractValues("toggle") }
    #expect(error?.description.hasPrefix("toggle 'speed': a value of type Double cannot be encoded as JSON") == true)
  }

  @Test("never show a credential's secret")
  func secret() {
    let credential = TestEnvironment.Credential(service: "clinic", account: "token", secret: "hush")
    var dumped = ""
    dump(credential, to: &dumped)
    #expect("\(credential)" == "clinic/token")
    #expect(!dumped.contains("hush") && !dumped.contains("104"))
  }
}
