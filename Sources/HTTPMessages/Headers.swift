/// Header fields in the order and case in which they were sent.
///
/// Names compare case-insensitively (ASCII; RFC 9110, 5.1). A name may occur more than once, as `Set-Cookie` does;
/// fields are never joined or reordered.
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
    /// The name as sent.
    package var name: String
    /// The value without surrounding white space; may be empty.
    package var value: String

    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }

    /// Whether the field can be sent: neither name nor value contains bytes that would end them early (RFC 9110, 5.5).
    ///
    /// Names may contain more characters than the tokens of RFC 9110, 5.6.2.
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

  /// Whether a browser sent this request for a page of another origin.
  ///
  /// Pages cannot change `Origin` and `Sec-Fetch-Site` (W3C Fetch Metadata). The latter is also sent with requests that
  /// have no `Origin`, such as those for images and links.
  ///
  /// - Parameter port: the server's port, which makes its origin `http://` plus a loopback name and this port; nil for a
  ///   server without an origin.
  /// - Returns: false if neither header is present, as in requests from programs other than browsers.
  package func isFromForeignPage(port: UInt16?) -> Bool {
    let isForeign = all("Origin").contains { text in
      guard let port, let origin = try? Origin(parsing: text) else { return true }
      return origin.scheme != "http" || origin.port != Int(port) || !Origin.loopbackNames.contains(origin.host)
    }
    return isForeign || all("Sec-Fetch-Site").contains { !["same-origin", "none"].contains($0.lowercased()) }
  }

  /// Whether exactly one `Host` header is present, with a loopback name and this port.
  package func isAddressedToLoopback(port: UInt16) -> Bool {
    let hosts = all("Host")
    guard hosts.count == 1, let (host, given) = Origin.split(authority: hosts[0]) else { return false }
    return Origin.loopbackNames.contains(host) && given ?? 80 == Int(port)
  }

  /// Whether exactly one `Host` header is present, with this name or address, in lower case, and this port.
  package func isAddressed(to name: String, port: UInt16) -> Bool {
    let hosts = all("Host")
    guard hosts.count == 1, let (host, given) = Origin.split(authority: hosts[0]) else { return false }
    return host == name && given ?? 80 == Int(port)
  }

  /// An upper bound for the size in bytes of a response head with these fields, including the status line and the
  /// fields that the server adds.
  package var responseHeadSize: Int {
    fields.reduce(192) { $0 + $1.name.utf8.count + $1.value.utf8.count + 5 }
  }

  /// The value of the first field with this name.
  package subscript(_ name: String) -> String? {
    fields.firstIndex { $0.name.equalsIgnoringASCIICase(name) }.map { fields[$0].value }
  }

  /// The values of all fields with this name, in order.
  package func all(_ name: String) -> [String] {
    fields.filter { $0.name.equalsIgnoringASCIICase(name) }.map(\.value)
  }

  /// Appends a field.
  package mutating func append(_ name: String, _ value: String) {
    fields.append(Field(name, value))
  }

  /// Replaces the first field with this name in place and drops the others, or appends a new one.
  package mutating func set(_ name: String, _ value: String) {
    guard let index = fields.firstIndex(where: { $0.name.equalsIgnoringASCIICase(name) }) else {
      return append(name, value)
    }
    fields[index].value = value
    let rest = index + 1
    guard fields[rest...].contains(where: { $0.name.equalsIgnoringASCIICase(name) }) else { return }
    fields = Array(fields[..<rest]) + fields[rest...].filter { !$0.name.equalsIgnoringASCIICase(name) }
  }

  /// Removes all fields with this name.
  package mutating func remove(_ name: String) {
    guard self[name] != nil else { return }
    fields.removeAll { $0.name.equalsIgnoringASCIICase(name) }
  }

  /// Removes the hop-by-hop fields of RFC 9110, 7.6.1, including `Transfer-Encoding`, and the fields that `Connection`
  /// names.
  package mutating func removeHopByHop() {
    // Most messages have none; checking first saves a copy.
    guard fields.contains(where: { Self.isHopByHop($0.name) }) else { return }
    // The value is almost always `keep-alive` or `close`, which name no header fields.
    let named = all("Connection")
      .filter { !$0.equalsIgnoringASCIICase("keep-alive") && !$0.equalsIgnoringASCIICase("close") }
      .flatMap { $0.split(separator: ",") }
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
  /// Compares as header and host names do: ignoring the case of A to Z.
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
  /// `a` for `A`, and so on to `Z`; other bytes unchanged.
  @inlinable package var asciiLowercased: UInt8 {
    self &- 0x41 < 26 ? self | 0x20 : self
  }
}

extension String {
  /// Decodes bytes of a message head: as UTF-8 if valid, else as ISO 8859-1, so different bytes never become equal.
  package init(wire bytes: UnsafeRawBufferPointer) {
    // Most values are ASCII; `String(validating:as:)` is much slower for those.
    if bytes.allSatisfy({ $0 < 0x80 }) {
      self.init(decoding: bytes, as: UTF8.self)
    } else if let text = String(validating: bytes, as: UTF8.self) {
      self = text
    } else {
      self.init(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
  }

  /// Decodes a request target.
  ///
  /// Bytes that are not UTF-8 are valid neither in a target (RFC 3986, 2.1) nor in a `String`; they are
  /// percent-encoded.
  ///
  /// - Parameter bytes: the target as sent.
  package init(wireTarget bytes: UnsafeRawBufferPointer) {
    if bytes.allSatisfy({ $0 < 0x80 }) {
      self.init(decoding: bytes, as: UTF8.self)
    } else if let text = String(validating: bytes, as: UTF8.self) {
      self = text
    } else {
      let digits = Array("0123456789ABCDEF".utf8)
      var encoded: [UInt8] = []
      for byte in bytes {
        if byte < 0x80 {
          encoded.append(byte)
        } else {
          encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
      }
      self.init(decoding: encoded, as: UTF8.self)
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Compares as header names do: ignoring the case of A to Z.
  package func equalsIgnoringASCIICase(_ other: StaticString) -> Bool {
    guard count == other.utf8CodeUnitCount else { return false }
    for index in 0..<count where self[index].asciiLowercased != other.utf8Start[index].asciiLowercased { return false }
    return true
  }

  /// Whether this is the name of a hop-by-hop field (RFC 9110, 7.6.1), or of one that was formerly treated as such.
  package var isHopByHop: Bool {
    switch count {
    case 2: equalsIgnoringASCIICase("TE")
    case 7: equalsIgnoringASCIICase("Upgrade")
    case 10: equalsIgnoringASCIICase("Connection") || equalsIgnoringASCIICase("Keep-Alive")
    case 16: equalsIgnoringASCIICase("Proxy-Connection")
    case 17: equalsIgnoringASCIICase("Transfer-Encoding")
    case 18: equalsIgnoringASCIICase("Proxy-Authenticate")
    case 19: equalsIgnoringASCIICase("Proxy-Authorization")
    default: false
    }
  }

  /// Whether this is a token (RFC 9110, 5.6.2), the syntax of methods and header names.
  package var isToken: Bool {
    for byte in self {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: continue
      case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F, 0x60, 0x7C, 0x7E: continue
      default: return false
      }
    }
    return !isEmpty
  }

  /// Whether all bytes are visible ASCII, spaces or tabs.
  package var isPlainText: Bool {
    for byte in self where byte &- 0x20 >= 0x5F && byte != 0x09 { return false }
    return true
  }
}
