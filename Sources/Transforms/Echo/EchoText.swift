import Basics
import Cassettes

extension EchoTable {
  /// How to write a value.
  enum Spelling {
    case plain
    /// Percent-encoded, in URLs and forms.
    case percent
    /// With entities, in XML and HTML.
    case markup

    /// Returns nil for control characters, which could end the text around them.
    func write(_ text: [UInt8]) -> [UInt8]? {
      var output: [UInt8] = []
      for byte in text {
        switch (self, byte) {
        case (.percent, _) where !PercentCoding.isUnreserved(byte):
          let digits = Array("0123456789ABCDEF".utf8)
          output += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        case (.percent, _): output.append(byte)
        case (_, 0..<0x20), (_, 0x7F): return nil
        case (.markup, UInt8(ascii: "&")): output += "&amp;".utf8
        case (.markup, UInt8(ascii: "<")): output += "&lt;".utf8
        case (.markup, UInt8(ascii: ">")): output += "&gt;".utf8
        case (.markup, UInt8(ascii: "\"")): output += "&quot;".utf8
        case (.markup, UInt8(ascii: "'")): output += "&#39;".utf8
        default: output.append(byte)
        }
      }
      return output
    }
  }

  private typealias Text = UnsafeBufferPointer<UInt8>
  private typealias Change = (range: Range<Int>, bytes: [UInt8])

  /// Replaces the values in a text.
  ///
  /// - Parameters:
  ///   - text: the whole text, or a part that ends with a delimiter.
  ///   - spelling: how to write values that are not in a URL.
  ///   - before: the byte before the text.
  ///   - found: receives what was replaced.
  /// - Returns: nil if nothing was replaced.
  func replaced(
    in text: UnsafeBufferPointer<UInt8>, _ spelling: Spelling, after before: UInt8? = nil,
    _ found: inout EchoFindings
  ) -> [UInt8]? {
    var output: [UInt8]?
    var copied = 0
    var start = 0
    // Plain loops, because generic code is slow in debug builds, and most runs are too short.
    while start < text.count {
      guard !Self.isDelimiter(text[start]) else {
        start += 1
        continue
      }
      var end = start + 1
      while end < text.count, !Self.isDelimiter(text[end]) { end += 1 }
      if end - start >= shortest {
        for change in changes(text, start..<end, after: start > 0 ? text[start - 1] : before, spelling, &found) {
          output = output ?? []
          output? += text[copied..<change.range.lowerBound]
          output? += change.bytes
          copied = change.range.upperBound
        }
      }
      start = end
    }
    output? += text[copied...]
    return output
  }

