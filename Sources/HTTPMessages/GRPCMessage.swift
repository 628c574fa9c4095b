package import Basics

/// A message of a gRPC stream, in length-prefixed framing
/// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, "Length-Prefixed-Message").
package struct GRPCMessage: Sendable, Equatable {
  /// The bytes before a payload: a flag and a length.
  package static let prefixSize = 5

  /// Whether the payload is compressed as the header field `grpc-encoding` says.
  package var isCompressed: Bool
  /// Whether this is the last frame of a gRPC-Web body, which holds trailer fields in the form of HTTP/1
  /// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md).
  package var isTrailers: Bool
  /// The message, or the trailer fields, without the prefix.
  package var payload: [UInt8]

  package init(_ payload: [UInt8], isCompressed: Bool = false, isTrailers: Bool = false) {
    self.payload = payload
    self.isCompressed = isCompressed
    self.isTrailers = isTrailers
  }

  /// Encodes the message. Its payload must be shorter than 4 GiB.
  package var frame: [UInt8] {
    let length = UInt32(payload.count)
    var frame: [UInt8] = []
    frame.reserveCapacity(Self.prefixSize + payload.count)
    frame.append((isCompressed ? 1 : 0) | (isTrailers ? 0x80 : 0))
    for shift in stride(from: 24, through: 0, by: -8) { frame.append(UInt8(truncatingIfNeeded: length >> shift)) }
    return frame + payload
  }
}

/// Splits the bytes of a gRPC body into messages as they arrive.
///
/// ```swift
/// var parser = GRPCMessageParser(limit: 4 << 20)
/// while let bytes = try await pipe.read() {
///   for message in try parser.parse(bytes) { … }
/// }
/// try parser.finish()
/// ```
/// After an error, the rest of the body has no meaning.
package struct GRPCMessageParser: Sendable {
  private let limit: Int
  private let isWeb: Bool
  private var pending: [UInt8] = []
  private var count = 0
  private var hasTrailers = false

  /// - Parameters:
  ///   - limit: the maximum size of a payload in bytes.
  ///   - isWeb: whether the body is gRPC-Web, which may end with trailers.
  package init(limit: Int, isWeb: Bool = false) {
    self.limit = limit
    self.isWeb = isWeb
  }

  /// Takes the next bytes of the body.
  ///
  /// - Parameter bytes: any part of the body, of any size.
  /// - Returns: the messages that are complete with these bytes.
  /// - Throws: ``CodedError`` if the bytes are not gRPC messages or a message exceeds the limit.
  package mutating func parse(_ bytes: [UInt8]) throws(CodedError) -> [GRPCMessage] {
    var messages: [GRPCMessage] = []
    try parse(bytes) { messages.append($0) }
    return messages
  }

  /// Takes the next bytes of the body.
  ///
  /// - Parameters:
  ///   - bytes: any part of the body, of any size.
  ///   - receive: called with each message that is complete with these bytes, also with those before an error.
  /// - Throws: ``CodedError`` if the bytes are not gRPC messages or a message exceeds the limit.
  package mutating func parse(_ bytes: [UInt8], _ receive: (GRPCMessage) -> Void) throws(CodedError) {
    pending += bytes
    var start = 0
    defer { pending.removeFirst(start) }
    while pending.count - start >= GRPCMessage.prefixSize {
      let flags = pending[start]
      guard !hasTrailers else { throw error("bytes follow the trailers, which must be last") }
      guard flags & (isWeb ? 0x7E : 0xFE) == 0 else {
        throw error("the prefix begins with 0x\(String(flags, radix: 16)) instead of the compressed flag, 0 or 1")
      }
      let length = pending[(start + 1)..<(start + 5)].reduce(0) { $0 << 8 | Int($1) }
      guard length <= limit else { throw error("\(length) bytes exceed the limit of \(limit)") }
      let end = start + GRPCMessage.prefixSize + length
      guard pending.count >= end else { break }
      hasTrailers = flags & 0x80 != 0
      receive(
        GRPCMessage(
          Array(pending[(start + GRPCMessage.prefixSize)..<end]), isCompressed: flags & 1 != 0, isTrailers: hasTrailers)
      )
      count += 1
      start = end
    }
  }

  /// The bytes that are not part of a complete message.
  package var rest: [UInt8] { pending }

  /// The body has ended.
  ///
  /// - Throws: ``CodedError`` if it ends within a message.
  package func finish() throws(CodedError) {
    guard !pending.isEmpty else { return }
    throw error("the body ends after \(pending.count) bytes of it")
  }

  private func error(_ problem: String) -> CodedError {
    CodedError(.broken, "\(problem); check that the body is gRPC", at: "gRPC message \(count + 1)")
  }
}

/// Counts the messages of a gRPC body as they arrive, without keeping them.
package struct GRPCMessageCounter: Sendable {
  private var prefix: [UInt8] = []
  /// The bytes that the current payload still lacks.
  private var missing = 0

  package init() {}

  /// Takes the next bytes of the body.
  ///
  /// - Parameter bytes: any part of the body, of any size.
  /// - Returns: the number of messages that are complete with these bytes; nil if they are not gRPC messages.
  package mutating func count(_ bytes: [UInt8]) -> Int? {
    var rest = bytes[...]
    var count = 0
    while !rest.isEmpty {
      if prefix.count < GRPCMessage.prefixSize {
        let part = rest.prefix(GRPCMessage.prefixSize - prefix.count)
        prefix += part
        rest = rest.dropFirst(part.count)
        guard prefix[0] <= 1 else { return nil }
        guard prefix.count == GRPCMessage.prefixSize else { break }
        missing = prefix[1...].reduce(0) { $0 << 8 | Int($1) }
      }
      let part = min(missing, rest.count)
      missing -= part
      rest = rest.dropFirst(part)
      guard missing == 0 else { break }
      count += 1
      prefix = []
    }
    return count
  }
}

/// The framing of a gRPC body, by its content type.
package enum GRPCFraming: Sendable, Equatable {
  /// `application/grpc`: over HTTP/2, with real trailers.
  case grpc
  /// `application/grpc-web`: over any version, with trailers in the body.
  case web
  /// `application/grpc-web-text`: the same in Base64.
  case webText

  /// - Parameter contentType: the value of `Content-Type`; a message format such as `+proto` may follow the name.
  package init?(contentType: String) {
    let type = contentType.prefix { $0 != ";" && $0 != " " && $0 != "\t" }
    switch type.prefix(while: { $0 != "+" }).lowercased() {
    case "application/grpc": self = .grpc
    case "application/grpc-web": self = .web
    case "application/grpc-web-text": self = .webText
    default: return nil
    }
  }
}
