import Basics
import LaunchContract

/// Something that a conversion between formats cannot preserve, as a line for the user.
package struct Loss: Sendable, Equatable {
  /// The numbers of the affected entries or interactions in the source, in order; empty if it affects the whole file.
  package var places: [Int]
  /// A description such as `response._error is left out`.
  package var text: String

  package init(places: [Int], text: String) {
    self.places = places
    self.text = text
  }

  /// The line for the user.
  ///
  /// - Parameter noun: the singular and plural word for a place.
  /// - Returns: such as `entries 1-3, 7: response._error is left out`.
  package func line(_ noun: (one: String, several: String)) -> String {
    guard let first = places.first else { return text }
    var ranges: [ClosedRange<Int>] = [first...first]
    for place in places.dropFirst() {
      let last = ranges[ranges.count - 1]
      if place == last.upperBound + 1 {
        ranges[ranges.count - 1] = last.lowerBound...place
      } else {
        ranges.append(place...place)
      }
    }
    let words = ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
    return "\(places.count == 1 ? noun.one : noun.several) \(words.joined(separator: ", ")): \(text)"
  }
}

/// Collects losses during a conversion; the same loss of many entries is reported once.
package struct Losses {
  /// Reported by importers for an entry without a time.
  package static let noTime = "it has no time: the recording date is used"

  package init() {}

  private var places: [[Int]] = []
  private var texts: [String] = []
  private var indices: [String: Int] = [:]

  /// Adds a loss.
  ///
  /// - Parameters:
  ///   - text: a description.
  ///   - place: the entry's number; nil if the loss affects the whole file.
  package mutating func add(_ text: String, at place: Int? = nil) {
    let index = indices[text] ?? texts.count
    if index == texts.count {
      indices[text] = index
      texts.append(text)
      places.append([])
    }
    if let place, places[index].last != place { places[index].append(place) }
  }

  /// All losses, in the order in which they were first added.
  package var all: [Loss] {
    zip(places, texts).map { Loss(places: $0, text: $1) }
  }
}

extension String {
  /// The beginning of the text on one line, at most `limit` characters, with control characters replaced.
  package func shortened(_ limit: Int = 80) -> String {
    let head = prefix(limit)
    let line = String(
      String.UnicodeScalarView(head.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? "?" : $0 }))
    return head.endIndex == endIndex ? line : line + "…"
  }
}

