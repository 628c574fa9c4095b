/// One secret to look for, in each of the forms in which texts write it.
struct SecretNeedle: Sendable {
  /// A character, or a byte of what is no text, with the ways to write it beside percent-encoding.
  private struct Unit {
    let bytes: [UInt8]
    let others: [[UInt8]]
    /// All forms by their beginnings.
    let beginnings: [[UInt8]]
    /// The most bytes that it takes.
    let longest: Int

    /// Escapes of an escape's first character are looked for up to so many times: `%252F`, `\\\\u002f`.
    static let nesting = 3

    init(bytes: [UInt8], others: [[UInt8]] = []) {
      self.bytes = bytes
      self.others = others
      let digits = Array("0123456789abcdef".utf8)
      let percent = [[UInt8(ascii: "%"), digits[Int(bytes[0] >> 4)]], Array("%2".utf8)]
      let escapes = others.contains { $0[0] == UInt8(ascii: "\\") } ? [Array("\\\\".utf8)] : []
      beginnings = [bytes] + percent + others + escapes
      longest = max((3 + 2 * Self.nesting) * bytes.count, (others.map(\.count).max() ?? 0) + Self.nesting * 2)
    }
  }

  /// The characters of ASCII, made once: the forms of an environment's token alone have hundreds, and each environment
  /// has a token.
  private static let ascii = (UInt8(0)..<128).map { makeUnit(Unicode.Scalar($0)) }

  private let units: [Unit]
  /// What takes its place; nil for a mark, which stays as it is.
  let mark: RedactionMark?

  init(_ secret: [UInt8], mark: RedactionMark?) {
    self.mark = mark
    if let text = String(validating: secret, as: UTF8.self) {
      units = text.unicodeScalars.map { $0.isASCII ? Self.ascii[Int($0.value)] : Self.makeUnit($0) }
    } else {
      units = secret.map { Unit(bytes: [$0]) }
    }
  }

  private static func makeUnit(_ scalar: Unicode.Scalar) -> Unit {
    Unit(bytes: Array(String(scalar).utf8), others: otherForms(of: scalar))
  }

  /// Takes each pair of bytes with which one of its forms may begin, some more than once.
  func forEachFirstPair(_ body: (_ first: UInt8, _ second: UInt8) -> Void) {
    guard let first = units.first else { return }
    for form in first.beginnings {
      if form.count > 1 {
        for second in Self.cases(form[1]) { body(form[0], second) }
      } else if units.count > 1 {
        // What follows a form of one byte begins the next character.
        for next in units[1].beginnings { body(form[0], next[0]) }
      } else {
        for second in UInt8.min...UInt8.max { body(form[0], second) }
      }
    }
  }

  /// The most bytes that it takes in any form.
  var longest: Int { units.reduce(0) { $0 + $1.longest } }

  /// Whether it could be a JSON number, or a part of one.
  var isNumeric: Bool {
    let digits = "0123456789+-.eE".utf8
    return !units.isEmpty && units.allSatisfy { $0.bytes.count == 1 && digits.contains($0.bytes[0]) }
  }

  private static func cases(_ byte: UInt8) -> [UInt8] {
    0x61...0x7A ~= byte | 0x20 ? [byte | 0x20, byte & 0xDF] : [byte]
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
    if text[place] == UInt8(ascii: "%") {
      // `%25` is a percent sign, and the beginning of what is encoded twice: each depth is an end of its own.
      var depth = 0
      while depth <= Unit.nesting {
        if let end = percentEncoded(text, unit.bytes, from: place, depth: depth) { add(end, to: &ends) }
        depth += 1
      }
    }
    let backslash = UInt8(ascii: "\\")
    var index = 0
    while index < unit.others.count {
      let form = unit.others[index]
      if has(text, form, at: place, ignoringCase: form.count > 2) { add(place + form.count, to: &ends) }
      // JSON in a JSON string: its backslashes are escaped in turn.
      if form[0] == backslash, text[place] == backslash {
        var start = place + 1
        while start < text.count, start - place <= Unit.nesting * 2, text[start] == backslash {
          if has(text, form, at: start, ignoringCase: form.count > 2) { add(start + form.count, to: &ends) }
          start += 1
        }
      }
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

  /// The end of the bytes in percent-encoding, its percent signs encoded so many times in turn: `%2F`, `%252F`.
  private static func percentEncoded(
    _ text: UnsafeBufferPointer<UInt8>, _ bytes: [UInt8], from start: Int, depth: Int
  ) -> Int? {
    let length = 3 + 2 * depth
    guard start + length * bytes.count <= text.count else { return nil }
    var place = start
    var index = 0
    while index < bytes.count {
      guard text[place] == UInt8(ascii: "%") else { return nil }
      var nested = 0
      while nested < depth {
        guard text[place + 1 + 2 * nested] == UInt8(ascii: "2"), text[place + 2 + 2 * nested] == UInt8(ascii: "5")
        else {
          return nil
        }
        nested += 1
      }
      guard let high = digit(text[place + length - 2]), let low = digit(text[place + length - 1]),
        high << 4 | low == bytes[index]
      else { return nil }
      place += length
      index += 1
    }
    return place
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46, 0x61...0x66: (byte | 0x20) - 0x61 + 10
    default: nil
    }
  }

  /// As forms write a space, as XML and HTML write what marks them up, and as JSON writes a character in a string: `\n`,
  /// and `\u000a` in lower case.
  private static func otherForms(of scalar: Unicode.Scalar) -> [[UInt8]] {
    var forms: [[UInt8]] = []
    let short: [Unicode.Scalar: String] = [
      "\"": "\\\"", "\\": "\\\\", "/": "\\/", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\u{8}": "\\b", "\u{C}": "\\f",
    ]
    if scalar == " " { forms.append([UInt8(ascii: "+")]) }
    let entities: [Unicode.Scalar: [String]] = [
      "&": ["&amp;"], "<": ["&lt;"], ">": ["&gt;"], "\"": ["&quot;"], "'": ["&apos;"],
    ]
    forms += (entities[scalar] ?? []).map { Array($0.utf8) }
    // Templates write `/` and `=` so, too.
    if !scalar.isASCII || !scalar.properties.isAlphabetic && scalar.properties.numericType == nil {
      forms += ["&#\(scalar.value);", "&#x\(String(scalar.value, radix: 16));"].map { Array($0.utf8) }
      if scalar.value < 100 { forms.append(Array("&#0\(scalar.value);".utf8)) }
    }
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
