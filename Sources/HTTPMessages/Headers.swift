/// Header fields in the order and with the case in which they were sent.
///
/// Names compare without regard to ASCII case (RFC 9110, 5.1); a name may occur more than once, as
/// `Set-Cookie` does, and nothing is ever joined or reordered.
///
/// ```swift
/// var headers: Headers = ["Content-Type": "text/plain"]
/// headers.append("Set-Cookie", "a=1")
/// headers.append("Set-Cookie", "b=2")
/// headers.all("set-cookie")  // ["a=1", "b=2"]
/// ```
package struct Headers: Sendable, Equatable, ExpressibleByDictionaryLiteral {
  /// One line of a header section.
  package struct Field: Sendable, Equatable {
    /// The name as it was sent.
    package var name: String
    /// The value without surrounding white space; it may be empty.
    package var value: String

    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }

    /// Whether a message can carry it: nothing in the name or the value ends them early (RFC 9110, 5.5).
    ///
    /// Names may have more characters than the tokens of RFC 9110, 5.6.2.
    package var isSendable: Bool {
      !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ":") }
        && value.utf8.allSatisfy { $0 != 0 && $0 != 0x0A && $0 != 0x0D }
    }
  }

  /// All fields in order.
  package var fields: [Field]

  package init(_ fields: [Field] = []) {
    self.fields = fields
  }

  package init(dictionaryLiteral elements: (String, String)...) {
    fields = elements.map { Field($0.0, $0.1) }
  }

  /// Whether a browser says that a page of another origin than the server's sends this.
  ///
  /// No page can change `Origin` and `Sec-Fetch-Site` (W3C Fetch Metadata); the latter also comes with requests that have
  /// no `Origin`, such as those for images and links.
  ///
  /// - Parameter port: the server's, whose origin is `http://` with a loopback name and this; nil: it has none.
  /// - Returns: false where nothing of that is said, as by programs that are not browsers.
  package func isFromForeignPage(port: UInt16?) -> Bool {
    let isForeign = all("Origin").contains { text in
      guard let port, let origin = try? Origin(parsing: text) else { return true }
      return origin.scheme != "http" || origin.port != Int(port) || !Origin.loopbackNames.contains(origin.host)
    }
    return isForeign || all("Sec-Fetch-Site").contains { !["same-origin", "none"].contains($0.lowercased()) }
  }

  /// Whether `Host` is there once and names this machine's loopback address and a port of it.
  package func isAddressedToLoopback(port: UInt16) -> Bool {
    let hosts = all("Host")
    guard hosts.count == 1, let (host, given) = Origin.split(authority: hosts[0]) else { return false }
    return Origin.loopbackNames.contains(host) && given ?? 80 == Int(port)
  }

  /// The most bytes that a response's head with these fields takes: the status line, and what the server adds, included.
  package var responseHeadSize: Int {
    fields.reduce(192) { $0 + $1.name.utf8.count + $1.value.utf8.count + 5 }
  }

  /// The value of the first field of that name.
  package subscript(_ name: String) -> String? {
    fields.firstIndex { $0.name.equalsIgnoringASCIICase(name) }.map { fields[$0].value }
  }

  /// The values of all fields of that name, in order.
  package func all(_ name: String) -> [String] {
    fields.filter { $0.name.equalsIgnoringASCIICase(name) }.map(\.value)
  }

  /// Adds a field at the end.
  package mutating func append(_ name: String, _ value: String) {
    fields.append(Field(name, value))
  }

  /// Replaces the first field of that name where it stands and drops the others, or adds one at the end.
  package mutating func set(_ name: String, _ value: String) {
    guard let index = fields.firstIndex(where: { $0.name.equalsIgnoringASCIICase(name) }) else {
      return append(name, value)
    }
    fields[index].value = value
    let rest = index + 1
    guard fields[rest...].contains(where: { $0.name.equalsIgnoringASCIICase(name) }) else { return }
    fields = Array(fields[..<rest]) + fields[rest...].filter { !$0.name.equalsIgnoringASCIICase(name) }
  }

  /// Drops every field of that name.
  package mutating func remove(_ name: String) {
    guard self[name] != nil else { return }
    fields.removeAll { $0.name.equalsIgnoringASCIICase(name) }
  }

  /// Drops what belongs to one connection and not to the message: the fields that RFC 9110, 7.6.1, lists, and
  /// those that `Connection` itself names. `Transfer-Encoding` goes with them.
  package mutating func removeHopByHop() {
    // Those that `Connection` names come with it: most messages have none, and to remove nothing costs a copy.
    guard fields.contains(where: { Self.isHopByHop($0.name) }) else { return }
    let named = all("Connection").flatMap { $0.split(separator: ",") }
      .map { $0.drop(while: { $0 == " " || $0 == "\t" }) }
      .map { String($0.prefix(while: { $0 != " " && $0 != "\t" })) }
    fields.removeAll { field in
      Self.isHopByHop(field.name)
        || !field.name.isEmpty && named.contains { $0.equalsIgnoringASCIICase(field.name) }
    }
  }

  private static func isHopByHop(_ name: String) -> Bool {
    var name = name
    return name.withUTF8 { UnsafeRawBufferPointer($0).isHopByHop }
  }
}

extension String {
  /// Equality as header names and host names have it: without regard to the case of A to Z.
  package func equalsIgnoringASCIICase(_ other: String) -> Bool {
    let left = utf8
    let right = other.utf8
    guard left.count == right.count else { return false }
    var (one, two) = (left.startIndex, right.startIndex)
    while one < left.endIndex {
      guard left[one].asciiLowercased == right[two].asciiLowercased else { return false }
      left.formIndex(after: &one)
      right.formIndex(after: &two)
    }
    return true
  }
}

extension UInt8 {
  /// `a` for `A`, and so on to `Z`; any other byte is itself.
  @inlinable package var asciiLowercased: UInt8 {
    self &- 0x41 < 26 ? self | 0x20 : self
  }
}
