import Basics
import Cassettes
import Foundation
import HTTPMessages
import LaunchContract

/// Imports cassettes of Vinyl (an array of tracks) and DVR (an object with interactions), both in JSON.
///
/// The encoding of a body depends on `Content-Type` (case-sensitive): `text/…` is a string, `application/json…` is
/// JSON, and anything else is Base64. Without a type, Vinyl expects a string in UTF-8, and DVR expects Base64. Both
/// tools store decoded bodies, and only the last of several header fields with the same name.
struct VinylImport {
  let format: ImportFormat
  let name: String
  private var losses = Losses()

  init(format: ImportFormat, name: String) {
    self.format = format
    self.name = name
  }

  mutating func read(_ file: JSON) throws(CodedError) -> ForeignCassette {
    let tracks: [JSON]
    if format == .vinyl {
      guard let array = file.array else { throw wrong("it is no Vinyl cassette, which is an array of tracks") }
      tracks = array
    } else {
      guard let array = file["interactions"]?.array else {
        throw wrong("it is no DVR cassette, which has an array 'interactions'")
      }
      tracks = array
      unknown(in: file, but: ["interactions"], "", at: nil)
    }
    var interactions: [Interaction] = []
    var places: [Int] = []
    for (index, track) in tracks.enumerated() {
      guard let exchange = try exchange(track, at: index + 1),
        let interaction = exchange.interaction(at: index + 1, &losses)
      else { continue }
      interactions.append(interaction)
      places.append(index + 1)
    }
    if format == .dvr { noteOrder(of: interactions, places) }
    return ForeignCassette(format: format, header: CassetteHeader(), interactions: interactions, losses: losses.all)
  }

  private mutating func exchange(_ track: JSON, at place: Int) throws(CodedError) -> ForeignInteraction? {
    guard track.object != nil else { throw wrong("it is not an object", at: place) }
    guard let response = track["response"], response.object != nil else {
      throw wrong("response is missing", at: place)
    }
    unknown(in: track, but: ["request", "response"] + (format == .dvr ? ["recorded_at"] : []), "", at: place)
    guard let status = response["status"], status != .null else {
      let what = response["error"] != nil || response.object?.isEmpty == true ? "a saved error" : "it has no status"
      losses.add("\(what): the entry is left out", at: place)
      return nil
    }
    guard let status = status.int else { throw wrong("response.status is not a whole number", at: place) }
    let request = track["request"] ?? .null
    guard let url = request["url"]?.string ?? response["url"]?.string else {
      throw wrong("request.url is missing", at: place)
    }
    if let final = response["url"]?.string, final != url {
      losses.add(
        "response.url differs from request.url: of redirects on the way only the last answer was saved", at: place)
    }
    unknown(in: request, but: ["url", "method", "headers", "body"], "request.", at: place)
    unknown(in: response, but: ["url", "status", "headers", "body"], "response.", at: place)
    var exchange = ForeignInteraction(method: request["method"]?.string ?? "GET", url: url, status: status)
    exchange.requestHeaders = headers(request["headers"], "request", at: place)
    exchange.requestBody = body(request["body"], exchange.requestHeaders, "request", at: place)
    exchange.responseHeaders = headers(response["headers"], "response", at: place)
    exchange.responseBody = body(response["body"], exchange.responseHeaders, "response", at: place)
    exchange.isDecoded = true
    exchange.startedAt = track["recorded_at"]?.double.flatMap { seconds in
      // The years 0000 to 9999.
      -62_167_219_200..<253_402_300_800 ~= seconds ? RFC3339.format(Date(timeIntervalSince1970: seconds)) : nil
    }
    if exchange.requestBody.isEmpty, ["POST", "PUT", "PATCH"].contains(exchange.method), format == .vinyl {
      losses.add(
        "no request body was saved: the request is matched with an empty one, while Vinyl compares none", at: place)
    }
    return exchange
  }

  private mutating func headers(_ value: JSON?, _ message: String, at place: Int) -> [Headers.Field] {
    (value?.object ?? []).compactMap { member in
      switch member.value {
      case .string(let text), .number(let text): return Headers.Field(member.key, text)
      case .bool(let value): return Headers.Field(member.key, "\(value)")
      default:
        losses.add("\(message) header '\(member.key.shortened(40))' has no text and is left out", at: place)
        return nil
      }
    }
  }

  private mutating func body(
    _ value: JSON?, _ headers: [Headers.Field], _ message: String, at place: Int
  ) -> [UInt8] {
    guard let value, value != .null else { return [] }
    // A value that is not a string must be JSON, whatever its type is (`application/vnd.api+json`).
    guard let text = value.string else { return value.encoded(.compact) }
    // Case-sensitive on purpose: both tools only find the field in this spelling.
    let type = headers.first { $0.name == "Content-Type" }?.value
    let isBase64 =
      type.map { !$0.hasPrefix("text/") && !$0.hasPrefix("application/json") } ?? (format == .dvr)
    guard isBase64 else { return Array(text.utf8) }
    if let bytes = Base64.decode(text) { return bytes }
    losses.add(
      "\(message).body is not Base64, as its type (\(type?.shortened(40) ?? "none")) demands: taken as text", at: place)
    return Array(text.utf8)
  }

  /// Notes repeated requests: DVR replays the last of several interactions of a request, Diorama replays them in order.
  private mutating func noteOrder(of interactions: [Interaction], _ places: [Int]) {
    var last: [String: Int] = [:]
    func request(_ interaction: Interaction) -> String {
      "\(interaction.request.method) \(interaction.request.url) \(interaction.request.body)"
    }
    for (index, interaction) in interactions.enumerated() { last[request(interaction)] = index }
    for (index, interaction) in interactions.enumerated() where last[request(interaction)] != index {
      losses.add(
        "the same request occurs again later: DVR plays the last alone, Diorama each in its turn", at: places[index])
    }
  }

  private mutating func unknown(in value: JSON, but known: [String], _ path: String, at place: Int?) {
    for member in value.object ?? [] where !known.contains(member.key) {
      losses.add("\(path)\(member.key.shortened(40)) is left out", at: place)
    }
  }

  private func wrong(_ problem: String, at place: Int? = nil) -> CodedError {
    CodedError(name: name, entry: place, problem: problem, advice: "fix the file, or re-record it")
  }
}
