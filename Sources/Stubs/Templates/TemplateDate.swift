import Basics
import Foundation

/// An instant in a template, with the format and the time zone in which it prints: WireMock's `RenderableDate`.
package struct TemplateDate: Sendable {
  /// Since 1970.
  package var milliseconds: Int
  /// A pattern of Java's `SimpleDateFormat`, `epoch` or `unix`; nil for ISO 8601.
  var format: JavaDatePattern?
  /// The time zone given for it.
  var zone: TimeZone?
  /// The time zone if none is given.
  var defaultZone: TimeZone

  init(_ milliseconds: Int, format: JavaDatePattern? = nil, zone: TimeZone? = nil, defaultZone: TimeZone) {
    self.milliseconds = milliseconds
    self.format = format
    self.zone = zone
    self.defaultZone = defaultZone
  }

  var text: String {
    switch format?.text {
    case "epoch": String(milliseconds)
    case "unix": String(milliseconds / 1000)
    case nil: JavaDatePattern.iso.text(milliseconds, in: zone ?? .gmt)
    default: format?.text(milliseconds, in: zone ?? defaultZone) ?? ""
    }
  }
}

/// Fields of the calendar in a time zone.
struct JavaDateFields {
  var year = 1970
  var month = 1
  var day = 1
  var hour = 0
  var minute = 0
  var second = 0
  var millisecond = 0
  /// East of Greenwich, in seconds.
  var offset = 0

  /// The range of years, in which no calculation overflows.
  static let lastYear = 200_000

  init() {}

  init(_ milliseconds: Int, in zone: TimeZone) {
    offset = zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(milliseconds) / 1000))
    let local = milliseconds + offset * 1000
    let days = local.flooredDividing(by: 86_400_000)
    (year, month, day) = RFC3339.civil(daysSince1970: days)
    let rest = local - days * 86_400_000
    (hour, minute, second, millisecond) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60, rest % 1000)
  }

  var daysSince1970: Int { RFC3339.daysSince1970(year: year, month: month, day: day) }

  /// From 0, Sunday; 1970-01-01 was a Thursday.
  var weekday: Int { (daysSince1970 + 4).flooredRemainder(by: 7) }

  /// The instant if the fields are in UTC plus the offset.
  var milliseconds: Int {
    (daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second - offset) * 1000 + millisecond
  }

  /// The instant if the fields are the local time of a time zone.
  func milliseconds(in zone: TimeZone) -> Int {
    var fields = self
    fields.offset = 0
    let wall = fields.milliseconds
    // In a gap or an overlap, the offset before the change applies, as in java.time.
    let before = zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(wall) / 1000 - 86_400))
    let after = zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(wall) / 1000 + 86_400))
    for offset in [before, after] {
      let instant = wall - offset * 1000
      if zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(instant) / 1000)) == offset { return instant }
    }
    return wall - before * 1000
  }

  /// Adds months; a day that the month does not have becomes its last.
  mutating func add(months: Int) {
    let total = year * 12 + month - 1 + months
    year = total.flooredDividing(by: 12)
    month = total - year * 12 + 1
    day = min(day, RFC3339.daysIn(month: month, year: year))
  }
}

/// A date pattern of Java, such as `yyyy-MM-dd'T'HH:mm`, in English.
struct JavaDatePattern: Sendable {
  private enum Item: Sendable {
    case literal(String)
    case field(Character, count: Int)
  }

  static let iso = JavaDatePattern(
    text: "iso",
    items: [
      .field("y", count: 4), .literal("-"), .field("M", count: 2), .literal("-"), .field("d", count: 2), .literal("T"),
      .field("H", count: 2), .literal(":"), .field("m", count: 2), .literal(":"), .field("s", count: 2),
      .field("X", count: 3),
    ])

