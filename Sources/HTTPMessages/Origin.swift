/// Scheme, host and port: what RFC 6454 calls an origin, and all that tells one backend from another.
///
/// ```swift
/// let origin = try Origin(parsing: "https://dev.api1.com")
/// origin.port         // 443
/// origin.authority    // "dev.api1.com": a default port is not written
/// origin.description  // "https://dev.api1.com"
/// ```
package struct Origin: Hashable, Sendable, CustomStringConvertible {
  /// `http` or `https`.
  package let scheme: String
  /// In lower case; an IPv6 address keeps its brackets.
  package let host: String
  /// 1 to 65535.
  package let port: Int

  package init(scheme: String, host: String, port: Int) {
    self.scheme = scheme
    self.host = host
    self.port = port
  }

  /// Reads `http://host`, `https://host:port`, with or without one closing slash.
  ///
  /// - Parameter text: the origin; a path, a query, a fragment or user information is refused, since none would
  ///   have an effect.
  /// - Throws: ``InvalidOrigin`` saying what is wrong.
  package init(parsing text: String) throws(InvalidOrigin) {
    let lowered = text.lowercased()
    let scheme: String
    if lowered.utf8.starts(with: "http://".utf8) {
      scheme = "http"
    } else if lowered.utf8.starts(with: "https://".utf8) {
      scheme = "https"
    } else {
      throw InvalidOrigin(text: text, problem: "it must begin with http:// or https://")
    }
    var authority = lowered.utf8.dropFirst(scheme.utf8.count + 3)
    if authority.last == UInt8(ascii: "/") { authority = authority.dropLast() }
    guard let (host, port) = Self.split(authority: authority) else {
      throw InvalidOrigin(text: text, problem: "a host and an optional port must follow, and nothing else")
    }
    self.init(scheme: scheme, host: host, port: port ?? Self.defaultPort(of: scheme))
  }

  /// `host`, or `host:port` where the port is not the scheme's own.
  package var authority: String {
    port == Self.defaultPort(of: scheme) ? host : "\(host):\(port)"
  }

  package var description: String { "\(scheme)://\(authority)" }

  /// How clients address a server on this machine's loopback addresses.
  package static let loopbackNames: Set = ["127.0.0.1", "localhost", "[::1]"]

  /// 443 for `https`, else 80.
  package static func defaultPort(of scheme: String) -> Int { scheme == "https" ? 443 : 80 }

  /// Takes `host[:port]` apart, host in lower case; nil when it is not one.
  package static func split(authority text: String) -> (host: String, port: Int?)? {
    split(authority: text.lowercased().utf8[...])
  }

  private static func split(authority: Substring.UTF8View) -> (host: String, port: Int?)? {
    var host = authority
    var port: Int?
    let afterBracket = authority.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex
    if let colon = authority[afterBracket...].lastIndex(of: UInt8(ascii: ":")) {
      let digits = authority[authority.index(after: colon)...]
      guard digits.allSatisfy({ $0 &- 0x30 < 10 }), let number = Int(Substring(digits)), 1...65535 ~= number else {
        return nil
      }
      port = number
      host = authority[..<colon]
    }
    let isBracketed = host.first == UInt8(ascii: "[") && host.last == UInt8(ascii: "]")
    let inner = isBracketed ? host.dropFirst().dropLast() : host
    let isHost = inner.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
      case UInt8(ascii: ":"): isBracketed
      default: byte >= 0x80
      }
    }
    // Brackets are for addresses of IPv6 (RFC 3986, 3.2.2), which have colons.
    guard !inner.isEmpty, isHost, !isBracketed || inner.contains(UInt8(ascii: ":")) else { return nil }
    return (String(Substring(host)), port)
  }
}

/// A text that is not an origin.
package struct InvalidOrigin: Error, CustomStringConvertible {
  /// The text as given.
  package let text: String
  /// What is wrong with it.
  package let problem: String

  package var description: String { "'\(text)' is not an origin: \(problem), as in https://api.example.com" }
}

extension Origin: Codable {
  /// Reads it from its text, as ``description`` writes it.
  package init(from decoder: any Decoder) throws {
    try self.init(parsing: decoder.singleValueContainer().decode(String.self))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
