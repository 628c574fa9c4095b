package import Basics

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Scheme, host and port (RFC 6454).
///
/// ```swift
/// let origin = try Origin(parsing: "https://dev.api1.com")
/// origin.port         // 443
/// origin.authority    // "dev.api1.com": the default port is omitted
/// origin.description  // "https://dev.api1.com"
/// ```
package struct Origin: Hashable, Sendable, CustomStringConvertible {
  /// `http` or `https`.
  package let scheme: String
  /// In lower case; IPv6 addresses include their brackets.
  package let host: String
  /// 1 to 65535.
  package let port: Int

  package init(scheme: String, host: String, port: Int) {
    self.scheme = scheme
    self.host = host
    self.port = port
  }

  /// Parses `http://host` or `https://host:port`, with or without a trailing slash.
  ///
  /// - Parameter text: the origin. A path, query, fragment or user information is an error, since it would have no
  ///   effect.
  /// - Throws: ``CodedError`` with the reason.
  package init(parsing text: String) throws(CodedError) {
    let lowered = text.lowercased()
    let scheme: String
    if lowered.utf8.starts(with: "http://".utf8) {
      scheme = "http"
    } else if lowered.utf8.starts(with: "https://".utf8) {
      scheme = "https"
    } else {
      throw CodedError(notOrigin: text, "it must begin with http:// or https://")
    }
    var authority = lowered.utf8.dropFirst(scheme.utf8.count + 3)
    if authority.last == UInt8(ascii: "/") { authority = authority.dropLast() }
    guard let (host, port) = Self.split(authority: authority) else {
      throw CodedError(notOrigin: text, "only a host and an optional port may follow the scheme")
    }
    self.init(scheme: scheme, host: host, port: port ?? Self.defaultPort(of: scheme))
  }

  /// `host`, or `host:port` if the port is not the scheme's default.
  package var authority: String {
    port == Self.defaultPort(of: scheme) ? host : "\(host):\(port)"
  }

  package var description: String { "\(scheme)://\(authority)" }

  /// The names under which clients address a server on this machine's loopback addresses.
  package static let loopbackNames: Set = ["127.0.0.1", "localhost", "[::1]"]

  /// Whether a host, as in a URL, is this machine: one of ``loopbackNames``, another loopback address, the unspecified
  /// one, at which Linux connects to itself, or a name below `localhost` (RFC 6761, 6.3).
  package static func isLoopback(_ host: String) -> Bool {
    if loopbackNames.contains(host) || host.hasSuffix(".localhost") { return true }
    guard host.first == "[" else {
      var address = in_addr()
      guard inet_pton(AF_INET, host, &address) == 1 else { return false }
      return address.s_addr == 0 || withUnsafeBytes(of: address) { $0[0] == 127 }
    }
    var address = in6_addr()
    guard inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &address) == 1 else { return false }
    return withUnsafeBytes(of: address) { bytes in
      if bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 255, bytes[11] == 255 {  // IPv4-mapped
        return bytes[12] == 127 || bytes[12...].allSatisfy { $0 == 0 }
      }
      return bytes[..<15].allSatisfy { $0 == 0 } && bytes[15] <= 1
    }
  }

  /// 443 for `https`, else 80.
  package static func defaultPort(of scheme: String) -> Int { scheme == "https" ? 443 : 80 }

  /// Splits `host[:port]`, with the host in lower case; nil if the text is invalid.
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
    // Only IPv6 addresses are in brackets (RFC 3986, 3.2.2), and they contain colons.
    guard !inner.isEmpty, isHost, !isBracketed || inner.contains(UInt8(ascii: ":")) else { return nil }
    return (String(Substring(host)), port)
  }
}

extension CodedError {
  fileprivate init(notOrigin text: String, _ problem: String) {
    self.init(.usage, "'\(text)' is not an origin: \(problem), as in https://api.example.com")
  }
}

extension Origin: Codable {
  /// Decodes the text form that ``description`` writes.
  package init(from decoder: any Decoder) throws {
    try self.init(parsing: decoder.singleValueContainer().decode(String.self))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
