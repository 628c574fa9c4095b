import Basics
import Foundation

/// A format of date-times: the letters of Java's `DateTimeFormatter`, with English names, or `unix` or `epoch`.
struct DateTimeFormat: Sendable {
  private enum Token {
    case literal(String)
    /// `T` or `t`.
    case timeMark
    /// A letter and how often it is repeated.
    case field(Character, Int)
    /// A fraction of any length after a dot.
    case fraction
    case optional([Token])

    /// The width of a number that has no other: `MM` but not `M`.
    var fixedWidth: Int? {
      guard case .field(let letter, let count) = self else { return nil }
      return "yuMdDHhKkmsS".contains(letter) && count > 1 && !("ML".contains(letter) && count > 2) ? count : nil
    }
  }

  private enum Kind {
    case seconds, milliseconds
    /// Whether 30 February is an error and not the end of the month.
    case tokens([Token], isStrict: Bool)
  }

  private let kind: Kind

  /// - Throws: `CodedError` for a letter that is not supported.
  init(_ text: String) throws(CodedError) {
    switch text.lowercased() {
    case "unix": kind = .seconds
    case "epoch": kind = .milliseconds
    default:
      var rest = text[...]
      var depth = 0
      kind = .tokens(try Self.tokens(&rest, of: text, &depth), isStrict: false)
    }
  }

  private init(_ tokens: [Token], isStrict: Bool) {
    kind = .tokens(tokens, isStrict: isStrict)
  }

  private static func tokens(
    _ rest: inout Substring, of text: String, _ depth: inout Int
  ) throws(CodedError) -> [Token] {
    let isInside = depth > 0
    var tokens: [Token] = []
    while let next = rest.popFirst() {
      switch next {
      case "'":
        var literal = ""
        if rest.first == "'" {
          literal = String(rest.removeFirst())
        } else {
          while let character = rest.popFirst() {
            if character != "'" {
              literal.append(character)
            } else if rest.first == "'" {
              literal.append(rest.removeFirst())
            } else {
              break
            }
          }
        }
        tokens.append(.literal(literal))
      case "[":
        depth += 1
        guard depth <= 16 else {
          throw CodedError(.broken, "the date format '\(text.prefix(80))' is nested too deeply")
        }
        tokens.append(.optional(try self.tokens(&rest, of: text, &depth)))
      case "]":
        guard isInside else { throw CodedError(.broken, "the date format '\(text.prefix(80))' has a ']' without '['") }
        depth -= 1
        return tokens
      case "a"..."z", "A"..."Z":
        let run = rest.prefix { $0 == next }
        guard "yuMLdDEaHkhKmsSzVXxZO".contains(next) else {
          throw CodedError(
            .broken,
            "the letter '\(next)' in the date format '\(text.prefix(80))' is not supported; example: dd/MM/yyyy HH:mm")
        }
        rest = rest[run.endIndex...]
        tokens.append(.field(next, 1 + run.count))
      default: tokens.append(.literal(String(next)))
      }
    }
    if isInside { depth -= 1 }
    return tokens
  }

  /// Reads a text in one of the formats that WireMock tries without `actualFormat`.
  static func usual(_ text: String) -> DateTimeValue? {
    for format in usual { if let value = format.value(text) { return value } }
    return nil
  }

  private static let usual: [DateTimeFormat] = {
    let date: [Token] = [.field("u", 4), .literal("-"), .field("M", 2), .literal("-"), .field("d", 2)]
    let seconds: Token = .optional([.literal(":"), .field("s", 2), .optional([.fraction])])
    let time: [Token] = [.timeMark, .field("H", 2), .literal(":"), .field("m", 2), seconds]
    let region: Token = .optional([.literal("["), .field("V", 2), .literal("]")])
    let clock: [Token] = [.field("H", 2), .literal(":"), .field("m", 2), .literal(":"), .field("s", 2)]
    let weekday: [Token] = [.field("E", 3), .literal(" ")]
    func words(_ text: String) -> [Token] { [.literal(text)] }
    let formats: [[Token]] = [
      date + time + [.field("X", 0), region],
      // HTTP dates: RFC 1123, RFC 1036 and asctime. The last has no zone in its text.
      [.optional([.field("E", 3), .literal(", ")]), .field("d", 1), .literal(" "), .field("M", 3), .literal(" ")]
        + [.field("u", 4), .literal(" "), .field("H", 2), .literal(":"), .field("m", 2)]
        + [.optional([.literal(":"), .field("s", 2)]), .literal(" "), .field("O", 0)],
      [.field("E", 4), .literal(", "), .field("d", 2), .literal("-"), .field("M", 3), .literal("-"), .field("u", 2)]
        + [.literal(" ")] + clock + [.literal(" "), .field("z", 3)],
      weekday + [.field("M", 3), .literal(" "), .field("d", 2), .literal(" ")] + clock
        + [.literal(" "), .field("u", 4), .field("O", -1)],
      weekday + [.field("M", 3), .literal("  "), .field("d", 1), .literal(" ")] + clock
        + [.literal(" "), .field("u", 4), .field("O", -1)],
      date + time, date, [.field("u", 4), .literal("-"), .field("M", 2)], [.field("u", 4)],
    ]
    return formats.map { DateTimeFormat($0, isStrict: true) }
  }()