  private static let months = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
  ]
  private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]

  let text: String
  private let items: [Item]

  /// `epoch` or `unix`, which stand for a number.
  static func number(_ name: String) -> JavaDatePattern { JavaDatePattern(text: name, items: []) }

  private init(text: String, items: [Item]) {
    self.text = text
    self.items = items
  }

  /// - Throws: `CodedError` for an unknown letter or a quote that is not closed.
  init(_ text: String, isJavaTime: Bool = false) throws(CodedError) {
    var items: [Item] = []
    func append(_ character: Character) {
      if case .literal(let before) = items.last {
        items[items.count - 1] = .literal(before + String(character))
      } else {
        items.append(.literal(String(character)))
      }
    }
    var rest = text[...]
    while let first = rest.popFirst() {
      if first == "'" {
        if rest.first == "'" {
          append("'")
          rest.removeFirst()
          continue
        }
        while true {
          guard let next = rest.popFirst() else {
            throw CodedError(.broken, "'\(text)' has a quote that is not closed")
          }
          if next == "'" {
            guard rest.first == "'" else { break }
            rest.removeFirst()
          }
          append(next)
        }
      } else if first.isASCII, first.isLetter {
        let count = 1 + rest.prefix { $0 == first }.count
        rest = rest.dropFirst(count - 1)
        guard (isJavaTime ? "GyuMLdDEeaHkKhmsSnzVZXx" : "GyYMLdDEuwWFaHkKhmsSzZX").contains(first), count <= 20 else {
          throw CodedError(.broken, "'\(text)' has the unknown letter '\(first)'; put literal text in single quotes")
        }
        items.append(.field(first, count: count))
      } else if isJavaTime, first == "[" || first == "]" {
        continue
      } else {
        append(first)
      }
    }
    self.init(text: text, items: items)
  }

  // MARK: Formatting

  /// Formats an instant. With `isJavaTime`, letters mean what they do in `DateTimeFormatter`, not in `SimpleDateFormat`.
  func text(_ milliseconds: Int, in zone: TimeZone, isJavaTime: Bool = false) -> String {
    let fields = JavaDateFields(milliseconds, in: zone)
    let dayOfYear = fields.daysSince1970 - RFC3339.daysSince1970(year: fields.year, month: 1, day: 1) + 1
    let weekday = fields.weekday
    var output = ""
    for item in items {
      switch item {
      case .literal(let text): output += text
      case .field(let letter, let count):
        func pad(_ value: Int, _ width: Int = count) -> String {
          let digits = String(value)
          return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        let year = fields.year > 0 ? fields.year : 1 - fields.year
        let piece: String =
          switch letter {
          case "G": fields.year > 0 ? "AD" : "BC"
          case _ where letter == "y" || letter == "u" && isJavaTime:
            count == 2 ? pad(year % 100) : pad(letter == "y" ? year : fields.year)
          case "Y":
            count == 2 ? pad(weekYear(fields, dayOfYear, weekday) % 100) : pad(weekYear(fields, dayOfYear, weekday))
          case "M", "L":
            count > 3
              ? Self.months[fields.month - 1]
              : count == 3 ? String(Self.months[fields.month - 1].prefix(3)) : pad(fields.month)
          case "d": pad(fields.day)
          case "D": pad(dayOfYear)
          case "E", "e": count > 3 ? Self.weekdays[weekday] : String(Self.weekdays[weekday].prefix(3))
          case "u": pad(weekday == 0 ? 7 : weekday)
          case "w": pad(week(fields, dayOfYear, weekday))
          case "W": pad((fields.day - 1 + (weekday - fields.day + 1).flooredRemainder(by: 7)) / 7 + 1)
          case "F": pad((fields.day - 1) / 7 + 1)
          case "a": fields.hour < 12 ? "AM" : "PM"
          case "H": pad(fields.hour)
          case "k": pad(fields.hour == 0 ? 24 : fields.hour)
          case "K": pad(fields.hour % 12)
          case "h": pad(fields.hour % 12 == 0 ? 12 : fields.hour % 12)
          case "m": pad(fields.minute)
          case "s": pad(fields.second)
          case "S" where isJavaTime:
            String((pad(fields.millisecond, 3) + String(repeating: "0", count: 20)).prefix(count))
          case "S": pad(fields.millisecond)
          case "n": pad(fields.millisecond * 1_000_000)
          case "z": zone.javaName(milliseconds, isLong: count > 3)
          case "V": zone.javaIdentifier
          case "Z": offset(fields.offset, hasColon: false, hasMinutes: true)
          case "X" where fields.offset == 0: "Z"
          default:
            offset(
              fields.offset, hasColon: count == 3, hasMinutes: count > 1 || isJavaTime && fields.offset % 3600 != 0)
          }
        output += piece
      }
    }
    return output
  }

  private func offset(_ seconds: Int, hasColon: Bool, hasMinutes: Bool) -> String {
    let minutes = abs(seconds) / 60
    let two = { (value: Int) in (value < 10 ? "0" : "") + String(value) }
    return (seconds < 0 ? "-" : "+") + two(minutes / 60) + (hasMinutes ? (hasColon ? ":" : "") + two(minutes % 60) : "")
  }

  /// The week of the year in the USA: weeks begin on Sunday, and the first one contains 1 January.
  private func week(_ fields: JavaDateFields, _ dayOfYear: Int, _ weekday: Int) -> Int {
    if weekYear(fields, dayOfYear, weekday) != fields.year { return 1 }
    return (dayOfYear - 1 + (weekday - dayOfYear + 1).flooredRemainder(by: 7)) / 7 + 1
  }

  private func weekYear(_ fields: JavaDateFields, _ dayOfYear: Int, _ weekday: Int) -> Int {
    fields.month == 12 && fields.day + 6 - weekday > 31 ? fields.year + 1 : fields.year
  }

  // MARK: Parsing

  /// Reads a date; nil if it does not match. What the pattern lacks is the beginning of the year, the month or the day.
  ///
  /// - Returns: the instant, and the time zone if the pattern has one.
  func parse(_ input: String) -> (milliseconds: Int, zone: TimeZone?)? {
    var fields = JavaDateFields()
    var zone: TimeZone?
    var isAfternoon: Bool?
    var twelveHour: Int?
    var weekday: Int?
    var hasYear = false
    var rest = input[...]
    func number(_ least: Int, _ most: Int) -> Int? {
      let isNegative = rest.first == "-" && least == most && most > 4
      let digits = rest.dropFirst(isNegative ? 1 : 0).prefix(most).prefix { $0.isASCII && $0.isNumber }
      guard digits.count >= least, let value = Int(digits) else { return nil }
      rest = rest[digits.endIndex...]
      return isNegative ? -value : value
    }
    func name(_ names: [String]) -> Int? {
      guard let index = names.firstIndex(where: { rest.hasPrefix($0) }) else { return nil }
      rest = rest.dropFirst(names[index].count)
      return index
    }
    for (index, item) in items.enumerated() {
      switch item {
      case .literal(let text):
        guard rest.hasPrefix(text) else { return nil }
        rest = rest.dropFirst(text.count)
      case .field(let letter, let count):
        // A number without padding ends where digits end, except before another number.
        let isFollowed =
          index + 1 < items.count
          && { if case .field(let next, _) = items[index + 1] { "yMdHhmsSkK".contains(next) } else { false } }()
        let most = count > 1 || isFollowed ? count : 19
        switch letter {
        case "y", "u":
          guard let value = count == 2 ? number(2, 2) : number(count, isFollowed ? count : max(count, 9)) else {
            return nil
          }
          fields.year = count == 2 ? 2000 + value : value
          hasYear = true
        case "M" where count > 2, "L" where count > 2:
          guard let value = name(count == 3 ? Self.months.map { String($0.prefix(3)) } : Self.months) else {
            return nil
          }
          fields.month = value + 1
        case "M", "L":
          guard let value = number(count, most), 1...12 ~= value else { return nil }
          fields.month = value
        case "d":
          guard let value = number(count, most), 1...31 ~= value else { return nil }
          fields.day = value
        case "H":
          guard let value = number(count, most), 0...23 ~= value else { return nil }
          fields.hour = value
        case "k":
          guard let value = number(count, most), 1...24 ~= value else { return nil }
          fields.hour = value % 24
        case "h", "K":
          guard let value = number(count, most), letter == "h" ? 1...12 ~= value : 0...11 ~= value else { return nil }
          twelveHour = value % 12
        case "m":
          guard let value = number(count, most), 0...59 ~= value else { return nil }
          fields.minute = value
        case "s":
          guard let value = number(count, most), 0...59 ~= value else { return nil }
          fields.second = value
        case "S":
          let start = rest.startIndex
          guard number(count, count) != nil else { return nil }
          fields.millisecond = Int((String(input[start..<rest.startIndex]) + "00").prefix(3)) ?? 0
        case "a":
          guard let value = name(["AM", "PM"]) else { return nil }
          isAfternoon = value == 1
        case "E":
          weekday = name(count > 3 ? Self.weekdays : Self.weekdays.map { String($0.prefix(3)) })
          guard weekday != nil else { return nil }
        case "z", "V", "Z", "X", "x":
          let text = rest.prefix { !" ])".contains($0) }
          guard letter != "Z" || text != "Z", let parsed = TimeZone(java: String(text)) else { return nil }
          zone = parsed
          rest = rest.dropFirst(text.count)
        default: return nil
        }
      }
    }
    guard rest.isEmpty, hasYear, abs(fields.year) <= JavaDateFields.lastYear else { return nil }
    if let twelveHour {
      guard let isAfternoon else { return nil }
      fields.hour = twelveHour + (isAfternoon ? 12 : 0)
    }
    fields.day = min(fields.day, RFC3339.daysIn(month: fields.month, year: fields.year))
    guard weekday == nil || weekday == fields.weekday else { return nil }
    return (zone.map { fields.milliseconds(in: $0) } ?? fields.milliseconds, zone)
  }

  /// Reads the formats that HTTP and ISO 8601 have for an instant; nil for any other.
  static func parseInstant(_ text: String) -> (milliseconds: Int, zone: TimeZone?)? {
    let isoPart = text.prefix { $0 != "[" }.uppercased()
    if isoPart.contains(where: { $0 == "T" }), isoPart.hasSuffix("Z") || isoPart.contains(/[+-][0-9:]{5,8}$/),
      let instant = Instant(isoPart)
    {
      let zoneText = isoPart.hasSuffix("Z") ? "Z" : String(isoPart.suffix(6))
      let zone = text.hasSuffix("]") ? String(text.dropFirst(isoPart.count + 1).dropLast()) : zoneText
      guard let zone = TimeZone(java: zone) else { return nil }
      return (instant.seconds * 1000 + instant.nanoseconds / 1_000_000, zone)
    }
    for pattern in [
      "EEE, d MMM yyyy HH:mm:ss z", "d MMM yyyy HH:mm:ss z", "EEEE, dd-MMM-yy HH:mm:ss z", "EEE MMM dd HH:mm:ss yyyy",
      "EEE MMM  d HH:mm:ss yyyy",
    ] {
      if let parsed = (try? JavaDatePattern(pattern, isJavaTime: true))?.parse(text) {
        return (parsed.milliseconds, parsed.zone ?? .gmt)
      }
    }
    return nil
  }
}

