package import LaunchContract

/// JSON values as they are compared: members in any order, but those of one name in theirs; numbers by their exact
/// decimal value; strings without their escapes, by their bytes.
package enum CanonicalJSON {
  /// What is still to be added; a stack of these stands in for recursion, for which some threads have no room.
  private enum Step {
    case value(JSON)
    case name(String)
    case end(count: Int, kind: UInt8)
  }

  /// Adds a value to a hash.
  ///
  /// Each kind ends with a byte of its own, after its length where it has one.
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

  /// Whether two values count as the same.
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

  /// In the order of their names' bytes, and within a name as they stand.
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
