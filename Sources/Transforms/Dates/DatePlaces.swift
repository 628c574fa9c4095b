package import Basics
import Cassettes
import LaunchContract

/// Places of values that are dates but cannot be recognized by their format, and places where dates must stay. They are
/// declared by JSON path, header, query item or form field.
package struct DatePlaces: Sendable {
  /// The kind of value at a place.
  package enum Kind: Sendable {
    case epochSeconds
    case epochMilliseconds
    /// A date without a time.
    case day
    /// A value that stays unchanged, including everything in it.
    case kept
  }

  /// A place in JSON.
  struct Place: Sendable {
    let path: JSONPath
    let kind: Kind
  }

  private(set) var json: [Place] = []
  private(set) var headers: [String: Kind] = [:]
  private(set) var query: [String: Kind] = [:]
  private(set) var form: [String: Kind] = [:]

  package init() {}

  /// Adds a place. If a place is added twice, the first kind counts.
  ///
  /// - Parameters:
  ///   - text: `$.expires_at`, `header:X-Expires`, `query:since` or `form:since`.
  ///   - kind: the kind of value at this place.
  /// - Throws: `CodedError` if the place is not valid.
  package mutating func add(_ text: String, _ kind: Kind) throws(CodedError) {
    func set(_ names: inout [String: Kind], _ name: String) { if names[name] == nil { names[name] = kind } }
    switch try MessagePlace(text) {
    case .json(let path): json.append(Place(path: path, kind: kind))
    case .header(let name): set(&headers, name)
    case .query(let name): set(&query, name)
    case .form(let name): set(&form, name)
    }
  }
}

/// Declared dates: seconds or milliseconds since 1970, and days.
enum DeclaredDate {
  /// Moves a declared date: a number, optionally in quotation marks, or a day.
  ///
  /// Returns nil if the value stays unchanged: it is not a date, or is in the first day of 1970, as 0 for "not set" is.
  static func moved(_ text: [UInt8], kind: DatePlaces.Kind, offset: DateOffset) -> [UInt8]? {
    let quote = UInt8(ascii: "\"")
    if text.count > 2, text.first == quote, text.last == quote {
      return moved(Array(text[1..<(text.count - 1)]), kind: kind, offset: offset).map { [quote] + $0 + [quote] }
    }
    switch kind {
    case .kept: return nil
    case .day: return ISODateText.movedDay(text, offset: offset)
    case .epochSeconds: return number(text, distance: offset.seconds, unit: 1)
    case .epochMilliseconds: return number(text, distance: offset.seconds * 1000, unit: 1000)
    }
  }

  private static func number(_ text: [UInt8], distance: Int, unit: Int) -> [UInt8]? {
    let digits = text.prefix { $0 &- 0x30 < 10 }
    guard 1...16 ~= digits.count, let number = Int(String(decoding: digits, as: UTF8.self)) else { return nil }
    let rest = text[digits.count...]
    // A fraction stays. A number with an exponent is not moved.
    guard rest.isEmpty || (rest.first == UInt8(ascii: ".") && rest.dropFirst().allSatisfy { $0 &- 0x30 < 10 }),
      number >= 86_400 * unit, number + distance >= 86_400 * unit
    else { return nil }
    return Array("\(number + distance)".utf8) + rest
  }
}
