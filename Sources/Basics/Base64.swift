/// Base64 (RFC 4648). Decoding also accepts the variants that other tools write.
package enum Base64 {
  /// The alphabets of RFC 4648.
  package enum Alphabet: Sendable {
    /// Section 4, with padding.
    case standard
    /// Section 5, for URLs and file names, without padding.
    case url
  }

  private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
  private static let standard = letters + Array("+/".utf8)
  private static let url = letters + Array("-_".utf8)

  /// Encodes on one line.
  package static func encode(_ bytes: [UInt8], _ alphabet: Alphabet = .standard) -> String {
    let digits = alphabet == .standard ? standard : url
    return String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4) { output in
      var at = 0
      var index = 0
      while index < bytes.count {
        let left = bytes.count - index
        let group =
          UInt32(bytes[index]) << 16 | (left > 1 ? UInt32(bytes[index + 1]) << 8 : 0)
          | (left > 2 ? UInt32(bytes[index + 2]) : 0)
        for place in 0..<4 {
          let isDigit = place <= left
          if !isDigit, alphabet == .url { break }
          output[at] = isDigit ? digits[Int(group >> UInt32(18 - 6 * place)) & 0x3F] : UInt8(ascii: "=")
          at += 1
        }
        index += 3
      }
      return at
    }
  }

  /// Decodes either alphabet, with or without padding, ignoring white space; nil if the text is not Base64.
  package static func decode(_ text: String) -> [UInt8]? {
    var text = text
    return text.withUTF8 { input -> [UInt8]? in
      var output: [UInt8] = []
      output.reserveCapacity(input.count / 4 * 3)
      var group: UInt32 = 0
      var digits = 0
      var isPadded = false
      for byte in input {
        switch byte {
        case 0x20, 0x09, 0x0A, 0x0D: continue
        case UInt8(ascii: "="): isPadded = true
        default:
          guard !isPadded, let value = value(of: byte) else { return nil }
          group = group << 6 | value
          digits += 1
          if digits == 4 {
            output.append(UInt8(truncatingIfNeeded: group >> 16))
            output.append(UInt8(truncatingIfNeeded: group >> 8))
            output.append(UInt8(truncatingIfNeeded: group))
            group = 0
            digits = 0
          }
        }
      }
      switch digits {
      case 0: break
      case 2: output.append(UInt8(truncatingIfNeeded: group >> 4))
      case 3:
        output.append(UInt8(truncatingIfNeeded: group >> 10))
        output.append(UInt8(truncatingIfNeeded: group >> 2))
      default: return nil
      }
      return output
    }
  }

  private static func value(of byte: UInt8) -> UInt32? {
    switch byte {
    case 0x41...0x5A: UInt32(byte) - 0x41
    case 0x61...0x7A: UInt32(byte) - 0x61 + 26
    case 0x30...0x39: UInt32(byte) - 0x30 + 52
    case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
    case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
    default: nil
    }
  }
}