  /// The value of a text; nil if it is in another format.
  func value(_ text: String) -> DateTimeValue? {
    guard case .tokens(let tokens, let isStrict) = kind else {
      guard let number = Int(text), abs(number) < 1 << 50 else { return nil }
      if case .seconds = kind { return DateTimeValue(local: .init(seconds: number, nanoseconds: 0), .offset(0)) }
      let seconds = Int((Double(number) / 1000).rounded(.down))
      return DateTimeValue(
        local: .init(seconds: seconds, nanoseconds: (number - seconds * 1000) * 1_000_000), .offset(0))
    }
    var fields = Fields()
    var rest = text[...]
    guard Self.read(tokens[...], &rest, &fields), rest.isEmpty else { return nil }
    return fields.value(isStrict: isStrict)
  }

  /// Whether a text begins with a value.
  func matchesPrefix(of text: String) -> Bool {
    guard case .tokens(let tokens, _) = kind else { return Int(text) != nil }
    var fields = Fields()
    var rest = text[...]
    return Self.read(tokens[...], &rest, &fields)
  }

  // MARK: Reading

  private struct Fields {
    var year: Int?
    var month: Int?
    var day: Int?
    var dayOfYear: Int?
    /// From 0 for Monday.
    var weekday: Int?
    var hour: Int?
    var isAfternoon: Bool?
    var minute = 0
    var second = 0
    var nanoseconds = 0
    var zone: DateTimeValue.Zone?

    /// The date-time; of a date, month or year its beginning.
    func value(isStrict: Bool) -> DateTimeValue? {
      guard let year else { return nil }
      var days: Int
      if let dayOfYear, month == nil {
        days = RFC3339.daysSince1970(year: year, month: 1, day: 1) + dayOfYear - 1
      } else {
        let (month, day) = (month ?? 1, day ?? 1)
        guard 1...12 ~= month, 1...31 ~= day, self.month != nil || self.day == nil else { return nil }
        let last = RFC3339.daysIn(month: month, year: year)
        guard day <= last || !isStrict else { return nil }
        days = RFC3339.daysSince1970(year: year, month: month, day: min(day, last))
      }
      if let weekday, weekday != ((days + 3) % 7 + 7) % 7 { return nil }
      var hour = hour ?? 0
      if let isAfternoon {
        guard hour <= 12 else { return nil }
        hour = hour % 12 + (isAfternoon ? 12 : 0)
      }
      if hour == 24, minute == 0, second == 0, nanoseconds == 0, !isStrict {
        hour = 0
        days += 1
      }
      guard hour < 24, minute < 60, second < 60 else { return nil }
      // Java's zoned date-times have a time.
      return DateTimeValue(
        local: .init(seconds: days * 86_400 + hour * 3_600 + minute * 60 + second, nanoseconds: nanoseconds),
        self.hour == nil ? nil : zone)
    }
  }