extension TimeZone {
  /// A time zone as Java's `ZoneId.of` reads it: `Z`, `+01:00`, `GMT+1`, `Europe/Paris`; nil if there is none.
  init?(java text: String) {
    var rest = text[...]
    for prefix in ["UTC", "GMT", "UT"] where rest.hasPrefix(prefix) {
      rest = rest.dropFirst(prefix.count)
      break
    }
    if rest.isEmpty || text == "Z" {
      guard !text.isEmpty, let zone = TimeZone(identifier: text == "GMT" ? "Etc/GMT" : "Etc/UTC") else { return nil }
      self = zone
    } else if rest.first == "+" || rest.first == "-" {
      let sign = rest.removeFirst() == "-" ? -1 : 1
      let digits = rest.filter { $0 != ":" }
      guard digits.allSatisfy({ $0.isASCII && $0.isNumber }), [1, 2, 4, 6].contains(digits.count),
        let number = Int(digits)
      else { return nil }
      let padded = digits.count < 3 ? number * 10_000 : digits.count == 4 ? number * 100 : number
      let seconds = padded / 10_000 * 3600 + padded / 100 % 100 * 60 + padded % 100
      guard seconds <= 18 * 3600, let zone = TimeZone(secondsFromGMT: sign * seconds) else { return nil }
      self = zone
    } else {
      guard text.contains("/") || text.count == 3, let zone = TimeZone(identifier: text) else { return nil }
      self = zone
    }
  }

