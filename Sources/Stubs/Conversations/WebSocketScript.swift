package import Basics
import Foundation
package import HTTPMessages

/// How a stub answers a WebSocket handshake, and the messages that it sends and expects afterward.
///
/// In mapping files, it is the member `webSocket` of a response. `expect` takes the conditions of `bodyPatterns`:
///
/// ```json
/// {"webSocket": {"protocols": ["chat"], "conversation": [
///   {"send": "Hello"}, {"expect": {"matchesJsonPath": "$.symptom"}}, {"send": {"reply": "Since when?"}, "delayMilliseconds": 500},
///   {"close": 1000}]}}
/// ```
///
/// Without `expect`, any message is accepted, and the test decides how to reply.
package struct WebSocketScript: Sendable {
  package enum Action: Sendable {
    /// A message or a close.
    case send(WebSocketMessage)
    /// A text message.
    case sendText(Template)
    /// Waits for a message from the app. The string is the condition as written.
    case expect(ValueMatcher, String)
    /// Waits for the delay.
    case wait
  }

  package struct Step: Sendable {
    /// In milliseconds.
    package var delay: Double
    package var action: Action
  }

  /// The subprotocols that are accepted; empty for any.
  package private(set) var protocols: [String] = []
  package private(set) var steps: [Step] = []
  /// Whether the script expects messages, so that others are misses.
  package private(set) var isStrict = false

  /// - Parameters:
  ///   - members: the object `webSocket`.
  ///   - isTemplate: whether texts to send are templates.
  /// - Throws: ``CodedError`` that names the member.
  init(_ members: Members, isTemplate: Bool) throws(CodedError) {
    protocols = try members.strings("protocols") ?? []
    for (number, name) in protocols.enumerated() where name.wholeMatch(of: /[!#$%&'*+.^_`|~0-9A-Za-z\-]+/) == nil {
      throw CodedError(
        .broken, "'\(name)' is not a valid subprotocol name (RFC 6455, 4.1)",
        at: "\(members.place).protocols[\(number)]")
    }
    for element in try members.array("conversation") ?? [] {
      if case .send(let last)? = steps.last?.action, last.kind == .close {
        throw CodedError(.broken, "follows the close; remove it, or the 'close' before it", at: element.place)
      }
      let step = try Members(element.json, at: element.place)
      let delay = try step.milliseconds("delayMilliseconds")
      let message = try Self.message(step)
      var action = message.map(Action.send)
      if isTemplate, let message, message.kind == .text {
        action = .sendText(
          try Template(String(decoding: message.payload, as: UTF8.self), name: "\(step.place).send"))
      }
      if let condition = try step.object("expect") {
        guard message == nil else {
          throw step.error("expect", "a message to send is also given; put it in its own element")
        }
        let text = String(decoding: condition.json.encoded(.line), as: UTF8.self)
        action = .expect(try MappingReader.matcher(condition), text.count > 200 ? text.prefix(200) + "…" : text)
        isStrict = true
      }
      try step.end()
      guard action != nil || delay != nil else {
        throw CodedError(.broken, "is empty; add 'send', 'expect', 'delayMilliseconds' or 'close'", at: step.place)
      }
      steps.append(Step(delay: delay ?? 0, action: action ?? .wait))
    }
    try members.end()
  }

  /// Reads the message of an object: `send` with a text or JSON, `sendBase64`, or `close` with a code, or with a code and a
  /// reason.
  ///
  /// - Parameter members: the object; its owner calls `end()`.
  /// - Returns: the message; nil if none is given.
  /// - Throws: ``CodedError`` that names the member.
  package static func message(_ members: Members) throws(CodedError) -> WebSocketMessage? {
    let given = ["send", "sendBase64", "close"].filter { members[$0] != nil }
    if given.count > 1 { throw members.error(given[1], "'\(given[0])' is also given; keep one of them") }
    switch given.first {
    case "send":
      guard let json = members["send"] else { return nil }
      return WebSocketMessage(.text, json.string.map { Array($0.utf8) } ?? json.encoded())
    case "sendBase64":
      guard let data = Data(base64Encoded: try members.string("sendBase64") ?? "") else {
        throw members.error("sendBase64", "not Base64")
      }
      return WebSocketMessage(.binary, Array(data))
    case "close":
      guard members["close"]?.object != nil, let object = try members.object("close") else {
        return .close(try code(members, "close"))
      }
      let (code, reason) = (try code(object, "code"), try object.string("reason") ?? "")
      try object.end()
      guard reason.utf8.count <= 123 else {
        throw object.error("reason", "is longer than the 123 bytes that a close can contain; shorten it")
      }
      return .close(code, reason)
    default: return nil
    }
  }

  private static func code(_ members: Members, _ name: String) throws(CodedError) -> UInt16 {
    let code = try members.int(name, in: 1000...4999) ?? 1000
    guard WebSocketMessage.isSendable(closeCode: code) else {
      throw members.error(name, "\(code) is reserved (RFC 6455, 7.4); use 1000, or one from 3000 to 4999")
    }
    return UInt16(code)
  }
}
