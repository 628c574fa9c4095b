/// Answers DNS messages (RFC 1035) for programs whose connections are intercepted: every host name exists, and has an
/// address of a ``NameTable``.
///
/// A pure function of the message and the table. Names are compared without regard to case, and repeated in the spelling
/// of the question. There are no records but A, and PTR for the addresses of the table: an empty answer for AAAA and HTTPS
/// (RFC 9460) makes programs use IPv4 and no hints. Answers never exceed 512 bytes, so none is truncated.
struct NameServer: Sendable {
  /// The result of a message.
  enum Reply: Equatable {
    /// Sends nothing: the message is not a question, so an answer could loop (RFC 1035, 4.1.1), or too short for one.
    case none
    case message([UInt8])
    /// SERVFAIL, because the table is full.
    case full([UInt8], name: String)
  }

  /// In seconds. A name keeps its address while the environment runs, so this need not be shorter. A cache that outlives
  /// the environment should soon forget it. 0 would make each connection ask again.
  static let timeToLive: UInt32 = 60
  /// The size of UDP messages that fit into most networks without fragments.
  private static let payloadSize: UInt16 = 1232

  private enum Code: UInt8 {
    case noError = 0
    case formatError = 1
    case serverFailure = 2
    case nameError = 3
    case notImplemented = 4
    case refused = 5
    /// The lower part of BADVERS (RFC 6891, 9).
    case badVersion = 16
  }

  private enum Kind {
    static let a = 1
    static let ptr = 12
    static let aaaa = 28
    static let opt = 41
    static let any = 255
  }

  let table: NameTable

  private struct Question {
    /// As sent: labels, type and class.
    let bytes: Slice<UnsafeRawBufferPointer>
    /// In lower case, without a trailing dot; empty for the root, nil if it is no host name.
    let name: String?
    let kind: Int
    let isInternet: Bool
  }

  /// The OPT pseudo record of a message (RFC 6891).
  private struct Extension {
    let version: UInt8
    let isDNSSECWanted: Bool
  }

  /// Answers one message.
  ///
  /// - Parameter bytes: the message, without the length prefix of TCP.
  /// - Returns: what to send.
  func answer(_ bytes: UnsafeRawBufferPointer) -> Reply {
    guard bytes.count >= 12, bytes[2] & 0x80 == 0 else { return .none }
    guard bytes[2] & 0x78 == 0 else { return .message(Self.message(bytes, .notImplemented)) }
    var reader = ByteReader(UnsafeRawBufferPointer(rebasing: bytes[4...]))
    do throws(ByteReader.Failure) {
      var counts: [Int] = []
      for _ in 0..<4 { counts.append(try reader.number(bytes: 2)) }
      // "A DNS message with OPCODE = 0 MUST NOT include a QDCOUNT parameter whose value is greater than 1"
      // (RFC 9619, 4).
      guard counts[0] == 1 else { throw .invalid }
      let question = try Self.question(&reader)
      var ends: Extension?
      for index in 0..<counts[1] + counts[2] + counts[3] {
        guard let found = try Self.record(&reader) else { continue }
        // "If a query message with more than one OPT RR is received, a FORMERR MUST be returned" (RFC 6891, 6.1.1).
        guard ends == nil, index >= counts[1] + counts[2] else { throw .invalid }
        ends = found
      }
      return answer(bytes, question, ends)
    } catch {
      return .message(Self.message(bytes, .formatError))
    }
  }

  private func answer(_ bytes: UnsafeRawBufferPointer, _ question: Question, _ ends: Extension?) -> Reply {
    func reply(_ code: Code, _ data: [UInt8] = [], kind: Int = 0) -> [UInt8] {
      Self.message(bytes, code, question, data, kind: kind, ends)
    }
    if let ends, ends.version > 0 { return .message(reply(.badVersion)) }
    // Other classes, and zone transfers and the like (types 128 to 254).
    guard question.isInternet, !(128...254 ~= question.kind) else { return .message(reply(.refused)) }
    guard let name = question.name else { return .message(reply(.nameError)) }
    if name.isEmpty { return .message(reply(.noError)) }
    if name == "localhost" || name.hasSuffix(".localhost") {
      // RFC 6761, 6.3.
      switch question.kind {
      case Kind.a, Kind.any: return .message(reply(.noError, [127, 0, 0, 1], kind: Kind.a))
      case Kind.aaaa: return .message(reply(.noError, [UInt8](repeating: 0, count: 15) + [1], kind: Kind.aaaa))
      default: return .message(reply(.noError))
      }
    }
    if name == "arpa" || name.hasSuffix(".arpa"), name != "home.arpa", !name.hasSuffix(".home.arpa") {
      return .message(pointer(name, question.kind, reply))
    }
    guard !Self.isReserved(name) else { return .message(reply(.nameError)) }
    guard question.kind == Kind.a || question.kind == Kind.any else { return .message(reply(.noError)) }
    guard let address = table.address(of: name) else { return .full(reply(.serverFailure), name: name) }
    return .message(reply(.noError, withUnsafeBytes(of: address.bigEndian, Array.init), kind: Kind.a))
  }

