/// A `name=value` item between `&` in a query or an urlencoded form (WHATWG URL, section 5).
enum FormItem {
  /// Redacts an item: the whole value if its name is in `fields`, otherwise the pattern matches in it. Returns nil if
  /// nothing has to change.
  static func redact(
    _ item: ArraySlice<UInt8>, fields: SelectedFields, patterns: PatternScanner
  ) -> [UInt8]? {
    guard let equals = item.firstIndex(of: UInt8(ascii: "=")) else { return nil }
    let value = item[(equals + 1)...]
    guard !value.isEmpty else { return nil }
    let head = item[...equals]
    if fields.select(name(item), value: value) {
      return head + Array(RedactionMark.plain.spelled(.percent, length: value.count).utf8)
    }
    guard !patterns.isEmpty, let decoded = String(validating: decode(value), as: UTF8.self),
      let redacted = patterns.redact(decoded)
    else { return nil }
    return head + Array(encode(redacted).utf8)
  }

  static func isNamed(_ name: ArraySlice<UInt8>, _ fields: SelectedFields) -> Bool {
    !fields.isEmpty && fields.contains(String(decoding: decode(name), as: UTF8.self))
  }

  /// The decoded name of an item.
  static func name(_ item: ArraySlice<UInt8>) -> String {
    String(decoding: decode(item.prefix { $0 != UInt8(ascii: "=") }), as: UTF8.self)
  }

  static func decode(_ text: ArraySlice<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var place = text.startIndex
    while place < text.endIndex {
      let byte = text[place]
      if byte == UInt8(ascii: "%"), place + 2 < text.endIndex, let high = digit(text[place + 1]),
        let low = digit(text[place + 2])
      {
        bytes.append(high << 4 | low)
        place += 3
      } else {
        bytes.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
        place += 1
      }
    }
    return bytes
  }

  /// Percent-encodes all characters except unreserved ones (RFC 3986, section 2.3).
  static func encode(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var output: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        output.append(byte)
      default: output += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: output, as: UTF8.self)
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46, 0x61...0x66: (byte | 0x20) - 0x61 + 10
    default: nil
    }
  }
}

/// Redacts values in an urlencoded form while it streams. Items of more than 64 KiB are redacted by name only.
struct FormStream {
  private static let limit = 64 << 10

  let fields: SelectedFields
  let patterns: PatternScanner
  private(set) var found = FoundFields()
  /// The bytes so far of the current item.
  private var item: [UInt8] = []
  /// How to handle the rest of an item that was already decided.
  private var rest = Rest.none

  private enum Rest {
    case none, passes, goes
  }

  init(fields: SelectedFields, patterns: PatternScanner) {
    self.fields = fields
    self.patterns = patterns
  }

  mutating func push(_ chunk: [UInt8], isLast: Bool = false) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(chunk.count)
    for byte in chunk {
      if byte == UInt8(ascii: "&") {
        end(&output)
        output.append(byte)
        continue
      }
      switch rest {
      case .passes: output.append(byte)
      case .goes: break
      case .none:
        item.append(byte)
        if item.count > Self.limit { settle(&output) }
      }
    }
    if isLast { end(&output) }
    return output
  }

  /// Handles the end of an item.
  private mutating func end(_ output: inout [UInt8]) {
    if let redacted = FormItem.redact(item[...], fields: fields, patterns: patterns) {
      if redacted != item { found.add(name) }
      output += redacted
    } else {
      output += item
    }
    item.removeAll(keepingCapacity: true)
    rest = .none
  }

  /// The current item's name.
  private var name: String { FormItem.name(item[...]) }

  /// Handles an item that is too long to wait for its end.
  private mutating func settle(_ output: inout [UInt8]) {
    let name = item.prefix { $0 != UInt8(ascii: "=") }
    if name.count < item.count, FormItem.isNamed(name, fields) {
      found.add(self.name)
      output += name + [UInt8(ascii: "=")] + Array(RedactionMark.plain.spelled(.percent, length: 0).utf8)
      rest = .goes
    } else {
      output += item
      rest = .passes
    }
    item.removeAll(keepingCapacity: true)
  }
}