  /// The name as Java's `ZoneId` has it.
  var javaIdentifier: String {
    switch identifier {
    case "GMT", "Etc/UTC": "UTC"
    case "Etc/GMT": "GMT"
    default: identifier
    }
  }

  /// The name at an instant, as Java writes it in English: `CEST` or `Central European Summer Time`.
  fileprivate func javaName(_ milliseconds: Int, isLong: Bool) -> String {
    let date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    switch javaIdentifier {
    case "UTC": return isLong ? "Coordinated Universal Time" : "UTC"
    case "GMT": return isLong ? "Greenwich Mean Time" : "GMT"
    case "Europe/Moscow" where !isLong: return "MSK"
    case "Asia/Singapore" where !isLong: return "SGT"
    case "Asia/Hong_Kong" where !isLong: return "HKT"
    case let name where name.hasPrefix("GMT"):
      let offset = secondsFromGMT(for: date)
      let minutes = abs(offset) / 60
      return
        "GMT\(offset < 0 ? "-" : "+")\(String(100 + minutes / 60).dropFirst()):\(String(100 + minutes % 60).dropFirst())"
    default: break
    }
    // Foundation's abbreviations depend on the region; the initials do not.
    let style = isDaylightSavingTime(for: date) ? NSTimeZone.NameStyle.daylightSaving : .standard
    guard let name = localizedName(for: style, locale: Locale(identifier: "en_US")) else { return identifier }
    return isLong
      ? name
      : name.replacing("European Standard", with: "European").split(separator: " ").compactMap(\.first).map(String.init)
        .joined()
  }
}

extension Int {
  fileprivate func flooredDividing(by divisor: Int) -> Int { (self - flooredRemainder(by: divisor)) / divisor }

  fileprivate func flooredRemainder(by divisor: Int) -> Int { (self % divisor + divisor) % divisor }
}
