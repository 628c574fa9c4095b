package import Basics

/// Compares and hashes JSON values: members in any order (repeated names in theirs), numbers by exact decimal value,
/// strings by their unescaped bytes.
package enum CanonicalJSON {
  /// Work still to do. An explicit stack replaces recursion because some threads have small stacks.
  private enum Step {
    case value(JSON)
    case name(String)
    case end(count: Int, kind: UInt8)
  }

  /// Adds a value to a hash.
  ///
  /// Each value is followed by its length, if it has one, and a byte for its kind.
  package static func append(_ value: JSON, to hash: inout SipHash) {
    var steps = [Step.value(value)]
    while let step = steps.popLast() {
      switch step {
      case .value(.null): hash.append(UInt8(ascii: "0"))
      case .value(.bool(let isTrue)): hash.append(isTrue ? UInt8(ascii: "t") : UInt8(ascii: "f"))
      case .value(.number(let text)): append(ExactDecimal(text).bytes, kind: UInt8(ascii: "n"), to: &hash)
      case .value(.string(let text)): append(text, kind: UInt8(ascii: "s"), to: &hash)
      case .value(.array(let elements)):
        steps.append(.end(count: elements.count, kind: UInt8(ascii: "a")))
        for element in elements.reversed() { steps.append(.value(element)) }
      case .value(.object(let members)):
        steps.append(.end(count: members.count, kind: UInt8(ascii: "o")))
        for member in sorted(members).reversed() {
          steps.append(.value(member.value))
          steps.append(.name(member.key))
        }
      case .name(let text): append(text, kind: UInt8(ascii: "k"), to: &hash)
      case .end(let count, let kind):
        hash.append(number: count)
        hash.append(kind)
      }
    }
  }

  /// Whether two values are equal for matching.
  package static func areSame(_ left: JSON, _ right: JSON) -> Bool {
    var pairs = [(left, right)]
    while let pair = pairs.popLast() {
      switch pair {
      case (.null, .null): break
      case (.bool(let left), .bool(let right)):
        guard left == right else { return false }
      case (.number(let left), .number(let right)):
        guard left.hasSameBytes(as: right) || ExactDecimal(left) == ExactDecimal(right) else { return false }
      case (.string(let left), .string(let right)):
        guard left.hasSameBytes(as: right) else { return false }
      case (.array(let left), .array(let right)):
        guard left.count == right.count else { return false }
        pairs += zip(left, right)
      case (.object(let left), .object(let right)):
        guard left.count == right.count else { return false }
        for (left, right) in zip(sorted(left), sorted(right)) {
          guard left.key.hasSameBytes(as: right.key) else { return false }
          pairs.append((left.value, right.value))
        }
      default: return false
      }
    }
    return true
  }

  /// Members sorted by the bytes of their names; members with the same name keep their order.
  package static func sorted(_ members: [JSON.Member]) -> [JSON.Member] {
    members.count < 2 ? members : members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
  }

  private static func append(_ text: String, kind: UInt8, to hash: inout SipHash) {
    var text = text
    let count = text.withUTF8 { bytes in
      hash.append(UnsafeRawBufferPointer(bytes))
      return bytes.count
    }
    hash.append(number: count)
    hash.append(kind)
  }

  private static func append(_ bytes: [UInt8], kind: UInt8, to hash: inout SipHash) {
    bytes.withUnsafeBytes { hash.append($0) }
    hash.append(number: bytes.count)
    hash.append(kind)
  }
}

/// A JSON number by its exact decimal value.
///
/// `1`, `1.0` and `10e-1` are equal, `0.1` and `0.10000000000000001` are not, and `-0` is 0. Exponents are never
/// expanded, so `1e999999999` costs no more than `1`.
struct ExactDecimal: Equatable {
  /// Sign, digits without leading or trailing zeros, `e`, exponent: identical for equal values.
  ///
  /// An exponent of more than 17 digits is kept as written, followed by the shift that results from the digits'
  /// position. With such exponents, `1e…` and `10e…` are not recognized as equal.
  let bytes: [UInt8]

  /// Parses a number (RFC 8259, 6).
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
