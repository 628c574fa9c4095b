import LaunchContract

/// What of a HAR no cassette has, member by member. What only repeats other members (cookies, the query, sizes) is no
/// loss.
package struct HARLosses {
  package private(set) var losses = Losses()

  package init() {}

  /// A member of `log` other than its entries.
  mutating func member(_ key: String, _ value: JSON) {
    guard !["version", "pages"].contains(key), !value.isVoid else {
      let pages = key == "pages" ? value.array?.count ?? 0 : 0
      return pages > 0 ? losses.add("log.pages is left out (\(pages))") : ()
    }
    losses.add("log.\(key.shortened(40)) is left out")
  }

  /// An entry and what became of it.
  mutating func entry(_ entry: JSON, number: Int, _ outcome: HAR.EntryDecoder.Outcome) {
    switch outcome {
    case .skipped(let reason): return losses.add("\(reason): the entry is left out", at: number)
    case .interaction(let interaction, let isIncomplete):
      self.interaction(interaction, number)
      if isIncomplete { losses.add("the response's body was not saved: it is replayed with none", at: number) }
    }
    let request = entry["request"] ?? .null
    let response = entry["response"] ?? .null
    unknown(in: entry, Self.entryMembers, "", number)
    unknown(in: request, Self.requestMembers, "request.", number)
    unknown(in: request["postData"] ?? .null, Self.postDataMembers, "request.postData.", number)
    unknown(in: response, Self.responseMembers, "response.", number)
    unknown(in: response["content"] ?? .null, Self.contentMembers, "response.content.", number)
    for phase in entry["timings"]?.object ?? [] where phase.key != "wait" && phase.value.double ?? 0 > 0 {
      losses.add("of timings only their sum is kept", at: number)
    }
    if let version = request["httpVersion"]?.string ?? response["httpVersion"]?.string, !version.isEmpty,
      !version.uppercased().hasPrefix("HTTP/1"), version != "unknown"
    {
      losses.add("HTTP version \(version.shortened(20)): it is replayed over HTTP/1.1", at: number)
    }
    headers(request["headers"], "request", number)
    headers(response["headers"], "response", number)
    if request["url"]?.string?.contains("#") == true {
      losses.add("the URL's fragment is left out, since it is never sent", at: number)
    }
    let postData = request["postData"] ?? .null
    if postData["text"]?.string?.isEmpty != false, postData["params"]?.array?.isEmpty == false {
      losses.add("the request's form was rebuilt from its fields: its bytes may have been others", at: number)
    }
  }

  private mutating func interaction(_ interaction: Interaction, _ number: Int) {
    let url = interaction.request.url
    guard RecordedURL(url).origin != nil else {
      return losses.add("the URL '\(url.shortened())' has no host that can be asked: the entry is left out", at: number)
    }
    if url.withoutUserInformation.utf8.count != url.utf8.count {
      losses.add("user and password in the URL are left out", at: number)
    }
    if HAR.Timestamp(interaction.startedAt) == nil { losses.add(Losses.noTime, at: number) }
  }

  private mutating func headers(_ value: JSON?, _ message: String, _ number: Int) {
    for header in value?.array ?? [] {
      let name = header["name"]?.string ?? ""
      if name.hasPrefix(":") {
        losses.add("the pseudo headers of HTTP/2 and 3 are left out", at: number)
      } else if name.isEmpty || name.utf8.contains(where: { $0 <= 0x20 || $0 == 0x3A || $0 == 0x7F }) {
        losses.add("\(message) header '\(name.shortened(40))' cannot be sent, and is left out", at: number)
      } else if header["value"]?.string == nil {
        losses.add("\(message) header '\(name.shortened(40))' has no text: it is taken as empty", at: number)
      }
      if header["comment"]?.isVoid == false { losses.add("\(message).headers' comments are left out", at: number) }
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
  /// Whether it says nothing: null, an empty text, a list or an object of nothing.
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