  /// Names that never exist: `invalid` (RFC 6761, 6.4), `onion` (RFC 7686, 2), and the one by which Firefox finds out
  /// whether to ask a name server of its own over HTTPS.
  ///
  /// `local` is not one of them. RFC 6762 reserves it for multicast, but a program that asks a name server for it uses it
  /// as an ordinary domain, such as Kubernetes' `cluster.local`.
  private static func isReserved(_ name: String) -> Bool {
    let top = name.split(separator: ".").last
    return top == "invalid" || top == "onion" || name == "use-application-dns.net"
  }

  /// Answers a question for the name of an address (RFC 1035, 3.5; RFC 3596, 2.5).
  private func pointer(_ name: String, _ kind: Int, _ reply: (Code, [UInt8], Int) -> [UInt8]) -> [UInt8] {
    let loopback = "1.\(String(repeating: "0.", count: 31))ip6.arpa"
    var found: String?
    if name.hasSuffix(".in-addr.arpa") {
      let reversed = name.dropLast(13).split(separator: ".", omittingEmptySubsequences: false).reversed()
      // A part of the tree has no name, but exists.
      guard reversed.count == 4 else { return reply(.noError, [], 0) }
      let address = IPv4.number(reversed.joined(separator: "."))
      found = address.flatMap { $0 >> 24 == 127 ? "localhost" : table.name(of: $0) }
    } else if name == loopback {
      found = "localhost"
    } else if !name.hasSuffix(".ip6.arpa") || name.utf8.count < loopback.utf8.count {
      return reply(.noError, [], 0)
    }
    guard let found else { return reply(.nameError, [], 0) }
    guard kind == Kind.ptr || kind == Kind.any else { return reply(.noError, [], 0) }
    var data: [UInt8] = []
    for label in found.split(separator: ".") { data += [UInt8(label.utf8.count)] + label.utf8 }
    return reply(.noError, data + [0], Kind.ptr)
  }

  // MARK: Parsing

  private static func question(_ reader: inout ByteReader) throws(ByteReader.Failure) -> Question {
    let start = reader.rest
    var name: [UInt8] = []
    var isHostName = true
    while true {
      // A compression pointer (RFC 1035, 4.1.4) refers to a prior name; the first question has no prior name.
      let count = Int(try reader.byte())
      guard count < 64 else { throw .invalid }
      if count == 0 { break }
      if !name.isEmpty { name.append(UInt8(ascii: ".")) }
      let label = try reader.bytes(count)
      if label.contains(UInt8(ascii: ".")) { isHostName = false }
      name += label
      // 255 octets with the length of each label and the final 0 (RFC 1035, 3.1).
      guard name.count + 2 <= 255 else { throw .invalid }
    }
    let kind = try reader.number(bytes: 2)
    let group = try reader.number(bytes: 2)
    return Question(
      bytes: start.prefix(start.count - reader.rest.count),
      name: name.isEmpty ? "" : isHostName ? HostName.normalized(name) : nil, kind: kind,
      isInternet: group == 1 || group == 255)
  }

  /// Reads a resource record.
  ///
  /// - Returns: nil if it is not an OPT record.
  private static func record(_ reader: inout ByteReader) throws(ByteReader.Failure) -> Extension? {
    var isRoot = true
    while true {
      let count = Int(try reader.byte())
      if count == 0 { break }
      isRoot = false
      if count >= 0xC0 {
        _ = try reader.byte()
        break
      }
      guard count < 64 else { throw .invalid }
      _ = try reader.bytes(count)
    }
    let kind = try reader.number(bytes: 2)
    // The class, which is the payload size in an OPT record.
    _ = try reader.number(bytes: 2)
    let extended = try reader.number(bytes: 4)
    _ = try reader.vector(lengthBytes: 2)
    guard kind == Kind.opt else { return nil }
    guard isRoot else { throw .invalid }
    return Extension(version: UInt8(extended >> 16 & 255), isDNSSECWanted: extended & 0x8000 != 0)
  }

  // MARK: Writing

  private static func message(
    _ query: UnsafeRawBufferPointer, _ code: Code, _ question: Question? = nil, _ data: [UInt8] = [], kind: Int = 0,
    _ ends: Extension? = nil
  ) -> [UInt8] {
    var bytes: [UInt8] = [query[0], query[1]]
    // Response, with the opcode and RD of the query; authoritative, recursion available.
    bytes.append(0x80 | query[2] & 0x79 | (question == nil ? 0 : 0x04))
    bytes.append(0x80 | code.rawValue & 15)
    for count in [question == nil ? 0 : 1, data.isEmpty ? 0 : 1, 0, ends == nil ? 0 : 1] { bytes += [0, UInt8(count)] }
    if let question { bytes += question.bytes }
    if !data.isEmpty {
      // The name is a pointer to that of the question, which begins after the header.
      bytes += [0xC0, 12, UInt8(kind >> 8), UInt8(kind & 255), 0, 1]
      bytes += withUnsafeBytes(of: timeToLive.bigEndian, Array.init)
      bytes += [UInt8(data.count >> 8), UInt8(data.count & 255)] + data
    }
    if let ends {
      // Root, OPT, payload size, upper part of the code, version 0, flags, no options. "The DO bit of the query MUST be
      // copied in the response" (RFC 3225, 3).
      bytes += [0, 0, UInt8(Kind.opt), UInt8(payloadSize >> 8), UInt8(payloadSize & 255)]
      bytes += [code.rawValue >> 4, 0, ends.isDNSSECWanted ? 0x80 : 0, 0, 0, 0]
    }
    return bytes
  }
}