  private static let months = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
  ]
  private static let weekdays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]

  private static func read(_ tokens: ArraySlice<Token>, _ rest: inout Substring, _ fields: inout Fields) -> Bool {
    for (index, token) in zip(tokens.indices, tokens) {
      switch token {
      case .literal(let text):
        guard rest.hasPrefix(text) else { return false }
        rest = rest.dropFirst(text.count)
      case .timeMark:
        guard let mark = rest.popFirst(), mark == "T" || mark == "t" else { return false }
      case .optional(let inner):
        var (innerRest, innerFields) = (rest, fields)
        if read(inner[...], &innerRest, &innerFields) { (rest, fields) = (innerRest, innerFields) }
      case .fraction:
        guard rest.first == "." else { return false }
        let digits = rest.dropFirst().prefix { $0.isASCII && $0.isNumber }
        guard digits.count <= 9 else { return false }
        fields.nanoseconds = Int((digits + "000000000").prefix(9)) ?? 0
        rest = rest[digits.endIndex...]
      case .field(let letter, let count):
        let isAdjacent = index + 1 < tokens.endIndex && tokens[index + 1].fixedWidth != nil
        guard read(letter, count, isAdjacent: isAdjacent, &rest, &fields) else { return false }
      }
    }
    return true
  }

  private static func read(
    _ letter: Character, _ count: Int, isAdjacent: Bool, _ rest: inout Substring, _ fields: inout Fields
  ) -> Bool {
    switch letter {
    case "M" where count > 2, "L" where count > 2:
      guard let index = word(count == 3 ? months.map { $0.prefix(3) } : months.map { $0[...] }, &rest) else {
        return false
      }
      fields.month = index + 1
      return true
    case "E":
      guard let index = word(count < 4 ? weekdays.map { $0.prefix(3) } : weekdays.map { $0[...] }, &rest) else {
        return false
      }
      fields.weekday = index
      return true
    case "a":
      guard let index = word(["AM", "PM", "am", "pm"], &rest) else { return false }
      fields.isAfternoon = index % 2 == 1
      return true
    case "z", "V", "X", "x", "Z", "O":
      fields.zone = zone(letter, count, &rest)
      return fields.zone != nil
    case "S":
      guard let digits = digits(count...count, &rest) else { return false }
      fields.nanoseconds = Int((digits + "000000000").prefix(9)) ?? 0
      return true
    default: break
    }
    let isYear = letter == "y" || letter == "u"
    let most = isAdjacent || count > 1 ? count : isYear ? 9 : letter == "D" ? 3 : 2
    guard let digits = digits(count...max(count, most), &rest), let number = Int(digits) else { return false }
    switch letter {
    case "y", "u": fields.year = count == 2 ? 2000 + number : number
    case "M", "L": fields.month = number
    case "d": fields.day = number
    case "D": fields.dayOfYear = 1...366 ~= number ? number : nil
    case "H": fields.hour = number
    case "k": fields.hour = number % 24
    case "h", "K": fields.hour = number <= 12 ? number : nil
    case "m": fields.minute = number
    default: fields.second = number
    }
    return true
  }

  private static func digits(_ widths: ClosedRange<Int>, _ rest: inout Substring) -> Substring? {
    let digits = rest.prefix(min(widths.upperBound, 18)).prefix { $0.isASCII && $0.isNumber }
    guard digits.count >= widths.lowerBound else { return nil }
    rest = rest[digits.endIndex...]
    return digits
  }

  private static func word(_ words: [Substring], _ rest: inout Substring) -> Int? {
    guard let index = words.firstIndex(where: { rest.hasPrefix($0) }) else { return nil }
    rest = rest.dropFirst(words[index].count)
    return index
  }

  /// Reads a zone: `Z`, an offset, `GMT`, `UTC`, an abbreviation or a name such as `Europe/London`.
  private static func zone(_ letter: Character, _ count: Int, _ rest: inout Substring) -> DateTimeValue.Zone? {
    // ISO 8601 uses X with 0, in which case does not matter. HTTP uses O: with -1 for UTC without any text, with 0 for GMT or
    // an offset.
    if letter == "O", count < 0 { return .offset(0) }
    let name = rest.prefix { $0.isLetter || $0.isNumber || "/_+-:".contains($0) }
    if let first = name.first, first == "+" || first == "-" {
      let pattern = /[+-]([0-9]{2}):?([0-9]{2})?(?::?([0-9]{2}))?/
      guard letter != "V" || count > 0, let match = rest.prefixMatch(of: pattern),
        let hours = Int(match.1), let minutes = Int(match.2 ?? "0"), let seconds = Int(match.3 ?? "0"),
        hours <= 18, minutes < 60, seconds < 60
      else { return nil }
      // Only a colon, or none, as the letters say.
      let hasColon = match.0.contains(":")
      let wantsColon = "Xx".contains(letter) && ![1, 2, 4].contains(count) || letter == "Z" && count == 5
      if "XxZ".contains(letter), match.2 == nil ? letter == "Z" || count > 1 : hasColon != wantsColon { return nil }
      rest = rest[match.range.upperBound...]
      return .offset((first == "-" ? -1 : 1) * (hours * 3_600 + minutes * 60 + seconds))
    }
    if name == "Z" || name == "z" && count == 0 {
      guard letter != "x", letter != "Z" || count == 5 else { return nil }
      rest = rest.dropFirst()
      return .offset(0)
    }
    guard "zVO".contains(letter), !name.isEmpty else { return nil }
    let found: DateTimeValue.Zone
    if ["GMT", "UTC", "UT"].contains(String(name)) {
      found = .offset(0)
    } else if letter != "O", let zone = TimeZone(identifier: String(name)) ?? TimeZone(abbreviation: String(name)) {
      found = .region(zone)
    } else {
      return nil
    }
    rest = rest[name.endIndex...]
    return found
  }
}
