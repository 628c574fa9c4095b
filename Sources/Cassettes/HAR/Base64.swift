extension HAR {
  /// Base64 (RFC 4648). Decoding also accepts the variants that other tools write.
  package enum Base64 {
    /// Encodes with the standard alphabet and padding, on one line (RFC 4648, 4).
    package static func encode(_ bytes: [UInt8]) -> String {
      let length = (bytes.count + 2) / 3 * 4
      return String(unsafeUninitializedCapacity: length) { output in
        var at = 0
        var index = 0
        while index < bytes.count {
          let left = bytes.count - index
          let group =
            UInt32(bytes[index]) << 16 | (left > 1 ? UInt32(bytes[index + 1]) << 8 : 0)
            | (left > 2 ? UInt32(bytes[index + 2]) : 0)
          output[at] = digit(group >> 18)
          output[at + 1] = digit(group >> 12)
          output[at + 2] = left > 1 ? digit(group >> 6) : UInt8(ascii: "=")
          output[at + 3] = left > 2 ? digit(group) : UInt8(ascii: "=")
          at += 4
          index += 3
        }
        return length
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

    private static func digit(_ value: UInt32) -> UInt8 {
      switch UInt8(value & 0x3F) {
      case let value where value < 26: 0x41 + value
      case let value where value < 52: 0x61 + value - 26
      case let value where value < 62: 0x30 + value - 52
      case 62: UInt8(ascii: "+")
      default: UInt8(ascii: "/")
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
}
