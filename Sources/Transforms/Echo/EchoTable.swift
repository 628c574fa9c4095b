import Basics
package import Cassettes
package import HTTPMessages

/// Values of an app's requests, to be put into recorded answers in place of the recorded values.
///
/// A value is replaced in an answer
///
/// - at its own place, however short it is: a JSON value that the rule's path selects in the answer, too; for a query
///   item, a form field or a header, a member, a query item of a URL, or a header of the same name;
/// - if it has at least ``meaningful`` bytes, anywhere: a whole JSON value, a whole header, or a whole word of a text.
///
/// A word ends at any character but letters, digits, `-`, `.`, `_`, `~` and `%`; each part of one with dots is a word, too. The value of `name=value` counts as a whole, up to white space or one of `"'<>&?#;,(){}[]|\` and the backtick.
/// Values are found percent-encoded, and written that way in a URL.
///
/// The app's value is not trusted: it is escaped for JSON, URLs and markup, and a value with control characters is only
/// written where it can be escaped.
package struct EchoTable: Sendable {
  /// The minimum length in bytes of a value that is found anywhere.
  package static let meaningful = 8
  /// The maximum number of replacements in one answer.
  static let mostReplacements = 10_000
  /// The maximum number of keys. The oldest are removed.
  private static let mostKeys = 10_000
  /// The maximum number of paths to follow in an answer.
  private static let mostPaths = 64

  /// What a recorded value is looked up by, with its text.
  enum Key: Hashable {
    case anywhere([UInt8])
    /// The index of the path that selects it.
    case path(Int, [UInt8])
    case item(name: [UInt8], [UInt8])
    /// The name in lower case.
    case field(name: String, [UInt8])
  }

  /// A value to write.
  struct Entry: Sendable {
    let sent: JSON
    let place: EchoPlace

    /// The text of the string or number.
    var text: [UInt8] { Array((sent.scalarText ?? "").utf8) }
  }

  private var entries: [Key: Entry] = [:]
  /// The keys from the oldest to the newest, from `oldest` on.
  private var keys: [Key] = []
  private var oldest = 0
  /// The paths that select values in an answer.
  private(set) var paths: [JSONPath] = []
  private var pathNumbers: [String: Int] = [:]
  /// The minimum length in bytes of a run that may contain a value.
  private(set) var shortest = Int.max
  /// Signs tokens in which a value is replaced; nil if tokens stay as they are.
  let signer: TokenSigner?

  package init(_ values: [EchoedValue] = [], signer: TokenSigner? = nil) {
    self.signer = signer
    for value in values { add(value) }
  }

  /// Whether there is nothing to replace.
  package var isEmpty: Bool { entries.isEmpty }

  /// Adds a value, in place of an earlier one with the same recorded value at the same place.
  package mutating func add(_ value: EchoedValue) {
    guard let text = value.recorded.scalarText.map({ Array($0.utf8) }), !text.isEmpty else { return }
    let entry = value.recorded == value.sent ? nil : Entry(sent: value.sent, place: value.place)
    if text.count >= Self.meaningful, !RedactionMark.isMark(text) { set(.anywhere(text), entry, text.count) }
    let name = value.name ?? ""
    if value.place.kind == .headers { return set(.field(name: name.lowercased(), text), entry, text.count) }
    if let number = number(of: value.path ?? Self.path(anywhere: name)) { set(.path(number, text), entry, text.count) }
    if !name.isEmpty { set(.item(name: Array(name.utf8), text), entry, name.utf8.count + 1 + text.count) }
  }

  private mutating func set(_ key: Key, _ entry: Entry?, _ length: Int) {
    guard let entry else {
      guard entries.removeValue(forKey: key) != nil else { return }
      // Listed twice after it is added again, it would be removed too early.
      if let index = keys[oldest...].firstIndex(of: key) { keys.remove(at: index) }
      return
    }
    shortest = min(shortest, length)
    guard entries.updateValue(entry, forKey: key) == nil else { return }
    keys.append(key)
    guard keys.count - oldest > Self.mostKeys else { return }
    entries[keys[oldest]] = nil
    oldest += 1
    if oldest > Self.mostKeys {
      keys.removeFirst(oldest)
      oldest = 0
    }
  }

  /// The index of a path to follow; nil if there are too many, or a stream cannot follow it.
  private mutating func number(of path: JSONPath?) -> Int? {
    guard let path, !path.countsFromEnd else { return nil }
    if let number = pathNumbers[path.description] { return number }
    guard paths.count < Self.mostPaths else { return nil }
    paths.append(path)
    pathNumbers[path.description] = paths.count - 1
    return paths.count - 1
  }

  /// The path of the members of a name.
  private static func path(anywhere name: String) -> JSONPath? {
    var quoted: [UInt8] = []
    JSON.encode(name, into: &quoted)
    return name.isEmpty ? nil : try? JSONPath("$..[\(String(decoding: quoted, as: UTF8.self))]")
  }

  subscript(_ key: Key) -> Entry? { entries[key] }
}

/// What was found in an answer.
package struct EchoFindings: Sendable {
  /// The places of the values that were replaced.
  package private(set) var places: Set<EchoPlace> = []
  /// The places of values in tokens for which there is no key.
  package private(set) var unsigned: Set<EchoPlace> = []
  private var replacements = 0

  package init() {}

  /// Notes a replacement; false if there were too many.
  mutating func note(_ place: EchoPlace) -> Bool {
    replacements += 1
    guard replacements <= EchoTable.mostReplacements else { return false }
    places.insert(place)
    return true
  }

  /// Adds what was found elsewhere.
  package mutating func add(_ other: EchoFindings) {
    places.formUnion(other.places)
    unsigned.formUnion(other.unsigned)
  }

  mutating func noteUnsigned(_ others: Set<EchoPlace>) { unsigned.formUnion(others) }
}

extension EchoTable {
  /// Fields that frame a response.
  private static let framing: Set<String> = [
    "content-length", "transfer-encoding", "content-encoding", "connection", "upgrade", "trailer",
  ]
  /// The maximum length in bytes of a field after its values were replaced.
  private static let longestField = 32 << 10

  /// Replaces the values in header fields.
  package func headers(_ headers: Headers, _ found: inout EchoFindings) -> Headers {
    var result = headers
    for number in headers.fields.indices {
      let field = headers.fields[number]
      let name = field.name.lowercased()
      guard !Self.framing.contains(name) else { continue }
      let value = Array(field.value.utf8)
      var changed: [UInt8]?
      if let entry = self[.field(name: name, value)] ?? self[.anywhere(value)],
        let text = Spelling.plain.write(entry.text),
        found.note(entry.place)
      {
        changed = text
      } else {
        changed = value.withUnsafeBufferPointer { replaced(in: $0, .plain, &found) }
      }
      guard let changed, changed.count <= Self.longestField else { continue }
      let written = Headers.Field(field.name, String(decoding: changed, as: UTF8.self))
      if written.isSendable { result.fields[number] = written }
    }
    return result
  }

  /// Replaces the values in a text message of a WebSocket; binary messages stay.
  package func message(_ message: WebSocketMessage, _ found: inout EchoFindings) -> WebSocketMessage {
    guard message.kind == .text else { return message }
    let isJSON = message.payload.withUnsafeBytes { MessageRules.hasJSON($0) }
    var stream = EchoStream(self, isJSON ? .json : .text(.plain))
    let payload = stream.push(message.payload, isLast: true)
    found.add(stream.found)
    return WebSocketMessage(.text, payload)
  }
}
