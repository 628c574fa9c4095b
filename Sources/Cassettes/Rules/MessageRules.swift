import EnvironmentConfiguration
import HTTPMessages

/// Compares the messages of a WebSocket by the rules that apply to its handshake, or those of a gRPC call in both directions.
///
/// In a text message, JSON counts by value: one that begins with `{` or `[`, also after the digits and the namespace of
/// a Socket.IO packet (`42/admin,["said",{}]`). Other texts and binary messages count byte by byte. Of the rules,
/// ``MatchingRules/Ignored/json``, ``MatchingRules/Ignored/pattern`` and ``MatchingRules/Compared/body`` apply to texts.
package struct MessageRules: Sendable {
  private let criteria: Criteria
  /// Descriptions of the rules that apply.
  package let titles: [String]

  /// - Parameters:
  ///   - book: the rules; nil for none.
  ///   - upstream: the name of the handshake's upstream.
  ///   - target: the handshake's target.
  ///   - method: the method by which the rules are looked up.
  package init(
    _ book: RuleBook? = nil, upstream: String? = nil, target: String = "/",
    method: String = RecordedRequest.webSocketMethod
  ) {
    let path = CanonicalPath.bytes(ofTarget: target)
    let criteria = book?.criteria(method: method, upstream: upstream, path: path) ?? .plain
    self.criteria = criteria
    titles = book.map { book in criteria.applied.map(book.title) } ?? []
  }

  /// Compares two messages.
  ///
  /// - Parameters:
  ///   - recorded: the recorded message.
  ///   - sent: the app's message.
  ///   - place: the name of the message in descriptions.
  /// - Returns: the differences that count; empty if the messages are equal.
  /// - Throws: an error if a pattern takes too long.
  func differences(
    _ recorded: WebSocketMessage, _ sent: WebSocketMessage, at place: String
  ) throws -> [Difference] {
    guard criteria.body != .none, recorded != sent else { return [] }
    guard recorded.kind == sent.kind else {
      return [Difference(.body, place, recorded: Self.kind(of: recorded), actual: Self.kind(of: sent))]
    }
    return try recorded.payload.withUnsafeBytes { recorded in
      try sent.payload.withUnsafeBytes { actual in
        guard sent.kind == .text else { return BodyDifferences.between(.bytes(recorded), .bytes(actual), at: place) }
        let budget = PatternBudget()
        // The texts before the JSON of two packets are a part of what is compared.
        let (start, other) = (Self.packetStart(of: recorded), Self.packetStart(of: actual))
        let isSame = recorded[..<start].elementsEqual(actual[..<other])
        let one = try content(recorded, from: isSame ? start : 0).reduced(by: criteria, budget)
        let two = try content(actual, from: isSame ? other : 0).reduced(by: criteria, budget)
        return one.isSame(as: two) ? [] : BodyDifferences.between(one, two, at: place)
      }
    }
  }

  private func content(_ bytes: UnsafeRawBufferPointer, from start: Int) -> BodyContent {
    let bytes = UnsafeRawBufferPointer(rebasing: bytes[start...])
    return BodyContent(bytes, type: "", as: criteria.body) ?? .bytes(bytes)
  }

  /// The content of a text message without the beginning of a Socket.IO packet.
  static func content(_ bytes: UnsafeRawBufferPointer, as kind: MatchingRules.BodyKind) -> BodyContent? {
    BodyContent(UnsafeRawBufferPointer(rebasing: bytes[packetStart(of: bytes)...]), type: "", as: kind)
  }

  /// Whether a text message is JSON, or a packet with JSON.
  package static func hasJSON(_ text: UnsafeRawBufferPointer) -> Bool {
    let start = packetStart(of: text)
    return start > 0 || text.first { !BodyHolding.isSpace($0) }.map(BodyHolding.beginsJSON) ?? false
  }

  /// Where the JSON of a Socket.IO packet begins: after the type, the namespace and the number of the acknowledgement.
  /// 0 for any other text.
  private static func packetStart(of text: UnsafeRawBufferPointer) -> Int {
    var index = text.prefix { 0x30...0x39 ~= $0 }.count
    guard index > 0, index < text.count else { return 0 }
    if text[index] == UInt8(ascii: "-") { index += 1 }
    if index < text.count, text[index] == UInt8(ascii: "/") {
      index += text[index...].prefix { $0 != UInt8(ascii: ",") && $0 > 0x20 }.count + 1
    }
    while index < text.count, 0x30...0x39 ~= text[index] { index += 1 }
    return index < text.count && BodyHolding.beginsJSON(text[index]) ? index : 0
  }

  private static func kind(of message: WebSocketMessage) -> String {
    message.kind == .text ? "a text" : "\(Preview.bytes(message.payload.count)) of binary data"
  }
}

extension BodyContent {
  /// Whether both count as the same.
  fileprivate func isSame(as other: BodyContent) -> Bool {
    var (one, two) = (SipHash(), SipHash())
    append(to: &one)
    other.append(to: &two)
    return MatchKey(one.finish()) == MatchKey(two.finish())
  }
}
