import Basics
import LaunchContract
@testable import Cassettes

/// The rules of HAR 1.2, member by member: <http://www.softwareishard.com/blog/har-12-spec/>.
///
/// Returns one line for each violation.
struct HARRules {
  private(set) var breaches: [String] = []

  static func breaches(of file: JSON) -> [String] {
    var rules = HARRules()
    rules.log(file["log"] ?? .null)
    if file.object?.count != 1 { rules.breaches.append("there is more than 'log'") }
    return rules.breaches
  }

  private enum Kind {
    case text, number, flag, array, object, timestamp

    func holds(_ value: JSON) -> Bool {
      switch (self, value) {
      case (.text, .string), (.number, .number), (.flag, .bool), (.array, .array), (.object, .object): true
      case (.timestamp, .string(let text)): Instant(text)?.rfc3339 == text
      default: false
      }
    }
  }

  /// Checks an object's members: those that have to be there, those that may, and that there are no others but custom
  /// ones.
  private mutating func check(
    _ value: JSON, _ path: String, required: [(String, Kind)], optional: [(String, Kind)] = []
  ) {
    guard let members = value.object else { return breaches.append("\(path) is not an object") }
    if Set(members.map(\.key)).count != members.count { breaches.append("\(path) has a name twice") }
    for (name, _) in required where value[name] == nil { breaches.append("\(path).\(name) is missing") }
    for member in members where !member.key.hasPrefix("_") {
      guard let kind = (required + optional).first(where: { $0.0 == member.key })?.1 else {
        breaches.append("\(path).\(member.key) is unknown")
        continue
      }
      if !kind.holds(member.value) { breaches.append("\(path).\(member.key) is not \(kind)") }
    }
  }

  private mutating func log(_ log: JSON) {
    check(
      log, "log", required: [("version", .text), ("creator", .object), ("entries", .array)],
      optional: [("browser", .object), ("pages", .array), ("comment", .text)])
    if log["version"]?.string != "1.2" { breaches.append("log.version is not 1.2") }
    check(log["creator"] ?? .null, "log.creator", required: [("name", .text), ("version", .text)])
    for (index, value) in (log["entries"]?.array ?? []).enumerated() { entry(value, "entries[\(index)]") }
  }

  private mutating func entry(_ entry: JSON, _ path: String) {
    check(
      entry, path,
      required: [
        ("startedDateTime", .timestamp), ("time", .number), ("request", .object), ("response", .object),
        ("cache", .object), ("timings", .object),
      ], optional: [("pageref", .text), ("serverIPAddress", .text), ("connection", .text), ("comment", .text)])
    request(entry["request"] ?? .null, path + ".request")
    response(entry["response"] ?? .null, path + ".response")
    let timings = entry["timings"] ?? .null
    check(timings, path + ".timings", required: [("send", .number), ("wait", .number), ("receive", .number)])
    let sum = ["send", "wait", "receive"].compactMap { timings[$0]?.double }.reduce(0, +)
    if sum != entry["time"]?.double { breaches.append("\(path).time is not the sum of its timings") }
  }

  private mutating func request(_ request: JSON, _ path: String) {
    check(
      request, path,
      required: [
        ("method", .text), ("url", .text), ("httpVersion", .text), ("cookies", .array), ("headers", .array),
        ("queryString", .array), ("headersSize", .number), ("bodySize", .number),
      ], optional: [("postData", .object), ("comment", .text)])
    pairs(request["headers"], path + ".headers")
    pairs(request["queryString"], path + ".queryString")
    pairs(request["cookies"], path + ".cookies")
    if request["url"]?.string?.contains("#") == true { breaches.append("\(path).url has a fragment") }
    guard let postData = request["postData"] else { return }
    check(
      postData, path + ".postData", required: [("mimeType", .text)], optional: [("text", .text), ("params", .array)])
    if (postData["text"] == nil) == (postData["params"] == nil) {
      breaches.append("\(path).postData does not have one of text and params")
    }
  }

  private mutating func response(_ response: JSON, _ path: String) {
    check(
      response, path,
      required: [
        ("status", .number), ("statusText", .text), ("httpVersion", .text), ("cookies", .array), ("headers", .array),
        ("content", .object), ("redirectURL", .text), ("headersSize", .number), ("bodySize", .number),
      ], optional: [("comment", .text)])
    pairs(response["headers"], path + ".headers")
    for (index, cookie) in (response["cookies"]?.array ?? []).enumerated() {
      check(
        cookie, "\(path).cookies[\(index)]", required: [("name", .text), ("value", .text)],
        optional: [
          ("path", .text), ("domain", .text), ("expires", .timestamp), ("httpOnly", .flag), ("secure", .flag),
        ])
    }
    check(
      response["content"] ?? .null, path + ".content", required: [("size", .number), ("mimeType", .text)],
      optional: [("compression", .number), ("text", .text), ("encoding", .text), ("comment", .text)])
  }

  private mutating func pairs(_ array: JSON?, _ path: String) {
    for (index, pair) in (array?.array ?? []).enumerated() {
      check(pair, "\(path)[\(index)]", required: [("name", .text), ("value", .text)])
    }
  }
}
