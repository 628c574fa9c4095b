/// A secret to look for, in every encoding in which texts may contain it.
struct SecretNeedle: Sendable {
  /// A character, or a byte if the secret is not text, with its spellings other than percent-encoding.
  private struct Unit {
    let bytes: [UInt8]
    let others: [[UInt8]]
    /// The beginnings of all spellings.
    let beginnings: [[UInt8]]
    /// The length in bytes of the longest spelling.
    let longest: Int

    /// The maximum nesting of escapes whose first character is itself escaped: `%252F`, `\\\\u002f`.
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

  /// The units of all ASCII characters, created once: the spellings of a token alone number in the hundreds, and every
  /// environment has a token.
  private static let ascii = (UInt8(0)..<128).map { makeUnit(Unicode.Scalar($0)) }

  private let units: [Unit]
  /// The mark that replaces the secret; nil if this needle is itself a mark, which stays unchanged.
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

  /// Calls `body` with each pair of bytes that a spelling may begin with. Pairs may repeat.
  func forEachFirstPair(_ body: (_ first: UInt8, _ second: UInt8) -> Void) {
    guard let first = units.first else { return }
    for form in first.beginnings {
      if form.count > 1 {
        for second in Self.cases(form[1]) { body(form[0], second) }
      } else if units.count > 1 {
        // A spelling of one byte is followed by the beginning of the next character.
        for next in units[1].beginnings { body(form[0], next[0]) }
      } else {
        for second in UInt8.min...UInt8.max { body(form[0], second) }
      }
    }
  }

  /// The length in bytes of the longest spelling.
  var longest: Int { units.reduce(0) { $0 + $1.longest } }

  /// Whether the secret could be a JSON number or part of one.
  var isNumeric: Bool {
    let digits = "0123456789+-.eE".utf8
    return !units.isEmpty && units.allSatisfy { $0.bytes.count == 1 && digits.contains($0.bytes[0]) }
  }

  private static func cases(_ byte: UInt8) -> [UInt8] {
    0x61...0x7A ~= byte | 0x20 ? [byte | 0x20, byte & 0xDF] : [byte]
  }

  /// The end of the secret that begins at an index, or nil if none begins there.
  ///
  /// Uses plain loops because it examines every recorded byte, and in a debug build generic code takes a process-wide
  /// lock.
  func end(in text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
    guard !units.isEmpty else { return nil }
    // Two spellings of a character may match, as `%` and `%25` do, so all reachable indices are followed.
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
      // `%25` is a percent sign, but also the beginning of a doubly encoded byte; each depth has its own end.
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
      // In JSON within a JSON string, the backslashes are escaped too.
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

  /// The end of the percent-encoded bytes, with percent signs that are encoded `depth` times: `%2F`, `%252F`.
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

  /// The spellings of a space in forms, of markup characters in XML and HTML, and of characters in JSON strings: `\n`,
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
    // Templates also escape `/` and `=` this way.
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
