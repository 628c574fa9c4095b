/// The result of looking at the first bytes of a TLS connection (RFC 8446, 4.1.2 and 5.1).
package enum ClientHello: Sendable, Equatable {
  /// More bytes are needed.
  case incomplete
  /// The bytes are not a ClientHello.
  case invalid
  /// A complete ClientHello: the host name of its SNI extension (RFC 6066, 3) in lower case and without a trailing dot,
  /// and the protocols of its ALPN extension (RFC 7301), in the client's order.
  case hello(serverName: String?, protocols: [String])

  /// The maximum size of a ClientHello in bytes. Those of browsers have about 2000.
  static let sizeLimit = 16_384

  /// Parses the bytes received so far, which may contain further records.
  ///
  /// - Parameter bytes: all bytes of the connection so far.
  package init(_ bytes: UnsafeRawBufferPointer) {
    do throws(ByteReader.Failure) {
      let message = try Self.message(in: bytes)
      // The message is complete: what is missing will not come.
      self = message.withUnsafeBytes { (try? Self.parse(ByteReader($0))) ?? .invalid }
    } catch {
      self = error == .end ? .incomplete : .invalid
    }
  }

  /// Joins the fragments of the handshake message, which may span several records.
  private static func message(in bytes: UnsafeRawBufferPointer) throws(ByteReader.Failure) -> [UInt8] {
    var records = ByteReader(bytes)
    var message: [UInt8] = []
    var length: Int?
    while true {
      if message.count >= 4, length == nil {
        // HandshakeType client_hello(1), then a length of three bytes.
        guard message[0] == 1 else { throw .invalid }
        let count = Int(message[1]) << 16 | Int(message[2]) << 8 | Int(message[3])
        guard count <= sizeLimit else { throw .invalid }
        length = count
      }
      if let length, message.count >= 4 + length { return Array(message[4..<4 + length]) }
      // ContentType handshake(22), and a legacy version, whose first byte alone is fixed.
      guard try records.byte() == 22, try records.byte() == 3 else { throw .invalid }
      _ = try records.byte()
      let count = try records.number(bytes: 2)
      // "Implementations MUST NOT send zero-length fragments of Handshake types"; 2^14 is the limit for plain text.
      guard 1...16_384 ~= count else { throw .invalid }
      if message.isEmpty, let first = records.rest.first, first != 1 { throw .invalid }
      message += try records.bytes(count)
    }
  }

  private static func parse(_ reader: ByteReader) throws(ByteReader.Failure) -> ClientHello {
    var reader = reader
    // legacy_version and random.
    _ = try reader.bytes(34)
    guard try reader.vector(lengthBytes: 1).rest.count <= 32 else { throw .invalid }
    let suites = try reader.vector(lengthBytes: 2).rest.count
    guard suites >= 2, suites.isMultiple(of: 2), try !reader.vector(lengthBytes: 1).rest.isEmpty else {
      throw .invalid
    }
    var name: String?
    var protocols: [String] = []
    // A ClientHello of TLS 1.2 may have no extensions.
    guard !reader.rest.isEmpty else { return .hello(serverName: nil, protocols: []) }
    var extensions = try reader.vector(lengthBytes: 2)
    guard reader.rest.isEmpty else { throw .invalid }
    while !extensions.rest.isEmpty {
      let kind = try extensions.number(bytes: 2)
      var content = try extensions.vector(lengthBytes: 2)
      switch kind {
      case 0: name = try serverName(&content)
      case 16: protocols = try alpn(&content)
      default: break
      }
    }
    return .hello(serverName: name, protocols: protocols)
  }

  private static func serverName(_ content: inout ByteReader) throws(ByteReader.Failure) -> String? {
    var list = try content.vector(lengthBytes: 2)
    var name: String?
    while !list.rest.isEmpty {
      let isHostName = try list.byte() == 0
      let value = try list.vector(lengthBytes: 2).rest
      // "The hostname is represented as a byte string using ASCII encoding"; a literal address is not permitted, and is
      // ignored.
      if isHostName, name == nil { name = HostName.normalized(value) }
    }
    return name
  }

  private static func alpn(_ content: inout ByteReader) throws(ByteReader.Failure) -> [String] {
    var list = try content.vector(lengthBytes: 2)
    var protocols: [String] = []
    while !list.rest.isEmpty {
      let name = try list.vector(lengthBytes: 1).rest
      guard !name.isEmpty else { throw .invalid }
      protocols.append(String(decoding: name, as: UTF8.self))
    }
    return protocols
  }
}

/// Reads numbers and vectors in network byte order, within bounds.
struct ByteReader {
  enum Failure: Error {
    /// The bytes end too early.
    case end
    /// The bytes violate the format.
    case invalid
  }

  private(set) var rest: Slice<UnsafeRawBufferPointer>

  init(_ bytes: UnsafeRawBufferPointer) { rest = bytes[...] }

  private init(_ rest: Slice<UnsafeRawBufferPointer>) { self.rest = rest }

  mutating func byte() throws(Failure) -> UInt8 {
    guard let byte = rest.popFirst() else { throw .end }
    return byte
  }

  mutating func number(bytes count: Int) throws(Failure) -> Int {
    var number = 0
    for _ in 0..<count { number = number << 8 | Int(try byte()) }
    return number
  }

  mutating func bytes(_ count: Int) throws(Failure) -> Slice<UnsafeRawBufferPointer> {
    guard rest.count >= count else { throw .end }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }

  /// Reads a length, and then so many bytes.
  mutating func vector(lengthBytes: Int) throws(Failure) -> ByteReader {
    ByteReader(try bytes(try number(bytes: lengthBytes)))
  }
}

/// Host names as they are compared: in lower case, without a trailing dot.
enum HostName {
  /// - Parameter bytes: a name in ASCII.
  /// - Returns: nil if it is empty, too long, an IPv4 address, or contains a byte that occurs in no host name.
  static func normalized(_ bytes: some BidirectionalCollection<UInt8>) -> String? {
    var bytes = bytes[...]
    if bytes.last == UInt8(ascii: ".") { bytes = bytes.dropLast() }
    guard 1...253 ~= bytes.count, bytes.allSatisfy(isAllowed), bytes.first != UInt8(ascii: ".") else { return nil }
    // The last label of a host name is not a number (RFC 1123, 2.1).
    let top = bytes.suffix(while: { $0 != UInt8(ascii: ".") })
    guard !top.isEmpty, !top.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else { return nil }
    return String(decoding: bytes.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }, as: UTF8.self)
  }

  /// Letters, digits and the hyphen (RFC 1123, 2.1), the dot, and the underscore, which names of services contain.
  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}

extension BidirectionalCollection {
  /// The elements after the last one that does not match.
  fileprivate func suffix(while matches: (Element) -> Bool) -> SubSequence {
    self[(lastIndex { !matches($0) }.map { index(after: $0) } ?? startIndex)...]
  }
}
