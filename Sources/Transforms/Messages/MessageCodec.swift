package import Basics
import Cassettes
package import GRPCSchemas
package import HTTPMessages

/// Converts the messages of a gRPC body to JSON and back, by the schema of the call.
package struct MessageCodec: Sendable {
  /// The maximum size in bytes of a message that is converted.
  package static let messageLimit = 64 << 20

  private let schema: GRPCSchema?
  private let path: String
  private let isRequest: Bool
  /// The value of `grpc-encoding`.
  private let coding: String?
  /// Whether the body is gRPC-Web.
  let isWeb: Bool
  /// Whether the messages are JSON instead of Protocol Buffers.
  private let isJSON: Bool

  /// - Parameters:
  ///   - headers: the header fields of the request or response; the result is nil unless its body consists of gRPC messages.
  ///   - path: the request's path, `/package.Service/Method`; a query is ignored.
  ///   - isRequest: whether the client sends the body.
  ///   - schemas: the known schemas.
  package init?(_ headers: Headers, path: String, isRequest: Bool, schemas: GRPCSchemaSet?) {
    let type = headers["Content-Type"] ?? ""
    guard let framing = GRPCFraming(contentType: type), framing != .webText else { return nil }
    isWeb = framing == .web
    isJSON = type.prefix { $0 != ";" && $0 != " " }.lowercased().hasSuffix("+json")
    self.path = String(path.prefix { $0 != "?" && $0 != "#" })
    self.isRequest = isRequest
    coding = headers["grpc-encoding"]
    schema = isJSON ? nil : schemas?.schema(of: self.path)
  }

  /// Whether messages can be converted.
  package var converts: Bool { isJSON || schema != nil }

  /// Whether messages may be compressed.
  var mayBeCompressed: Bool { coding != nil && coding != "identity" }

  /// The payload of a message without compression.
  ///
  /// - Parameters:
  ///   - message: the message.
  ///   - limit: the maximum size of a payload that was compressed.
  /// - Returns: the payload.
  /// - Throws: an error if the coding is not supported, or the payload does not match it or exceeds the limit.
  package func payload(of message: GRPCMessage, limit: Int = messageLimit) throws -> [UInt8] {
    guard message.isCompressed, coding != "identity" else { return message.payload }
    guard let codings = ContentCodings(header: coding ?? "") else {
      throw CodedError(.broken, "the message coding '\(coding ?? "")' is not supported")
    }
    return try codings.decode(message.payload, limit: limit)
  }

  /// A message as JSON.
  ///
  /// - Parameter payload: the payload without compression.
  /// - Returns: the JSON; nil if the method's schema is not known.
  /// - Throws: ``CodedError`` of kind `broken` if the payload does not fit its type.
  package func json(_ payload: [UInt8]) throws(CodedError) -> GRPCMessageJSON? {
    guard isJSON else { return try schema?.json(payload, of: path, isRequest: isRequest) }
    return GRPCMessageJSON(text: String(decoding: payload, as: UTF8.self), unknownFields: [])
  }

  /// Converts JSON to a payload.
  ///
  /// - Parameter json: the JSON.
  /// - Returns: the payload.
  /// - Throws: ``CodedError`` of kind `broken` if the JSON does not fit the message's type.
  package func payload(fromJSON json: String) throws(CodedError) -> [UInt8] {
    try schema?.bytes(fromJSON: json, of: path, isRequest: isRequest) ?? Array(json.utf8)
  }

  /// A message as the text of its JSON.
  ///
  /// - Parameter frame: the message with its prefix.
  /// - Returns: the text; nil if it is not a message, or does not fit its type.
  package func text(ofFrame frame: [UInt8]) -> [UInt8]? {
    var parser = GRPCMessageParser(limit: Self.messageLimit)
    guard let message = try? parser.parse(frame).first, let json = try? json(payload(of: message)) else { return nil }
    return Array(json.text.utf8)
  }

  /// The messages of a body as JSON, for people.
  ///
  /// A few bytes can be compressed from many, and be long as JSON, so its length is limited: to sixteen times the body's, and
  /// 1 MiB for a short body.
  ///
  /// - Parameter body: the body.
  /// - Returns: the messages, `null` for those that do not fit their type or the limit; empty if the method's schema is not
  ///   known.
  package func values(of body: [UInt8]) -> [JSON] {
    guard converts else { return [] }
    var parser = GRPCMessageParser(limit: .max, isWeb: isWeb)
    guard let messages = try? parser.parse(body) else { return [] }
    let limit = max(1 << 20, 16 * body.count)
    var length = 0
    return messages.filter { !$0.isTrailers }.map { message in
      guard length < limit, let text = try? json(payload(of: message, limit: limit))?.text else { return .null }
      length += text.utf8.count
      return length > limit ? .null : (try? JSON.parse(Array(text.utf8))) ?? .null
    }
  }
}

/// Changes the messages of a gRPC body while it streams. Bytes that are not messages are passed on unchanged.
package struct MessageStream: Sendable {
  private var parser: GRPCMessageParser
  private var isBroken = false
  /// Whether bytes were passed on that are not complete messages.
  package private(set) var hasPassedOther = false

  /// - Parameter codec: the body's codec.
  package init(_ codec: MessageCodec) {
    parser = GRPCMessageParser(limit: MessageCodec.messageLimit, isWeb: codec.isWeb)
  }

  /// Adds the next chunk.
  ///
  /// - Parameters:
  ///   - chunk: the bytes.
  ///   - isLast: whether the body ends with them.
  ///   - change: returns a message in place of another one; nil to keep it.
  /// - Returns: the bytes that can be passed on; may be empty.
  package mutating func push(
    _ chunk: [UInt8], isLast: Bool, change: (GRPCMessage) -> GRPCMessage?
  ) -> [UInt8] {
    guard !isBroken else { return chunk }
    var output: [UInt8] = []
    do throws(CodedError) {
      try parser.parse(chunk) { message in
        output += (message.isTrailers ? message : change(message) ?? message).frame
      }
    } catch {
      isBroken = true
    }
    if isBroken || isLast {
      output += parser.rest
      hasPassedOther = hasPassedOther || isBroken || !parser.rest.isEmpty
    }
    return output
  }
}

/// A gRPC body in the form in which it is compared: each message as JSON, as in gRPC with the content type
/// `application/grpc+json`.
package struct MessagesAsJSON: Sendable {
  package static let contentType = "application/grpc+json"

  private let codec: MessageCodec
  private var stream: MessageStream

  /// - Parameter codec: the body's codec; the result is nil if it does not convert messages.
  package init?(_ codec: MessageCodec?) {
    guard let codec, codec.converts else { return nil }
    self.codec = codec
    stream = MessageStream(codec)
  }

  /// Converts the next bytes. A message that does not fit its type keeps its bytes.
  ///
  /// - Parameters:
  ///   - chunk: the bytes.
  ///   - isLast: whether the body ends with them.
  /// - Returns: the bytes that are complete; may be empty.
  package mutating func push(_ chunk: [UInt8], isLast: Bool = false) -> [UInt8] {
    stream.push(chunk, isLast: isLast) { [codec] message in
      guard let json = try? codec.json(codec.payload(of: message)) else { return nil }
      return GRPCMessage(Array(json.text.utf8))
    }
  }
}
