import Foundation
import LaunchContract
import Testing

@Suite("Parameters of random values in JSON")
struct StringParametersTests {
  @Test(
    "are beside the value, and are read back",
    arguments: [
      (StringParameters.string(length: 2, alphabet: "ab"), #"{"alphabet":"ab","length":2,"value":"x"}"#),
      (.email(length: 3, domain: "a.b"), #"{"domain":"a.b","length":3,"type":"email","value":"x"}"#),
      (.uuid(version4: false), #"{"type":"uuid","value":"x"}"#),
      (.uuid(version4: true), #"{"type":"uuid","value":"x","version4":true}"#),
      (
        .integer(low: .min, high: .max),
        #"{"high":9223372036854775807,"low":-9223372036854775808,"type":"integer","value":"x"}"#
      ),
      (.choice(.options(["b", "a"])), #"{"options":["b","a"],"type":"choice","value":"x"}"#),
      (.choice(.count(3)), #"{"count":3,"type":"choice","value":"x"}"#),
      (.shuffle(.options([])), #"{"options":[],"type":"shuffle","value":"x"}"#),
      (.shuffle(.count(3)), #"{"count":3,"type":"shuffle","value":"x"}"#),
      (.generator, #"{"type":"generator","value":"x"}"#),
    ])
  func entries(parameters: StringParameters, text: String) throws {
    let entry = StringEntry(value: "x", parameters: parameters)
    #expect(String(decoding: try ContractJSON.encode(entry), as: UTF8.self) == text)
    #expect(try JSONDecoder().decode(StringEntry.self, from: Data(text.utf8)) == entry)
  }

  private struct Request: Decodable {
    var parameters: StringParameters

    init(from decoder: any Decoder) throws {
      parameters = try StringParameters(request: decoder)
    }
  }

  @Test("have defaults in a request, but not in a store")
  func defaults() throws {
    let alphabet = "abcdefghijklmnopqrstuvwxyz0123456789"
    for (text, parameters) in [
      ("{}", StringParameters.string(length: 12, alphabet: alphabet)),
      (#"{"length": 3}"#, .string(length: 3, alphabet: alphabet)),
      (#"{"type": "email"}"#, .email(length: 12, domain: "example.com")),
    ] {
      #expect(try JSONDecoder().decode(Request.self, from: Data(text.utf8)).parameters == parameters)
      #expect(throws: DecodingError.self) { try JSONDecoder().decode(StringParameters.self, from: Data(text.utf8)) }
    }
    for text in [#"{"type": "integer"}"#, #"{"type": "choice"}"#, #"{"type": "x"}"#, #"{"length": "3"}"#] {
      #expect(throws: (any Error).self) { try JSONDecoder().decode(Request.self, from: Data(text.utf8)) }
    }
  }
}
