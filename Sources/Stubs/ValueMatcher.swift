package import Basics
package import Cassettes
package import Foundation

/// A condition for one value of a request: a header, a query parameter, a cookie, a body.
///
/// In mapping files it is an object with one member for the condition and, for some conditions, members that modify it:
///
/// ```json
/// {"equalTo": "premium", "caseInsensitive": true}
/// ```
///
/// Names and meaning are WireMock's (wiremock.org/docs/request-matching).
package indirect enum ValueMatcher: Sendable {
  case equalTo(String, ignoresCase: Bool)
  case contains(String)
  case matches(WholePattern)
  case equalToJSON(JSONEquality)
  case matchesJSONPath(JSONPathQuery, ValueMatcher?)
  case matchesJSONSchema(JSONSchema)
  case equalToXML(XMLEquality)
  /// An XPath expression, the namespaces by prefix, and the condition for what it selects.
  case matchesXPath(String, [String: String], ValueMatcher?)
  case binaryEqualTo([UInt8])
  case dateTime(DateTimePattern)
  case absent
  /// Matches any value that is present.
  case present
  /// Matches any value, and none.
  case any
  case and([ValueMatcher])
  case or([ValueMatcher])
  case not(ValueMatcher)

  /// Whether a value matches.
  ///
  /// - Parameters:
  ///   - value: the value; nil if it is absent.
  ///   - context: the time, and the limit for regular expressions.
  /// - Returns: whether it matches.
  /// - Throws: ``CodedError`` if a regular expression, a path or a schema exceeds its limits.
  package func matches(_ value: MatchedValue?, _ context: MatchContext) throws(CodedError) -> Bool {
    switch self {
    case .absent, .any: return self.isAny || value == nil
    case .present: return value != nil
    case .and(let all):
      for matcher in all where !(try matcher.matches(value, context)) { return false }
      return true
    case .or(let all):
      for matcher in all where try matcher.matches(value, context) { return true }
      return false
    case .not(let matcher): return !(try matcher.matches(value, context))
    default: break
    }
    guard let value else { return false }
    switch self {
    case .equalTo(let text, let ignoresCase):
      return ignoresCase ? value.text.equalsIgnoringCase(text) : value.bytes.elementsEqual(text.utf8)
    case .contains(let text): return value.bytes.contains(Array(text.utf8))
    case .matches(let pattern): return try pattern.matches(value.bytes, context)
    case .equalToJSON(let equality):
      guard let json = value.json else { return false }
      return try equality.matches(json)
    case .matchesJSONPath(let query, let matcher):
      guard let json = value.json else { return false }
      return try Self.matches(query, matcher, in: json, context)
    case .matchesJSONSchema(let schema): return try schema.matches(value.text)
    case .equalToXML(let equality):
      return equality.matches(value.bytes)
    case .matchesXPath(let path, let namespaces, let matcher):
      guard let document = value.xml else { return false }
      let found = try document.matches(xpath: path, namespaces: namespaces)
      guard let matcher else { return !found.isEmpty }
      for text in found where try matcher.matches(MatchedValue(text), context) { return true }
      return false
    case .binaryEqualTo(let bytes): return value.bytes == bytes
    case .dateTime(let pattern): return pattern.matches(value.text, now: context.now, timeZone: context.timeZone)
    case .absent, .present, .any, .and, .or, .not: return false
    }
  }

  /// Without a matcher, a path matches if it selects anything but null and empty containers.
  private static func matches(
    _ query: JSONPathQuery, _ matcher: ValueMatcher?, in json: JSON, _ context: MatchContext
  ) throws(CodedError) -> Bool {
    guard let matcher else { return try query.matches(json) }
    guard let found = try query.value(in: json), found != .null, found != .array([]) else {
      if case .absent = matcher { return true }
      return false
    }
    // The result as a whole, or any element of a list.
    if case .equalToJSON(let equality) = matcher { return try equality.matches(found) }
    for node in found.array ?? [found] where try matcher.matches(MatchedValue(node), context) { return true }
    return false
  }

  private var isAny: Bool { if case .any = self { true } else { false } }

  /// How far a value is from matching, from 0 to 1, to list near misses.
  package func distance(_ value: MatchedValue?, _ context: MatchContext) -> Double {
    if (try? matches(value, context)) == true { return 0 }
    guard let value else { return 1 }
    switch self {
    case .equalTo(let text, _): return Self.distance(text, value)
    case .equalToJSON(let equality): return value.json.flatMap { try? equality.distance(to: $0) } ?? 1
    case .equalToXML(let equality): return equality.distance(to: value.bytes)
    case .dateTime(let pattern): return pattern.distance(to: value.text, now: context.now, timeZone: context.timeZone)
    default: return 1
    }
  }

  private static func distance(_ text: String, _ value: MatchedValue) -> Double {
    let (left, right) = (String(text.prefix(200)), String(value.text.prefix(200)))
    let most = max(left.count, right.count)
    return most == 0 ? 0 : min(1, Double(EditDistance.between(left, right)) / Double(most))
  }
}

