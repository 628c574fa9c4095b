extension HAR {
  /// `application/x-www-form-urlencoded` (WHATWG URL, 5), the format of queries and forms.
  enum FormText {
    /// Decodes the names and values of a query or form, in order.
    ///
    /// A part without `=` has an empty value. A part that does not decode to UTF-8 is kept as is.
    static func pairs(_ text: Substring) -> [(name: String, value: String)] {
      text.utf8.split(separator: UInt8(ascii: "&")).map { part in
        let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
        return (decode(part[..<equals]), decode(part[equals...].dropFirst()))
      }
    }

    /// The query of a URL, without its question mark; nil if it has none.
    static func query(ofURL url: String) -> Substring? {
      let noFragment = url.utf8.prefix { $0 != UInt8(ascii: "#") }
      guard let mark = noFragment.firstIndex(of: UInt8(ascii: "?")) else { return nil }
      return Substring(noFragment[noFragment.index(after: mark)...])
    }

    /// Encodes pairs as a form.
    static func encode(_ pairs: [(name: String, value: String)]) -> [UInt8] {
      var output: [UInt8] = []
      for (index, pair) in pairs.enumerated() {
        if index > 0 { output.append(UInt8(ascii: "&")) }
        append(pair.name, to: &output)
        output.append(UInt8(ascii: "="))
        append(pair.value, to: &output)
      }
      return output
    }

    private static func decode(_ part: Substring.UTF8View) -> String {
      guard part.contains(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "%") }) else {
        return String(Substring(part))
      }
      var bytes: [UInt8] = []
      var rest = part
      while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "+") {
          bytes.append(0x20)
        } else if byte == UInt8(ascii: "%"), let high = rest.first?.hexValue,
          let low = rest.dropFirst().first?.hexValue
        {
          bytes.append(high << 4 | low)
          rest.removeFirst(2)
        } else {
          bytes.append(byte)
        }
      }
      return String(validating: bytes, as: UTF8.self) ?? String(Substring(part))
    }

    private static func append(_ text: String, to output: inout [UInt8]) {
      let digits = Array("0123456789ABCDEF".utf8)
      for byte in text.utf8 {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."),
          UInt8(ascii: "_"):
          output.append(byte)
        case 0x20: output.append(UInt8(ascii: "+"))
        default: output += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0x0F)]]
        }
      }
    }
  }
}
