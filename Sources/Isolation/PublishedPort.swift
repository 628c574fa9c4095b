package import Basics

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A port of an isolated command that is reachable from outside: the value of `--publish [HOST:]PORT`.
///
/// The port has the same number inside and outside.
package struct PublishedPort: Sendable, Equatable, CustomStringConvertible {
  /// The IP address outside.
  package let host: String
  /// The port, inside and outside.
  package let port: UInt16

  /// Whether only this machine can reach it.
  package var isLoopback: Bool { host.hasPrefix("127.") || host == "::1" }

  /// - Parameters:
  ///   - port: the port.
  ///   - host: the IP address outside.
  package init(port: UInt16, host: String = "127.0.0.1") {
    self.port = port
    self.host = host
  }

  /// Parses `8080`, `0.0.0.0:8080` or `[::1]:8080`.
  ///
  /// - Parameter text: the value of the option.
  /// - Throws: ``CodedError`` of kind `usage`, without the option's name.
  package init(_ text: String) throws(CodedError) {
    guard let colon = text.lastIndex(of: ":") else {
      self.init(port: try Self.port(text))
      return
    }
    var host = String(text[..<colon])
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    if isBracketed { host = String(host.dropFirst().dropLast()) }
    guard isBracketed || !host.contains(":") else {
      throw CodedError(.usage, "'\(text)' is not [HOST:]PORT; put an IPv6 address in brackets, such as [::1]:8080")
    }
    let port = try Self.port(String(text[text.index(after: colon)...]))
    guard UInt64(host) == nil else {
      throw CodedError(
        .usage,
        "'\(text)' names two ports, but a port has the same number inside and outside; give one, such as \(port)")
    }
    guard InternetAddress(host, port: port).map({ $0.isV6 == isBracketed }) ?? false else {
      throw CodedError(
        .usage, "'\(host)' is not an IP address; give one, such as 127.0.0.1:\(port), 0.0.0.0:\(port) or [::1]:\(port)")
    }
    self.init(port: port, host: host)
  }

  /// Parses a port: the value of `--host-port`.
  ///
  /// - Parameter text: the value of the option.
  /// - Returns: the port.
  /// - Throws: ``CodedError`` of kind `usage`, without the option's name.
  package static func port(_ text: String) throws(CodedError) -> UInt16 {
    guard !text.isEmpty else { throw CodedError(.usage, "the port is missing; give one, such as 8080") }
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let port = UInt16(text),
      port > 0
    else { throw CodedError(.usage, "'\(text)' is not a port from 1 to 65535") }
    return port
  }

  package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// An IP address with a port.
struct InternetAddress: Sendable {
  let isV6: Bool
  private var v4 = sockaddr_in()
  private var v6 = sockaddr_in6()

  /// Fails if the host is not an IP address.
  ///
  /// - Parameters:
  ///   - host: an IPv4 or IPv6 address in numbers.
  ///   - port: the port.
  init?(_ host: String, port: UInt16) {
    v4.sin_family = sa_family_t(AF_INET)
    v4.sin_port = port.bigEndian
    v6.sin6_family = sa_family_t(AF_INET6)
    v6.sin6_port = port.bigEndian
    if inet_pton(AF_INET, host, &v4.sin_addr) == 1 {
      isV6 = false
    } else if inet_pton(AF_INET6, host, &v6.sin6_addr) == 1 {
      isV6 = true
    } else {
      return nil
    }
  }

  /// 127.0.0.1 and ::1, in the order in which a client tries them.
  static func loopback(_ port: UInt16) -> [InternetAddress] {
    ["127.0.0.1", "::1"].compactMap { Self($0, port: port) }
  }

  var family: Int32 { isV6 ? AF_INET6 : AF_INET }

  /// Passes the address to a system call.
  ///
  /// - Parameter body: receives the address and its size.
  /// - Returns: what `body` returns.
  func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    func pass<Address>(_ address: Address) -> Result {
      withUnsafeBytes(of: address) { bytes in
        // Never empty.
        body(bytes.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
      }
    }
    return isV6 ? pass(v6) : pass(v4)
  }
}
