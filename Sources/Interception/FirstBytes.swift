/// Recognises a protocol by the first bytes that a client or a server sends.
enum FirstBytes: Equatable {
  /// More bytes are needed.
  case incomplete
  /// A TLS record with a handshake message.
  case tls
  /// An HTTP/1 request.
  case http1
  /// An HTTP/1 request for a tunnel (RFC 9110, 9.3.6): the authority, and the length of the head in bytes.
  case connect(authority: String, headLength: Int)
  /// HTTP/2 with prior knowledge (RFC 9113, 3.4).
  case http2
  /// Another protocol, by name.
  case other(String)

  /// The maximum length of a head of CONNECT, and of bytes that are looked at, in bytes.
  static let sizeLimit = 16_384

  /// The name of a protocol that is not known.
  static let unknown = "unknown protocol"

  private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

  /// Parses the first bytes of a client.
  init(ofClient bytes: UnsafeRawBufferPointer) {
    guard let first = bytes.first else {
      self = .incomplete
      return
    }
    if first == 22 {
      // ContentType handshake, version 3.x (RFC 8446, 5.1).
      self = bytes.count < 2 ? .incomplete : bytes[1] == 3 ? .tls : .other(Self.unknown)
    } else if Self.preface.starts(with: bytes) || bytes.starts(with: Self.preface) {
      self = bytes.count < Self.preface.count ? .incomplete : .http2
    } else {
      self = Self.request(bytes) ?? .other(Self.name(ofClient: bytes))
    }
  }

  // MARK: HTTP/1

  /// - Returns: nil if it is no request line (RFC 9112, 3).
  private static func request(_ bytes: UnsafeRawBufferPointer) -> FirstBytes? {
    // "a server that is expecting to receive and parse a request-line SHOULD ignore at least one empty line".
    let start = bytes.firstIndex { $0 != 0x0D && $0 != 0x0A } ?? bytes.endIndex
    guard start <= 4 else { return nil }
    let text = bytes[start...]
    let method = text.prefix { isMethod($0) }
    guard method.count <= 32 else { return nil }
    let rest = text.dropFirst(method.count)
    guard let space = rest.first else { return .incomplete }
    guard !method.isEmpty, space == 0x20 else { return nil }
    let line = rest.dropFirst().prefix { $0 != 0x0D && $0 != 0x0A }
    guard line.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
    let isWhole = line.endIndex < bytes.endIndex
    if method.elementsEqual("CONNECT".utf8) { return connect(bytes, line, isWhole: isWhole) }
    let target = line.prefix { $0 != 0x20 }
    if target.first == UInt8(ascii: "/") { return .http1 }
    for scheme in ["http://", "https://"] where target.starts(with: scheme.utf8) { return .http1 }
    guard isWhole else { return line.count < sizeLimit / 2 ? .incomplete : nil }
    return line.dropFirst(target.count).starts(with: " HTTP/1.".utf8) ? .http1 : nil
  }

  private static func connect(
    _ bytes: UnsafeRawBufferPointer, _ line: Slice<UnsafeRawBufferPointer>, isWhole: Bool
  ) -> FirstBytes? {
    guard isWhole else { return line.count < 1024 ? .incomplete : nil }
    let target = line.prefix { $0 != 0x20 }
    guard line.dropFirst(target.count).starts(with: " HTTP/1.".utf8) else { return nil }
    // The head ends with an empty line; a lone LF is a line end, too (RFC 9112, 2.2).
    var lineStart = line.startIndex
    while let end = bytes[lineStart...].firstIndex(of: 0x0A) {
      let content = bytes[lineStart..<end]
      if content.isEmpty || content.elementsEqual([0x0D]) {
        return .connect(authority: String(decoding: target, as: UTF8.self), headLength: end + 1)
      }
      lineStart = end + 1
    }
    return bytes.count < sizeLimit ? .incomplete : nil
  }

  /// Letters, and what methods contain beside them, such as `M-SEARCH`.
  private static func isMethod(_ byte: UInt8) -> Bool {
    UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte
      || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
  }

  // MARK: Other protocols

  private static func number(_ bytes: UnsafeRawBufferPointer, at offset: Int, count: Int) -> Int? {
    guard bytes.count >= offset + count else { return nil }
    return bytes[offset..<offset + count].reduce(0) { $0 << 8 | Int($1) }
  }