/// What a condition depends on besides the value.
package struct MatchContext {
  /// The time of the environment's clock.
  package let now: Date
  package let timeZone: TimeZone
  /// The limit for the regular expressions of one request.
  package let budget = PatternBudget()

  package init(now: Date, timeZone: TimeZone) {
    self.now = now
    self.timeZone = timeZone
  }
}

/// A value of a request, parsed at most once, however many stubs look at it.
package final class MatchedValue {
  package let bytes: [UInt8]
  private let knownText: String?
  private var parsedJSON: JSON??
  private var parsedXML: XMLDocument??
  private var knownFingerprint: JSONEquality.Fingerprint??

  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
    knownText = nil
  }

  package init(_ text: String) {
    bytes = Array(text.utf8)
    knownText = text
  }

  /// A value that a JSON path selected, printed as WireMock does: a string as its text, numbers like Java, objects over
  /// several lines.
  init(_ json: JSON) {
    var text = ""
    switch json {
    case .number(let number) where number.contains(where: { ".eE".contains($0) }):
      text = Double(number)?.javaText ?? number
    case .object, .array: json.writeLikeJackson(into: &text)
    default: text = json.text
    }
    knownText = text
    bytes = Array(text.utf8)
    if json.string == nil { parsedJSON = .some(json) }
  }

  package var text: String { knownText ?? String(decoding: bytes, as: UTF8.self) }

  /// The value as JSON; nil if it is not JSON.
  package var json: JSON? {
    if let parsedJSON { return parsedJSON }
    let json = try? JSON.parse(bytes)
    parsedJSON = .some(json)
    return json
  }

  /// The fingerprint of the value as JSON; nil if it is not JSON, or has none.
  var fingerprint: JSONEquality.Fingerprint? {
    if let knownFingerprint { return knownFingerprint }
    let fingerprint = json.flatMap { JSONEquality.Fingerprint($0) }
    knownFingerprint = .some(fingerprint)
    return fingerprint
  }

  /// The value as XML; nil if it is not well-formed.
  package var xml: XMLDocument? {
    if let parsedXML { return parsedXML }
    let document = try? XMLDocument(bytes)
    parsedXML = .some(document)
    return document
  }
}

extension String {
  /// Compares each character by itself in any case, as Java's `equalsIgnoreCase` does.
  fileprivate func equalsIgnoringCase(_ other: String) -> Bool {
    let (left, right) = (unicodeScalars, other.unicodeScalars)
    return left.count == right.count
      && zip(left, right).allSatisfy {
        $0 == $1 || $0.properties.lowercaseMapping == $1.properties.lowercaseMapping
          || $0.properties.uppercaseMapping == $1.properties.uppercaseMapping
      }
  }
}

/// A regular expression that has to match a whole value, as Java's `String.matches` does.
package struct WholePattern: Sendable {
  package let text: String
  private let pattern: Pattern

  package init(_ text: String) throws(CodedError) {
    self.text = text
    // On its own first, so that errors show the expression as it was written. In Java's mode DOTALL a dot matches line
    // breaks, too.
    _ = try Pattern(text)
    pattern = try Pattern("(?s)(?:\(text))", writtenAs: text)
  }

  package func matches(_ bytes: [UInt8], _ context: MatchContext) throws(CodedError) -> Bool {
    do { return try pattern.matchesWhole(bytes, context.budget) } catch {
      throw CodedError(.broken, "\(error)")
    }
  }
}