/// Collects the members of a HAR that a cassette cannot hold. Members that repeat others (cookies, query, sizes) are
/// not reported.
package struct HARLosses {
  package private(set) var losses = Losses()

  package init() {}

  /// Notes a member of `log` other than `entries`.
  mutating func member(_ key: String, _ value: JSON) {
    guard !["version", "pages"].contains(key), !value.isVoid else {
      let pages = key == "pages" ? value.array?.count ?? 0 : 0
      return pages > 0 ? losses.add("log.pages is left out (\(pages))") : ()
    }
    losses.add("log.\(key.shortened(40)) is left out")
  }

  /// Notes what an entry loses.
  mutating func entry(_ entry: JSON, number: Int, _ outcome: HAR.EntryDecoder.Outcome) {
    switch outcome {
    case .skipped(let reason): return losses.add("\(reason): the entry is left out", at: number)
    case .interaction(let interaction, let isIncomplete):
      self.interaction(interaction, number)
      if isIncomplete { losses.add("the response body was not saved: the replayed body is empty", at: number) }
    }
    let request = entry["request"] ?? .null
    let response = entry["response"] ?? .null
    var entryMembers = Self.entryMembers
    if case .interaction(let interaction, _) = outcome, interaction.asksForWebSocket {
      entryMembers.formUnion(["_resourceType", "_webSocketMessages"])
      for message in entry["_webSocketMessages"]?.array ?? [] where message["type"]?.string == "error" {
        losses.add("a WebSocket's connection broke: this is left out", at: number)
      }
    }
    unknown(in: entry, entryMembers, "", number)
    unknown(in: request, Self.requestMembers, "request.", number)
    unknown(in: request["postData"] ?? .null, Self.postDataMembers, "request.postData.", number)
    unknown(in: response, Self.responseMembers, "response.", number)
    unknown(in: response["content"] ?? .null, Self.contentMembers, "response.content.", number)
    for phase in entry["timings"]?.object ?? [] where phase.key != "wait" && phase.value.double ?? 0 > 0 {
      losses.add("only the sum of timings is kept", at: number)
    }
    if let version = request["httpVersion"]?.string ?? response["httpVersion"]?.string, !version.isEmpty,
      !version.uppercased().hasPrefix("HTTP/1"), version != "unknown"
    {
      losses.add("HTTP version \(version.shortened(20)) is replayed as HTTP/1.1", at: number)
    }
    headers(request["headers"], "request", number)
    headers(response["headers"], "response", number)
    if request["url"]?.string?.contains("#") == true {
      losses.add("the URL's fragment is left out: it is never sent", at: number)
    }
    let postData = request["postData"] ?? .null
    if postData["text"]?.string?.isEmpty != false, postData["params"]?.array?.isEmpty == false {
      losses.add("the request's form was rebuilt from its fields: its bytes may differ", at: number)
    }
  }

  private mutating func interaction(_ interaction: Interaction, _ number: Int) {
    let url = interaction.request.url
    guard RecordedURL(url).origin != nil else {
      return losses.add("the URL '\(url.shortened())' has no valid host: the entry is left out", at: number)
    }
    if url.withoutUserInformation.utf8.count != url.utf8.count {
      losses.add("user and password in the URL are left out", at: number)
    }
    if Instant(interaction.startedAt) == nil { losses.add(Losses.noTime, at: number) }
  }

  private mutating func headers(_ value: JSON?, _ message: String, _ number: Int) {
    for header in value?.array ?? [] {
      let name = header["name"]?.string ?? ""
      if name.hasPrefix(":") {
        losses.add("HTTP/2 and HTTP/3 pseudo headers are left out", at: number)
      } else if name.isEmpty || name.utf8.contains(where: { $0 <= 0x20 || $0 == 0x3A || $0 == 0x7F }) {
        losses.add("\(message) header '\(name.shortened(40))' is not valid and is left out", at: number)
      } else if (header["value"]?.array ?? [header["value"] ?? .null]).contains(where: { $0.isContainer }) {
        losses.add("\(message) header '\(name.shortened(40))' has no text value: it is treated as empty", at: number)
      }
      if header["comment"]?.isVoid == false { losses.add("\(message).headers comments are left out", at: number) }
    }
  }

  private mutating func unknown(in value: JSON, _ known: Set<String>, _ path: String, _ number: Int) {
    for member in value.object ?? [] where !known.contains(member.key) && !member.value.isVoid {
      losses.add("\(path)\(member.key.shortened(40)) is left out", at: number)
    }
  }

  private static let entryMembers: Set = ["startedDateTime", "time", "request", "response", "timings", "_diorama"]
  private static let requestMembers: Set = [
    "method", "url", "httpVersion", "cookies", "headers", "queryString", "postData", "headersSize", "bodySize",
  ]
  private static let postDataMembers: Set = ["mimeType", "text", "params", "encoding", "_file", "_diorama"]
  private static let responseMembers: Set = [
    "status", "statusText", "httpVersion", "cookies", "headers", "content", "redirectURL", "headersSize", "bodySize",
  ]
  private static let contentMembers: Set = [
    "size", "compression", "mimeType", "text", "encoding", "_file", "_isBinary", "_diorama",
  ]
}

extension JSON {
  /// Whether the value is null, an object or an array.
  fileprivate var isContainer: Bool {
    switch self {
    case .null, .object, .array: true
    default: false
    }
  }

  /// Whether the value is null or empty.
  fileprivate var isVoid: Bool {
    switch self {
    case .null: true
    case .string(let text): text.isEmpty
    case .array(let elements): elements.isEmpty
    case .object(let members): members.allSatisfy { $0.value == .null }
    default: false
    }
  }
}
