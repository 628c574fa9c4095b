/// An XML document in the form in which it is compared: elements and text in order, attributes in any order, names
/// with their namespace instead of a prefix. Comments, processing instructions and white space between tags are
/// ignored.
package struct XMLContent {
  struct Attribute: Equatable {
    /// The expanded name, as for elements.
    let name: String
    var value: String
  }

  /// An event of the document.
  enum Event: Equatable {
    /// `{namespace}local`, or `local` without one. Attributes are sorted by name.
    case start(name: String, [Attribute])
    case text(String)
    case end
  }

  var events: [Event]

  /// Nil if the bytes are not well-formed XML in UTF-8, or have a document type: declared entities can expand a body
  /// without limit.
  init?(_ bytes: UnsafeRawBufferPointer) {
    var reader = XMLReader(bytes)
    guard let events = reader.document() else { return nil }
    self.events = events
  }

  /// Adds the document to a hash.
  func append(to hash: inout SipHash) {
    for event in events {
      switch event {
      case .start(let name, let attributes):
        hash.append(text: name)
        for attribute in attributes {
          hash.append(text: attribute.name)
          hash.append(text: attribute.value)
        }
        hash.append(number: attributes.count)
        hash.append(1)
      case .text(let text):
        hash.append(text: text)
        hash.append(2)
      case .end: hash.append(3)
      }
    }
    hash.append(number: events.count)
  }

  /// Applies a change to all texts and attribute values; empty texts are removed.
  func mapTexts<Failure: Error>(_ change: (String) throws(Failure) -> String) throws(Failure) -> XMLContent {
    var content = self
    content.events.removeAll(keepingCapacity: true)
    for event in events {
      switch event {
      case .start(let name, var attributes):
        for number in attributes.indices { attributes[number].value = try change(attributes[number].value) }
        content.events.append(.start(name: name, attributes))
      case .text(let text):
        let kept = try change(text)
        if !kept.isEmpty { content.events.append(.text(kept)) }
      case .end: content.events.append(.end)
      }
    }
    return content
  }
}

/// Parses the subset of XML 1.0 with namespaces that request bodies use: UTF-8, no document type.
///
/// Parsing methods return nil on any syntax error, and the whole body then does not count as XML.
struct XMLReader {
  /// An open element.
  private struct Open {
    let tag: [UInt8]
    /// The prefixes in scope around it.
    let outer: [String: String]
  }

  /// The maximum number of attributes of an element, and of prefixes in scope; small enough for linear search.
  private static let most = 1000

  private let bytes: UnsafeRawBufferPointer
  private var position = 0
  private var events: [XMLContent.Event] = []
  private var open: [Open] = []
  /// Namespaces by prefix; the default namespace has the empty prefix.
  private var spaces = ["xml": "http://www.w3.org/XML/1998/namespace"]
  private var text: [UInt8] = []
  private var isTextMeant = false

