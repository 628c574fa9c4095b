import Basics
import Cassettes
import LaunchContract

/// A lenient parser for the coarse structure of XML and HTML: elements, attributes, text. It does not resolve entities.
enum Markup {
  /// The maximum nesting of elements. Deeper ones are skipped.
  private static let maximumDepth = 60

  private struct Element {
    var name: String
    var attributes: [JSON.Member]
    var text = ""
    var children: [(name: String, value: JSON)] = []

    /// The element as an object: `@name` for attributes, an array for each child name, and `#text`.
    var json: JSON {
      var members = attributes
      var names: [String] = []
      var groups: [String: [JSON]] = [:]
      for child in children {
        if groups[child.name] == nil { names.append(child.name) }
        groups[child.name, default: []].append(child.value)
      }
      for name in names { members.append(.init(name, .array(groups[name] ?? []))) }
      if !text.isEmpty || members.isEmpty { members.append(.init("#text", .string(text))) }
      return .object(members)
    }
  }

  /// Parses an XML document. Returns nil if it has no element, or an element is not closed.
  static func tree(_ bytes: [UInt8]) -> JSON? {
    var open = [Element(name: "", attributes: [])]
    var skipped = 0
    let isWhole = scan(bytes) { token in
      switch token {
      case .start(let name, let attributes, let isEmpty):
        guard open.count < maximumDepth, skipped == 0 else {
          if !isEmpty { skipped += 1 }
          return true
        }
        let element = Element(
          name: name, attributes: attributes.map { JSON.Member("@" + $0.name, .string($0.value)) })
        if isEmpty {
          open[open.count - 1].children.append((name, element.json))
        } else {
          open.append(element)
        }
      case .end(let name):
        guard skipped == 0 else {
          skipped -= 1
          return true
        }
        guard open.count > 1, let element = open.popLast(), element.name == name else { return false }
        open[open.count - 1].children.append((name, element.json))
      case .text(let text): open[open.count - 1].text += text
      }
      return true
    }
    guard isWhole, open.count == 1, !open[0].children.isEmpty else { return nil }
    return .object(open[0].children.map { JSON.Member($0.name, $0.value) })
  }

  /// The elements and named controls of a web page.
  static func parts(ofPage bytes: [UInt8]) -> Set<String> {
    var parts: Set<String> = []
    _ = scan(bytes) { token in
      guard case .start(let element, let attributes, _) = token else { return true }
      let name = element.lowercased()
      parts.insert("<\(name)>")
      if ["input", "select", "textarea", "button", "form"].contains(name),
        let control = attributes.first(where: { $0.name.lowercased() == "name" })?.value, !control.isEmpty,
        !ChangingName.matches(control)
      {
        parts.insert("<\(name) name=\(control)>")
      }
      return true
    }
    return parts
  }

  private enum Token {
    case start(String, attributes: [(name: String, value: String)], isEmpty: Bool)
    case end(String)
    /// Text without white space at its ends; never empty.
    case text(String)
  }

  /// Passes tokens to `body` until it returns false.
  ///
  /// - Returns: whether the whole text was scanned.
  private static func scan(_ bytes: [UInt8], _ body: (Token) -> Bool) -> Bool {
    var index = 0
    while index < bytes.count {
      guard bytes[index] == UInt8(ascii: "<") else {
        let end = bytes[index...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
        let text = trimmed(bytes[index..<end])
        if !text.isEmpty, !body(.text(text)) { return false }
        index = end
        continue
      }
      let rest = bytes[index...]
      if rest.starts(with: "<!--".utf8) {
        index = end(of: "-->", in: bytes, from: index + 4)
      } else if rest.starts(with: "<![CDATA[".utf8) {
        let after = end(of: "]]>", in: bytes, from: index + 9)
        let text = trimmed(bytes[min(index + 9, after)..<max(index + 9, after - 3)])
        if !text.isEmpty, !body(.text(text)) { return false }
        index = after
      } else if rest.starts(with: "<!".utf8) || rest.starts(with: "<?".utf8) {
        index = end(of: ">", in: bytes, from: index + 2)
      } else {
        let after = endOfTag(bytes, from: index + 1)
        guard after > index + 2, let token = tag(bytes[(index + 1)..<(after - 1)]) else { return false }
        index = after
        guard body(token) else { return false }
        // The content of these elements is not markup.
        if case .start(let name, _, false) = token, ["script", "style"].contains(name.lowercased()) {
          index = end(of: "</\(name)>", in: bytes, from: index)
        }
      }
    }
    return true
  }

  /// The index after the next `>` outside quotation marks.
  private static func endOfTag(_ bytes: [UInt8], from start: Int) -> Int {
    var quote: UInt8?
    var index = start
    while index < bytes.count {
      let byte = bytes[index]
      index += 1
      if let open = quote {
        if byte == open { quote = nil }
      } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
        quote = byte
      } else if byte == UInt8(ascii: ">") {
        return index
      }
    }
    return start
  }

  private static func end(of text: String, in bytes: [UInt8], from start: Int) -> Int {
    guard start < bytes.count else { return bytes.count }
    return bytes[start...].firstRange(of: text.utf8)?.upperBound ?? bytes.count
  }

  private static func tag(_ content: ArraySlice<UInt8>) -> Token? {
    var text = String(decoding: content, as: UTF8.self)[...]
    if text.hasPrefix("/") {
      let name = text.dropFirst().prefix { !$0.isWhitespace }
      return name.isEmpty ? nil : .end(String(name))
    }
    let isEmpty = text.hasSuffix("/")
    if isEmpty { text = text.dropLast() }
    let name = text.prefix { !$0.isWhitespace }
    guard let first = name.first, first.isLetter || first == "_" else { return nil }
    text = text[name.endIndex...]
    var attributes: [(name: String, value: String)] = []
    while true {
      text = text.drop(while: \.isWhitespace)
      let key = text.prefix { !$0.isWhitespace && $0 != "=" }
      guard !key.isEmpty else { break }
      text = text[key.endIndex...].drop(while: \.isWhitespace)
      guard text.first == "=" else {
        attributes.append((String(key), ""))
        continue
      }
      text = text.dropFirst().drop(while: \.isWhitespace)
      let value: Substring
      if let quote = text.first, quote == "\"" || quote == "'" {
        value = text.dropFirst().prefix { $0 != quote }
        text = text[value.endIndex...].dropFirst()
      } else {
        value = text.prefix { !$0.isWhitespace }
        text = text[value.endIndex...]
      }
      attributes.append((String(key), String(value)))
    }
    return .start(String(name), attributes: attributes, isEmpty: isEmpty)
  }

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> String {
    var bytes = bytes
    while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
    while let first = bytes.first, first <= 0x20 { bytes.removeFirst() }
    return String(decoding: bytes, as: UTF8.self)
  }
}
