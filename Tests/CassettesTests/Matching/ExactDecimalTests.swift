import Testing

@testable import Cassettes

@Suite("Exact decimal values")
struct ExactDecimalTests {
  @Test(
    "have one spelling each",
    arguments: [
      ("0", "0"), ("-0.00", "0"), ("0e5", "0"), ("1", "1e0"), ("1.0", "1e0"), ("10e-1", "1e0"), ("100", "1e2"),
      ("0.010", "1e-2"),
      ("-12.50", "-125e-1"), ("1e-7", "1e-7"), ("1E+400", "1e400"), ("1.5e00000000000000000003", "15e2"),
      ("1e123456789012345678", "1e+123456789012345678e0"), ("2e-123456789012345678", "2e-123456789012345678e0"),
    ])
  func spelling(_ text: String, _ expected: String) {
    #expect(String(decoding: ExactDecimal(text).bytes, as: UTF8.self) == expected)
  }

  @Test("move with the point and the exponent together")
  func random() {
    var generator = SeededGenerator(4)
    for _ in 0..<2_000 {
      let digits = String(generator.next())
      let point = 1 + generator.upTo(digits.count - 2)
      let exponent = generator.upTo(600) - 300
      let moved = "\(digits.prefix(point)).\(digits.dropFirst(point))e\(exponent + digits.count - point)"
      #expect(ExactDecimal("\(digits)e\(exponent)") == ExactDecimal(moved))
      #expect(ExactDecimal("\(digits)e\(exponent)") != ExactDecimal("\(digits)e\(exponent + 1)"))
    }
  }
}
