/// One secret to look for, in each of the forms in which texts write it.
struct SecretNeedle: Sendable {
  /// A character, or a byte of what is no text, with the ways to write it beside percent-encoding.
  private struct Unit {
    var bytes: [UInt8]
    var others: [[UInt8]]
  }

  /// The characters of ASCII, made once: the forms of an environment's token alone have hundreds, and each environment
  /// has a token.
  private static let ascii = (UInt8(0)..<128).map { makeUnit(Unicode.Scalar($0)) }

  private let units: [Unit]

  init(_ secret: [UInt8]) {
    if let text = String(validating: secret, as: UTF8.self) {
      units = text.unicodeScalars.map { $0.isASCII ? Self.ascii[Int($0.value)] : Self.makeUnit($0) }
    } else {
      units = secret.map { Unit(bytes: [$0], others: []) }
    }
  }

  private static func makeUnit(_ scalar: Unicode.Scalar) -> Unit {
    Unit(bytes: Array(String(scalar).utf8), others: otherForms(of: scalar))
  }

  /// The bytes with which one of its forms may begin.
  var firstBytes: Set<UInt8> {
    guard let first = units.first else { return [] }
    return Set([first.bytes[0], UInt8(ascii: "%")] + first.others.map { $0[0] })
  }

  /// The end of the secret that begins at a position; nil where none does.
  ///
  /// With plain loops: it looks at each byte of all that is kept, and what is generic takes a lock of the whole
  /// process in a debug build.
  func end(in text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
    guard !units.isEmpty else { return nil }
    // Two forms of a character may fit, as `%` and `%25` do: all places that may be reached are followed.
    var places: [Int] = []
    Self.addEnds(of: units[0], in: text, from: start, to: &places)
    var number = 1
    while number < units.count, !places.isEmpty {
      var next: [Int] = []
      var index = 0
      while index < places.count {
        Self.addEnds(of: units[number], in: text, from: places[index], to: &next)
        index += 1
      }
      places = next
      number += 1
    }
    return places.max()
  }

  private static func addEnds(
    of unit: Unit, in text: UnsafeBufferPointer<UInt8>, from place: Int, to ends: inout [Int]
  ) {
    guard place < text.count else { return }
    if has(text, unit.bytes, at: place, ignoringCase: false) { add(place + unit.bytes.count, to: &ends) }
    if text[place] == UInt8(ascii: "%"), hasPercentEncoded(text, unit.bytes, at: place) {
      add(place + 3 * unit.bytes.count, to: &ends)
    }
    var index = 0
    while index < unit.others.count {
      let form = unit.others[index]
      if has(text, form, at: place, ignoringCase: form.count > 2) { add(place + form.count, to: &ends) }
      index += 1
    }
  }

  private static func add(_ end: Int, to ends: inout [Int]) {
    var index = 0
    while index < ends.count {
      if ends[index] == end { return }
      index += 1
    }
    ends.append(end)
  }

  private static func has(
    _ text: UnsafeBufferPointer<UInt8>, _ bytes: [UInt8], at place: Int, ignoringCase: Bool
  ) -> Bool {
    guard place + bytes.count <= text.count else { return false }
    var index = 0
    while index < bytes.count {
      let byte = text[place + index]
      guard byte == bytes[index] || (ignoringCase && byte | 0x20 == bytes[index]) else { return false }
      index += 1
    }
    return true
  }

  private static func hasPercentEncoded(
    _ text: UnsafeBufferPointer<UInt8>, _ bytes: [UInt8], at place: Int
  ) -> Bool {
    guard place + 3 * bytes.count <= text.count else { return false }
    var index = 0
    while index < bytes.count {
      guard percentEncoded(text, at: place + 3 * index) == bytes[index] else { return false }
      index += 1
    }
    return true
  }

  private static func percentEncoded(_ text: UnsafeBufferPointer<UInt8>, at place: Int) -> UInt8? {
    guard text[place] == UInt8(ascii: "%"), let high = digit(text[place + 1]), let low = digit(text[place + 2]) else {
      return nil
    }
    return high << 4 | low
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46, 0x61...0x66: (byte | 0x20) - 0x61 + 10
    default: nil
    }
  }

  /// As forms write a space, and as JSON writes a character in a string: `\n`, and `\u000a` in lower case.
  private static func otherForms(of scalar: Unicode.Scalar) -> [[UInt8]] {
    var forms: [[UInt8]] = []
    let short: [Unicode.Scalar: String] = [
      "\"": "\\\"", "\\": "\\\\", "/": "\\/", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\u{8}": "\\b", "\u{C}": "\\f",
    ]
    if scalar == " " { forms.append([UInt8(ascii: "+")]) }
    if let text = short[scalar] { forms.append(Array(text.utf8)) }
    let escaped = UTF16.encode(scalar).map { units in
      units.map { unit in
        let digits = String(unit, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }.joined()
    }
    if let escaped { forms.append(Array(escaped.utf8)) }
    return forms
  }
}
