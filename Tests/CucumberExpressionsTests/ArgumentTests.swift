import CucumberExpressions
import Foundation
import Testing

@Suite("An argument")
struct ArgumentTests {
  enum Color: String, CaseIterable, Decodable { case red, darkRed = "dark red" }
  enum Fruit: CaseIterable { case apple, pear }
  enum Level: Int, CaseIterable { case low = 1, high = 2 }
  struct Tag: RawRepresentable { let rawValue: String }
  struct Booking: Decodable, Equatable { let patient: String, minutes: Int }

  private func argument(_ text: String, _ expression: String = "/(.*)/") throws -> Argument {
    try #require(try ParameterTypeRegistry().expression(expression).match(text)?.first)
  }

  private func message<Value>(_ text: String, as type: Value.Type, _ expression: String = "/(.*)/") throws -> String? {
    let argument = try argument(text, expression)
    return #expect(throws: ExpressionError.self) { try argument.decoded(as: type) }?.message
  }

  @Test("is converted to numbers")
  func convertsToNumbers() throws {
    #expect(try argument("7").decoded(as: Int.self) == 7)
    #expect(try argument("-7", "{int}").decoded(as: Int8.self) == -7)
    #expect(try argument("7", "{int}").decoded(as: Double.self) == 7)
    #expect(try argument("+1.5E+3", "{float}").decoded(as: Float.self) == 1500)
    #expect(try argument("true").decoded() == true)
  }

  @Test("is converted to an exact decimal number")
  func convertsToDecimal() throws {
    for (text, expected) in [
      ("3.1415926535897932384626433832795028842", "3.1415926535897932384626433832795028842"), ("+1.10", "1.1"),
      ("-.1E-1", "-0.01"), ("1E2", "100"), ("100000000000000000000000000000000000000000", "1E41"),
    ] {
      let expected = try #require(Decimal(string: expected))
      #expect(try argument(text, "{bigdecimal}").decoded(as: Decimal.self) == expected, "\(text)")
    }
    #expect(
      try message("0.123456789012345678901234567890123456789", as: Decimal.self)
        == "'0.123456789012345678901234567890123456789' is not a valid Decimal; expected a number of at most 38 digits")
    #expect(try message("1.5 euro", as: Decimal.self)?.hasPrefix("'1.5 euro' is not a valid Decimal") == true)
  }

  @Test("is converted to a string, also if it is a number")
  func convertsToString() throws {
    #expect(try argument("a \"b\"", "a {string}").decoded(as: String.self) == "b")
    #expect(try argument("007", "{int}").decoded(as: String.self) == "007")
    #expect(try argument("a", "{}").decoded(as: Character.self) == "a")
  }

  @Test("is converted to a case of an enum by its raw value or name")
  func convertsToCase() throws {
    #expect(try argument("\"dark red\"", "{string}").decoded(as: Color.self) == .darkRed)
    #expect(try argument("pear", "{word}").decoded(as: Fruit.self) == .pear)
    #expect(try argument("2", "{int}").decoded(as: Level.self) == .high)
    #expect(try argument("high", "{word}").decoded(as: Level.self) == .high)
    #expect(try argument("smoke").decoded(as: Tag.self).rawValue == "smoke")
    #expect(try message("plum", as: Fruit.self) == "'plum' is not a valid Fruit; expected one of: apple, pear")
    #expect(try message("blue", as: Color.self) == "'blue' is not a valid Color; expected one of: red, dark red")
  }

  @Test("is decoded from JSON")
  func decodesJSON() throws {
    let booking = Booking(patient: "Anna", minutes: 30)
    #expect(try argument(#"{"patient":"Anna","minutes":30}"#, "{}").decoded(as: Booking.self) == booking)
    #expect(try argument(#"'[1, 2]'"#, "{string}").decoded(as: [Int].self) == [1, 2])
    #expect(try argument("https://example.com/a").decoded(as: URL.self).path == "/a")
    #expect(
      try message(#"{"patient":"Anna"}"#, as: Booking.self)
        == #"'{"patient":"Anna"}' is not a valid Booking: 'minutes' is missing"#)
  }

  @Test("is optional if its group is optional")
  func isOptional() throws {
    let expression = #"/booked(?: for (\d+) minutes)?/"#
    #expect(try argument("booked", expression).decoded(as: Int?.self) == nil)
    #expect(try argument("booked for 30 minutes", expression).decoded(as: Int?.self) == 30)
    #expect(try argument("booked for 30 minutes", expression).decoded(as: Double?.self) == 30)
    #expect(
      try message("booked", as: Int.self, expression)
        == "the optional group of '{int}' has no value; decode it as Int? instead")
    #expect(
      try message("booked for 300 minutes", as: UInt8?.self, expression)
        == "'300' is not a valid UInt8; expected an integer from 0 to 255")
  }

  @Test("reports a type that has no conversion")
  func reportsUnsupported() throws {
    final class Session {}
    #expect(try message("a", as: Session.self) == "'a' is not a valid Session")
  }
}
