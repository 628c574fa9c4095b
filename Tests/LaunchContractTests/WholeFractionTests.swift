import Foundation
import LaunchContract
import Testing

@Suite("Integers with a fraction")
struct WholeFractionTests {
  @Test(
    "keep the fraction when decoded and encoded",
    arguments: [
      "10.0", "[10.0,10]", #"{"a":{"b":[1,2.0,{"c":-3.0}]},"z":0.5}"#, #"{"1":{"0":7.0}}"#, "1e+16", "-0.0",
      #"{"t":"10.0 at 127.0.0.1","u":1.0}"#,
    ])
  func stays(text: String) throws {
    let value = try ContractJSON.decode(ContractValue.self, from: Data(text.utf8), source: "")
    #expect(String(decoding: try ContractJSON.encode(value), as: UTF8.self) == text)
    #expect(ContractValue(argument: text) == value)
  }

  @Test("are Doubles, however written, and 10 is an Int", arguments: ["10.0", "10.00", "1e1", "1E+1", "100e-1"])
  func kinds(text: String) throws {
    #expect(try ContractJSON.decode(ContractValue.self, from: Data(text.utf8), source: "") == .double(10))
    #expect(try ContractJSON.decode(ContractValue.self, from: Data("10".utf8), source: "") == .int(10))
    let member = try ContractJSON.decode([String: ContractValue].self, from: Data(#"{"7": \#(text)}"#.utf8), source: "")
    #expect(member == ["7": .double(10)])
  }

  @Test("do not change similar strings")
  func strings() throws {
    let value = ContractValue.array([.string("diorama-1-10.0"), .double(10), .string("\"10.0\"")])
    let text = String(decoding: try ContractJSON.encode(value), as: UTF8.self)
    #expect(text == #"["diorama-1-10.0",10.0,"\"10.0\""]"#)
  }
}
