extension String {
  /// Bytes of a message's head as text: UTF-8, or ISO 8859-1 where they are not, so that no two different values
  /// become one.
  package init(wire bytes: UnsafeRawBufferPointer) {
    // Most are ASCII. `String(validating:as:)` takes longer to find out of what type its bytes are than to look at them.
    if bytes.allSatisfy({ $0 < 0x80 }) {
      self.init(decoding: bytes, as: UTF8.self)
    } else if let text = String(validating: bytes, as: UTF8.self) {
      self = text
    } else {
      self.init(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Equality as header names have it: without regard to the case of A to Z.
  package func equalsIgnoringASCIICase(_ other: StaticString) -> Bool {
    guard count == other.utf8CodeUnitCount else { return false }
    for index in 0..<count where self[index].asciiLowercased != other.utf8Start[index].asciiLowercased { return false }
    return true
  }

  /// Whether a field of this name belongs to one connection and not to the message (RFC 9110, 7.6.1), or is one that
  /// was taken for such.
  package var isHopByHop: Bool {
    switch count {
    case 2: equalsIgnoringASCIICase("TE")
    case 7: equalsIgnoringASCIICase("Upgrade")
    case 10: equalsIgnoringASCIICase("Connection") || equalsIgnoringASCIICase("Keep-Alive")
    case 16: equalsIgnoringASCIICase("Proxy-Connection")
    case 17: equalsIgnoringASCIICase("Transfer-Encoding")
    case 18: equalsIgnoringASCIICase("Proxy-Authenticate")
    case 19: equalsIgnoringASCIICase("Proxy-Authorization")
    default: false
    }
  }

  /// A token as RFC 9110, 5.6.2, has it: what methods and header names are made of.
  package var isToken: Bool {
    for byte in self {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: continue
      case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F, 0x60, 0x7C, 0x7E: continue
      default: return false
      }
    }
    return !isEmpty
  }

  /// Whether all of it is visible ASCII, spaces and tabs.
  package var isPlainText: Bool {
    for byte in self where byte &- 0x20 >= 0x5F && byte != 0x09 { return false }
    return true
  }
}