  init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
  }

  mutating func document() -> [XMLContent.Event]? {
    guard String(validating: bytes, as: UTF8.self) != nil else { return nil }
    _ = skip("\u{FEFF}")
    while position < bytes.count {
      guard bytes[position] == UInt8(ascii: "<") else {
        guard characters() != nil else { return nil }
        continue
      }
      guard markup() != nil else { return nil }
    }
    guard open.isEmpty, !events.isEmpty, text.allSatisfy(Self.isSpace) else { return nil }
    return events
  }

  private mutating func markup() -> Void? {
    if skip("<!--") { return through("-->").map { _ in } }
    if skip("<?") {
      guard let content = through("?>") else { return nil }
      let declaration = String(decoding: content, as: UTF8.self).lowercased()
      let isForeign =
        declaration.hasPrefix("xml ") && declaration.contains("encoding") && !declaration.contains("utf-8")
        && !declaration.contains("ascii")
      return isForeign ? nil : ()
    }
    if skip("<![CDATA[") {
      guard !open.isEmpty, let content = through("]]>") else { return nil }
      text += content
      isTextMeant = true
      return ()
    }
    // A document type declaration.
    if skip("<!") { return nil }
    if skip("</") { return endTag() }
    position += 1
    return startTag()
  }

  // MARK: Tags

  private mutating func startTag() -> Void? {
    guard !open.isEmpty || events.isEmpty, flush() != nil, let tag = readName() else { return nil }
    var raw: [(name: [UInt8], value: String)] = []
    let outer = spaces
    while true {
      let hadSpace = skipSpace()
      if skip("/>") || skip(">") { break }
      guard hadSpace, let name = readName(), skipEquals(), let value = readValue() else { return nil }
      let key = String(decoding: name, as: UTF8.self)
      guard raw.count < Self.most, spaces.count < Self.most, !raw.contains(where: { $0.name == name }) else {
        return nil
      }
      if key == "xmlns" {
        spaces[""] = value
      } else if key.hasPrefix("xmlns:") {
        spaces[String(key.dropFirst(6))] = value
      }
      raw.append((name, value))
    }
    var attributes: [XMLContent.Attribute] = []
    for (name, value) in raw where !Self.declaresSpace(name) {
      guard let name = expanded(name, isElement: false) else { return nil }
      attributes.append(XMLContent.Attribute(name: name, value: value))
    }
    attributes.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    guard let name = expanded(tag, isElement: true) else { return nil }
    events.append(.start(name: name, attributes))
    if bytes[position - 2] == UInt8(ascii: "/") {
      events.append(.end)
      spaces = outer
    } else {
      open.append(Open(tag: tag, outer: outer))
    }
    return ()
  }

  private mutating func endTag() -> Void? {
    guard flush() != nil, let tag = readName(), let last = open.popLast(), last.tag == tag else { return nil }
    _ = skipSpace()
    guard skip(">") else { return nil }
    spaces = last.outer
    events.append(.end)
    return ()
  }

  private mutating func skipEquals() -> Bool {
    _ = skipSpace()
    guard skip("=") else { return false }
    _ = skipSpace()
    return true
  }

  private static func declaresSpace(_ name: [UInt8]) -> Bool {
    name.elementsEqual("xmlns".utf8) || name.starts(with: "xmlns:".utf8)
  }

  /// A name with its namespace; nil for an undeclared prefix.
  private func expanded(_ name: [UInt8], isElement: Bool) -> String? {
    guard let colon = name.firstIndex(of: UInt8(ascii: ":")) else {
      let local = String(decoding: name, as: UTF8.self)
      guard isElement, let space = spaces[""], !space.isEmpty else { return local }
      return "{\(space)}\(local)"
    }
    guard let space = spaces[String(decoding: name[..<colon], as: UTF8.self)] else { return nil }
    return "{\(space)}" + String(decoding: name[(colon + 1)...], as: UTF8.self)
  }

  private mutating func readName() -> [UInt8]? {
    var name: [UInt8] = []
    while position < bytes.count, !Self.isSpace(bytes[position]), !"<>/=\"'&".utf8.contains(bytes[position]) {
      name.append(bytes[position])
      position += 1
    }
    return name.isEmpty ? nil : name
  }

  private mutating func readValue() -> String? {
    guard position < bytes.count else { return nil }
    let quote = bytes[position]
    guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return nil }
    position += 1
    var value: [UInt8] = []
    while position < bytes.count, bytes[position] != quote {
      guard bytes[position] != UInt8(ascii: "<") else { return nil }
      if bytes[position] == UInt8(ascii: "&") {
        guard let character = reference() else { return nil }
        value += character
      } else {
        value.append(Self.isSpace(bytes[position]) ? UInt8(ascii: " ") : bytes[position])
        position += 1
      }
    }
    guard position < bytes.count else { return nil }
    position += 1
    return String(decoding: value, as: UTF8.self)
  }

  // MARK: Text

  private mutating func characters() -> Void? {
    while position < bytes.count, bytes[position] != UInt8(ascii: "<") {
      if bytes[position] == UInt8(ascii: "&") {
        guard let character = reference() else { return nil }
        text += character
        isTextMeant = true
      } else {
        // CR LF and CR are normalized to LF.
        let isPair = bytes[position] == 0x0D && position + 1 < bytes.count && bytes[position + 1] == 0x0A
        if !isPair { text.append(bytes[position] == 0x0D ? 0x0A : bytes[position]) }
        position += 1
      }
    }
    return ()
  }

  /// Emits the collected text, unless it is white space between tags.
  private mutating func flush() -> Void? {
    defer { (text, isTextMeant) = ([], false) }
    if !isTextMeant, text.allSatisfy(Self.isSpace) { return () }
    guard !open.isEmpty else { return nil }
    events.append(.text(String(decoding: text, as: UTF8.self)))
    return ()
  }

  /// Parses `&amp;`, `&#38;` or `&#x26;`.
  private mutating func reference() -> [UInt8]? {
    position += 1
    guard let content = through(";"), content.count < 12 else { return nil }
    let name = String(decoding: content, as: UTF8.self)
    switch name {
    case "amp": return [UInt8(ascii: "&")]
    case "lt": return [UInt8(ascii: "<")]
    case "gt": return [UInt8(ascii: ">")]
    case "quot": return [UInt8(ascii: "\"")]
    case "apos": return [UInt8(ascii: "'")]
    default:
      let number =
        name.hasPrefix("#x")
        ? UInt32(name.dropFirst(2), radix: 16) : name.hasPrefix("#") ? UInt32(name.dropFirst()) : nil
      return number.flatMap(Unicode.Scalar.init).map { Array(String(Character($0)).utf8) }
    }
  }

  // MARK: Bytes

  private mutating func skip(_ mark: String) -> Bool {
    let rest = UnsafeRawBufferPointer(rebasing: bytes[position...])
    guard rest.starts(with: mark.utf8) else { return false }
    position += mark.utf8.count
    return true
  }

  private mutating func skipSpace() -> Bool {
    let start = position
    while position < bytes.count, Self.isSpace(bytes[position]) { position += 1 }
    return position > start
  }

  /// Returns the bytes before a mark and skips it; nil if the mark does not occur.
  private mutating func through(_ mark: String) -> [UInt8]? {
    var content: [UInt8] = []
    while position < bytes.count {
      if skip(mark) { return content }
      content.append(bytes[position])
      position += 1
    }
    return nil
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
}