  /// Whether a byte ends a run, in which a value may stand as a whole.
  static func isDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case 0...0x20, 0x7F, UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "&"),
      UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: ";"), UInt8(ascii: ","), UInt8(ascii: "("), UInt8(ascii: ")"),
      UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "|"),
      UInt8(ascii: "\\"), UInt8(ascii: "`"):
      true
    default: false
    }
  }

  /// The changes in a run: of the whole, of the value after its first `=`, or of its words.
  private func changes(
    _ text: Text, _ run: Range<Int>, after before: UInt8?, _ spelling: Spelling, _ found: inout EchoFindings
  ) -> [Change] {
    let isEscaped = text[run].contains(UInt8(ascii: "%"))
    if let change = change(text, run, isEscaped ? .percent : spelling, &found) { return [change] }
    let isInURL = spelling == .percent || before.map { "?&#;".utf8.contains($0) } ?? false
    if let equals = text[run].firstIndex(of: UInt8(ascii: "=")), equals > run.lowerBound, equals + 1 < run.upperBound {
      let value = equals + 1..<run.upperBound
      let name = isInURL || before == nil ? Self.decoded(text, run.lowerBound..<equals) : nil
      let isReserved = !text[value].allSatisfy(PercentCoding.isUnreserved)
      let spelling = isInURL || isEscaped || !isReserved ? .percent : spelling
      if let change = change(text, value, spelling, &found, item: name) { return [change] }
    }
    var changes: [Change] = []
    var start = run.lowerBound
    while start < run.upperBound {
      var end = start
      while end < run.upperBound, Self.isInWord(text[end]) { end += 1 }
      if end - start >= Self.meaningful {
        if end - start < run.count, let change = change(text, start..<end, .percent, &found) {
          changes.append(change)
        } else {
          changes += parts(text, start..<end, isEscaped || end - start < run.count ? .percent : spelling, &found)
        }
      }
      start = end + 1
    }
    return changes
  }

  private static func isInWord(_ byte: UInt8) -> Bool {
    PercentCoding.isUnreserved(byte) || byte == UInt8(ascii: "%") || byte >= 0x80
  }

  /// The change of a whole token, or of the parts between the dots of a word.
  private func parts(
    _ text: Text, _ word: Range<Int>, _ spelling: Spelling, _ found: inout EchoFindings
  ) -> [Change] {
    guard text[word].contains(UInt8(ascii: ".")) else { return [] }
    if let token = token(text, word, &found) { return [(word, token)] }
    var changes: [Change] = []
    var start = word.lowerBound
    while start < word.upperBound {
      var end = start
      while end < word.upperBound, text[end] != UInt8(ascii: ".") { end += 1 }
      if end - start >= Self.meaningful, let change = change(text, start..<end, spelling, &found) {
        changes.append(change)
      }
      start = end + 1
    }
    return changes
  }

  /// The change of a range that is a value as a whole, as written or percent-encoded.
  private func change(
    _ text: Text, _ range: Range<Int>, _ spelling: Spelling, _ found: inout EchoFindings, item name: [UInt8]? = nil
  ) -> Change? {
    guard range.count <= EchoedValue.longest * 3 else { return nil }
    let raw = Array(text[range])
    var candidates = [raw]
    if raw.contains(UInt8(ascii: "%")) { candidates.append(Self.decoded(text, range)) }
    if name != nil, raw.contains(UInt8(ascii: "+")) {
      candidates.append(Self.decoded(text, range, plus: UInt8(ascii: " ")))
    }
    for candidate in candidates {
      let entry = name.flatMap { self[.item(name: $0, candidate)] } ?? self[.anywhere(candidate)]
      guard let entry, let bytes = spelling.write(entry.text), found.note(entry.place) else { continue }
      return (range, bytes)
    }
    return nil
  }

  private static func decoded(_ text: Text, _ range: Range<Int>, plus: UInt8 = UInt8(ascii: "+")) -> [UInt8] {
    let bytes = UnsafeRawBufferPointer(Text(rebasing: text[range]))
    var output: [UInt8] = []
    var index = 0
    while index < bytes.count {
      if let byte = PercentCoding.byte(at: index, in: bytes) {
        output.append(byte)
        index += 3
      } else {
        output.append(bytes[index] == UInt8(ascii: "+") ? plus : bytes[index])
        index += 1
      }
    }
    return output
  }

  /// A JSON Web Token (RFC 7519) with the values in its claims replaced, and signed again; nil for any other word, if
  /// nothing is to be replaced, or if there is no key.
  private func token(_ text: Text, _ word: Range<Int>, _ found: inout EchoFindings) -> [UInt8]? {
    guard word.count <= TokenShift.limit, text[word].starts(with: "eyJ".utf8) else { return nil }
    let parts = String(decoding: text[word], as: UTF8.self).split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Base64.decode(String(parts[0])).flatMap({ try? JSON.parse($0) }),
      let algorithm = header["alg"]?.string, let claims = Base64.decode(String(parts[1])),
      claims.first == UInt8(ascii: "{")
    else { return nil }
    var stream = EchoStream(self, .json)
    let changed = stream.push(claims, isLast: true)
    guard changed != claims else { return nil }
    let message = "\(parts[0]).\(Base64.encode(changed, .url))"
    guard let signature = signer?.sign(algorithm, header["kid"]?.string, Array(message.utf8)) else {
      found.noteUnsigned(stream.found.places)
      return nil
    }
    for place in stream.found.places { _ = found.note(place) }
    return Array("\(message).\(Base64.encode(signature, .url))".utf8)
  }
}
