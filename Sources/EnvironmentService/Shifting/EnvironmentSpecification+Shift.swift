import Basics
import Transforms
import Cassettes
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import LaunchContract

extension EnvironmentSpecification {
  /// Moves dates in recorded answers from the recording's time to the clock's time at the start.
  ///
  /// For replay alone: live answers stay as they are, and nothing moved is ever recorded.
  ///
  /// - Parameters:
  ///   - mode: in force.
  ///   - recordedAt: when the recording was made.
  ///   - clock: the environment's at its beginning.
  /// - Returns: the shifter, and a line for the user; nil where nothing is to be moved.
  /// - Throws: a ``CodedError`` of kind `usage` for rules that cannot be used, and where dates are to be moved in a
  ///   mode that records what follows from them.
  func dateShifter(
    _ mode: Mode, recordedAt: String?, clock: LaunchContract.Clock
  ) throws(CodedError) -> (shifter: DateShifter?, note: String?) {
    if shift != nil, mode == .extend {
      throw CodedError(
        .usage,
        "\(shiftAdvice) moves dates in replay alone, and extend would record what follows from moved ones; take mode replay"
      )
    }
    // Broken rules are an error in every mode.
    let rules = try shift?.compiled()
    guard mode == .replay, let (places, signer) = rules, let recorded = recordedAt.flatMap(RFC3339.parse),
      let now = (clock.start ?? clock.provisioned).flatMap(RFC3339.parse)
    else { return (nil, nil) }
    let offset = DateOffset(
      from: recorded, to: now, timeZone: clock.timeZone.flatMap { TimeZone(identifier: $0) } ?? .gmt)
    guard !offset.isZero else {
      let kind = clock.kind.rawValue
      return (
        nil, "dates stay as recorded, since the clock is \(kind) at the recording date; clock system moves them to now"
      )
    }
    return (
      DateShifter(offset, places: places, signer: signer),
      "dates in answers are moved by \(offset.description): recorded \(RFC3339.format(recorded)), replayed "
        + RFC3339.format(now)
    )
  }

  /// How to ask for dates to be moved.
  var shiftAdvice: String {
    switch caller {
    case .command: shift?.isEmpty == true ? "--shift-dates" : "dates"
    case .test, .api: "dates"
    }
  }
}

extension DateOffset {
  /// `2967 days 10:31:02`, with a minus where it goes back.
  var description: String {
    let all = abs(seconds)
    let time = [all / 3_600 % 24, all / 60 % 60, all % 60].map { ($0 < 10 ? "0" : "") + "\($0)" }.joined(separator: ":")
    let days = all / 86_400
    return (seconds < 0 ? "-" : "") + (days == 0 ? "" : "\(days) \(days == 1 ? "day" : "days") ") + time
  }
}

extension DateShifter {
  /// A request of the app's in the recording's time.
  func requestBack(_ request: Request) -> Request {
    let back = reversed
    var moved = request
    moved.target = back.target(request.target)
    moved.headers = back.headers(request.headers)
    if case .bytes(let bytes) = request.body, !bytes.isEmpty,
      let form = Self.form(request.headers["Content-Type"], isFromApp: true, beginning: bytes.first)
    {
      // Decoded, as it is matched.
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

  /// What a body of that type is made of; nil for what is no text.
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

  /// A message of a WebSocket; binary ones stay.
  func message(_ message: WebSocketMessage) -> WebSocketMessage {
    guard message.kind == .text else { return message }
    let isJSON = message.payload.first == UInt8(ascii: "{") || message.payload.first == UInt8(ascii: "[")
    return WebSocketMessage(.text, body(message.payload, isJSON ? .json : .text))
  }
}
