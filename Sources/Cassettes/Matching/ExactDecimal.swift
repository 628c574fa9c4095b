/// A JSON number by its exact decimal value.
///
/// `1`, `1.0` and `10e-1` are one, `0.1` and `0.10000000000000001` are two, and `-0` is 0. Nothing is ever expanded, so that `1e999999999` costs no more than `1`.
struct ExactDecimal: Equatable {
  /// Sign, digits without zeros at either end, `e`, exponent: the same for the same value.
  ///
  /// An exponent of more than 17 digits is kept as it is written, with the shift that the digits' place makes: with
  /// such ones `1e…` and `10e…` are not found to be equal.
  let bytes: [UInt8]

  /// Reads a number as RFC 8259, 6, allows it.
  init(_ text: String) {
    var digits: [UInt8] = []
    var isNegative = false
    var fraction = 0
    var isInFraction = false
    var exponent: Substring.UTF8View?
    scan: for (index, byte) in zip(text.utf8.indices, text.utf8) {
      switch byte {
      case UInt8(ascii: "-"): isNegative = true
      case UInt8(ascii: "."): isInFraction = true
      case UInt8(ascii: "e"), UInt8(ascii: "E"):
        exponent = text.utf8[index...].dropFirst()
        break scan
      default:
        if isInFraction { fraction += 1 }
        if byte != UInt8(ascii: "0") || !digits.isEmpty { digits.append(byte) }
      }
    }
    guard !digits.isEmpty else {
      bytes = [UInt8(ascii: "0")]
      return
    }
    var shift = -fraction
    while digits.last == UInt8(ascii: "0") {
      digits.removeLast()
      shift += 1
    }

    let exponentIsNegative = exponent?.first == UInt8(ascii: "-")
    let exponentDigits = (exponent ?? ""[...].utf8).drop { !(0x31...0x39 ~= $0) }
    var bytes = isNegative ? [UInt8(ascii: "-")] : []
    bytes += digits
    bytes.append(UInt8(ascii: "e"))
    if exponentDigits.count <= 17, let number = exponentDigits.isEmpty ? 0 : Int(Substring(exponentDigits)) {
      bytes += "\((exponentIsNegative ? -number : number) + shift)".utf8
    } else {
      bytes += exponentIsNegative ? "-".utf8 : "+".utf8
      bytes += exponentDigits
      bytes += "e\(shift)".utf8
    }
    self.bytes = bytes
  }
}
