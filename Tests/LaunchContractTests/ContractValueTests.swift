import LaunchContract
import Testing

@Suite("Contract values")
struct ContractValueTests {
  @Test(
    "parses an option's value as JSON, or else as a string",
    arguments: [
      ("true", .bool(true)), ("1", .int(1)), ("-0.5", .double(-0.5)), ("\"1\"", .string("1")), ("null", .null),
      ("word", .string("word")), ("two words", .string("two words")), ("", .string("")),
      ("[1,{\"a\":false}]", .array([.int(1), .object(["a": .bool(false)])])),
      ("9223372036854775807", .int(.max)), ("1e300", .double(1e300)), ("{broken", .string("{broken")),
    ] as [(String, ContractValue)])
  func argument(_ text: String, _ value: ContractValue) {
    #expect(ContractValue(argument: text) == value)
  }

  @Test("converts an integer to a fraction, but not the other way round")
  func numbers() {
    #expect(ContractValue.int(3).double == 3)
    #expect(ContractValue.double(3).int == 3)
    #expect(ContractValue.double(3.5).int == nil)
    #expect(ContractValue.bool(true).int == nil)
    #expect(ContractValue.string("3").int == nil)
    #expect(ContractValue.int(1).bool == nil)
  }

  @Test("gives a string unchanged, and other values as JSON")
  func text() {
    #expect(ContractValue.string("a b").text == "a b")
    #expect(ContractValue.object(["b": .int(1), "a": .null]).text == #"{"a":null,"b":1}"#)
  }
}
