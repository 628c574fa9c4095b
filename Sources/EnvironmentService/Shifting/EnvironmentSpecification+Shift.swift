import Basics
import Transforms
import Cassettes
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import LaunchContract

extension EnvironmentSpecification {
  /// Creates a shifter that moves dates in recorded responses from the recording's time to the clock's start time.
  ///
  /// Used in replay only: live responses stay unchanged, and moved dates are never recorded.
  ///
  /// - Parameters:
  ///   - mode: the environment's mode.
  ///   - recordedAt: when the recording was made, in RFC 3339.
  ///   - clock: the environment's clock at its start.
  /// - Returns: the shifter, or nil if no dates are moved; and a note for the user, if any.
  /// - Throws: a ``CodedError`` of kind `usage` for invalid rules, or in mode `extend`, which would record
  ///   requests that depend on moved dates.
  func dateShifter(
    _ mode: Mode, recordedAt: String?, clock: LaunchContract.Clock
  ) throws(CodedError) -> (shifter: DateShifter?, note: String?) {
    if shift != nil, mode == .extend {
      throw CodedError(
        .usage,
        "\(shiftAdvice) moves dates in replay only; extend would record requests that depend on them; use mode replay"
      )
    }
    // Invalid rules are an error in every mode.
    let rules = try shift?.compiled()
    guard mode == .replay, let (places, signer) = rules, let recorded = recordedAt.flatMap(RFC3339.parse),
      let now = (clock.start ?? clock.provisioned).flatMap(RFC3339.parse)
    else { return (nil, nil) }
    let offset = DateOffset(
      from: recorded, to: now, timeZone: clock.timeZone.flatMap { TimeZone(identifier: $0) } ?? .gmt)
    guard !offset.isZero else {
      let kind = clock.kind.rawValue
      return (
        nil, "dates stay as recorded, since the clock is \(kind) at the recording date; to move them, use clock system"
      )
    }
    return (
      DateShifter(offset, places: places, signer: signer),
      "dates in responses are moved by \(offset.description): recorded \(RFC3339.format(recorded)), replayed "
        + RFC3339.format(now)
    )
  }

  /// The option that moves dates, in the caller's syntax.
  var shiftAdvice: String {
    switch caller {
    case .command: shift?.isEmpty == true ? "--shift-dates" : "dates"
    case .test, .api, .plugin, .pytest, .node: "dates"
    }
  }
}

extension DateOffset {
  /// `2967 days 10:31:02`; negative offsets begin with a minus sign.
  var description: String {
    let all = abs(seconds)
    let time = [all / 3_600 % 24, all / 60 % 60, all % 60].map { ($0 < 10 ? "0" : "") + "\($0)" }.joined(separator: ":")
    let days = all / 86_400
    return (seconds < 0 ? "-" : "") + (days == 0 ? "" : "\(days) \(days == 1 ? "day" : "days") ") + time
  }
}

extension DateShifter {
  /// The app's request with its dates moved back to the recording's time.
  func requestBack(_ request: Request) -> Request {
    let back = reversed
    var moved = request
    moved.target = back.target(request.target)
    moved.headers = back.headers(request.headers)
    if case .bytes(let bytes) = request.body,
      var messages = back.messages(request.headers, path: request.target, isRequest: true)
    {
      moved.body = .bytes(messages.push(bytes) + messages.finish())
      return moved
    }
    if case .bytes(let bytes) = request.body, !bytes.isEmpty,
      let form = Self.form(request.headers["Content-Type"], isFromApp: true, beginning: bytes.first)
    {
      // Matching compares decoded bodies.
      let codings = ContentCodings(of: request.headers)
      if let codings, !codings.isIdentity {
        if let plain = codings.salvage(bytes, limit: Pipeline.matchLimit) {
          let body = back.body(plain, form)
          if body != plain {
            moved.body = .bytes(body)
            moved.headers.remove("Content-Encoding")
          }
        }
      } else {
        moved.body = .bytes(back.body(bytes, form))
      }
    }
    return moved
  }

  /// The form of a body with this media type; nil if it is not text.
  static func form(_ contentType: String?, isFromApp: Bool = false, beginning: UInt8? = nil) -> BodyForm? {
    guard isFromApp ? TextualType.mayComeFromApp(contentType) : TextualType.contains(contentType ?? "") else {
      return nil
    }
    let essence = (contentType ?? "").prefix { $0 != ";" }.lowercased()
    if essence.contains("event-stream") || essence.contains("ndjson") || essence.contains("jsonl") { return .jsonLines }
    switch BodyKind(contentType: contentType) {
    case .json: return .json
    case .form: return .form
    case .multipart: return .multipart(contentType: contentType ?? "")
    case .unsaid(let other):
      let isJSON = beginning == UInt8(ascii: "{") || beginning == UInt8(ascii: "[")
      return isJSON ? .json : other == .form ? .form : .text
    default: return .text
    }
  }

  /// A WebSocket message with its dates moved; binary messages are unchanged.
  func message(_ message: WebSocketMessage) -> WebSocketMessage {
    guard message.kind == .text else { return message }
    let isJSON = message.payload.first == UInt8(ascii: "{") || message.payload.first == UInt8(ascii: "[")
    return WebSocketMessage(.text, body(message.payload, isJSON ? .json : .text))
  }
}