  /// The name of a protocol in which the client sends first.
  static func name(ofClient bytes: UnsafeRawBufferPointer) -> String {
    func starts(_ text: String) -> Bool { bytes.starts(with: text.utf8) }
    // PostgreSQL's startup packet: its length, and then 3.0 or a request for TLS, encryption or cancellation.
    let postgres: Set = [196_608, 80_877_102, 80_877_103, 80_877_104]
    if let code = number(bytes, at: 4, count: 4), postgres.contains(code) { return "PostgreSQL" }
    // MongoDB: length, request, response 0, and OP_MSG (2013) or OP_QUERY (2004), little-endian.
    if number(bytes, at: 8, count: 4) == 0, let code = number(bytes, at: 12, count: 4),
      code == 0xDD07_0000 || code == 0xD407_0000
    {
      return "MongoDB"
    }
    // MQTT: CONNECT, a length of one to four bytes, and the protocol's name.
    if bytes.first == 0x10, bytes.prefix(16).contains(where: { $0 == UInt8(ascii: "M") }) {
      let text = String(decoding: bytes.prefix(16), as: UTF8.self)
      if text.contains("MQTT") || text.contains("MQIsdp") { return "MQTT" }
    }
    // Kafka: length, ApiVersions (18), a small version.
    if number(bytes, at: 0, count: 2) == 0, number(bytes, at: 4, count: 2) == 18,
      number(bytes, at: 6, count: 2) ?? 99 < 16
    {
      return "Kafka"
    }
    // Cassandra: version 3 to 5, flags, stream, OPTIONS or STARTUP.
    if let first = bytes.first, 3...5 ~= first, let opcode = number(bytes, at: 4, count: 1), opcode == 5 || opcode == 1,
      bytes.count >= 9
    {
      return "Cassandra"
    }
    // LDAP: a sequence with a message ID and a bind request.
    if bytes.first == 0x30, bytes.count >= 6, bytes[2] == 2, bytes[5] == 0x60 { return "LDAP" }
    if bytes.first == 5, bytes.count >= 3, bytes.count == 2 + Int(bytes[1]) { return "SOCKS 5" }
    if bytes.first == UInt8(ascii: "*"), bytes.count >= 2, UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[1] {
      return "Redis"
    }
    for (start, name) in clientTexts where starts(start) { return name }
    let line = String(decoding: bytes.prefix { $0 != 0x0D && $0 != 0x0A }.prefix(512), as: UTF8.self)
    if line.hasSuffix(" RTSP/1.0") || line.hasSuffix(" RTSP/2.0") { return "RTSP" }
    if line.hasSuffix(" SIP/2.0") { return "SIP" }
    if line.dropFirst(4).hasPrefix("git-upload-pack ") || line.dropFirst(4).hasPrefix("git-receive-pack ") {
      return "git"
    }
    return unknown
  }

  private static let clientTexts: [(String, String)] = [
    ("SSH-", "SSH"), ("AMQP", "AMQP"), ("EHLO ", "SMTP"), ("HELO ", "SMTP"), ("PING\r\n", "Redis"),
    ("CONNECT\n", "STOMP"), ("CONNECT\r\n", "STOMP"), ("STOMP\n", "STOMP"), ("CONNECT {", "NATS"), ("<?xml", "XMPP"),
    ("<stream:stream", "XMPP"), ("NICK ", "IRC"), ("CAP LS", "IRC"), ("get ", "memcached"), ("gets ", "memcached"),
    ("set ", "memcached"), ("version\r\n", "memcached"), ("\u{13}BitTorrent protocol", "BitTorrent"),
    ("@RSYNCD:", "rsync"), ("USER ", "FTP or POP3"),
  ]

  /// The name of a protocol in which the server sends first.
  static func name(ofServer bytes: UnsafeRawBufferPointer) -> String {
    func starts(_ text: String) -> Bool { bytes.starts(with: text.utf8) }
    for (start, name) in serverTexts where starts(start) { return name }
    // MySQL: a packet of some length with number 0, and protocol version 10.
    if bytes.count >= 5, bytes[3] == 0, bytes[4] == 10 { return "MySQL" }
    if starts("220") {
      let line = String(decoding: bytes.prefix(256), as: UTF8.self)
      return line.contains("SMTP") ? "SMTP" : line.contains("FTP") ? "FTP" : "SMTP or FTP"
    }
    return unknown
  }

  private static let serverTexts: [(String, String)] = [
    ("SSH-", "SSH"), ("* OK", "IMAP"), ("+OK", "POP3"), ("INFO {", "NATS"), ("RFB ", "VNC"), ("@RSYNCD:", "rsync"),
    (":", "IRC"), ("NOTICE ", "IRC"),
  ]
}
