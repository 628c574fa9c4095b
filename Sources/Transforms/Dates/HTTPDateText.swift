import Cassettes

/// Dates in the formats of HTTP, cookies, mail and feeds: `Mon, 08 Oct 2018 09:00:00 GMT`, `Mon, 08-Oct-2018 09:00:00
/// GMT`, `Monday, 08-Oct-18 09:00:00 GMT` (RFC 850) and `Mon Oct  8 09:00:00 2018` (asctime).
///
/// The text after the seconds, such as the zone, stays. The length of a date in RFC 850 format may change with its
/// weekday.
enum HTTPDateText {
  /// Looks for a date at a letter that may begin a weekday and does not follow another letter.
  ///
  /// `isWhole` means that no more text follows; `keepsLength` means that dates whose length may change are not moved.
  static func look(
    at index: Int, in text: UnsafeBufferPointer<UInt8>, isWhole: Bool, keepsLength: Bool, offset: DateOffset
  ) -> DateLook {
    var reader = DateReader(text, at: index)
    let look = read(&reader, from: index, isWhole: isWhole, keepsLength: keepsLength, offset: offset)
    return reader.isCut && !isWhole && look == .none ? .more : look
  }

  /// Whether the name of a weekday may begin with a byte.
  @inline(__always)
  static func mayBegin(with byte: UInt8) -> Bool {
    byte == UInt8(ascii: "M") || byte == UInt8(ascii: "T") || byte == UInt8(ascii: "W") || byte == UInt8(ascii: "F")
      || byte == UInt8(ascii: "S")
  }

  private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"].map { Array($0.utf8) }
  private static let longDays = ["day", "day", "sday", "nesday", "rsday", "day", "urday"].map { Array($0.utf8) }
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    .map { Array($0.utf8) }

  private static func read(
    _ reader: inout DateReader, from start: Int, isWhole: Bool, keepsLength: Bool, offset: DateOffset
  ) -> DateLook {
    guard let weekday = reader.word(days, length: 3) else { return .none }
    if reader.take(" ") { return asctime(&reader, from: start, isWhole: isWhole, offset: offset) }
    guard !reader.isCut else { return .none }
    if reader.take(",") { return usual(&reader, from: start, isWhole: isWhole, offset: offset) }
    guard !keepsLength, !reader.isCut, reader.word([longDays[weekday]], length: longDays[weekday].count) != nil,
      reader.take(",")
    else { return .none }
    return long(&reader, isWhole: isWhole, offset: offset)
  }

  /// `Mon, 08 Oct 2018 09:00:00`, or with `-` as separator.
  private static func usual(
    _ reader: inout DateReader, from start: Int, isWhole: Bool, offset: DateOffset
  ) -> DateLook {
    guard reader.take(" "), let day = reader.number(2), reader.take(" ", "-"),
      let month = reader.word(months, length: 3), reader.take(" ", "-"), let year = reader.number(4), reader.take(" "),
      let (hour, minute, second) = time(&reader), reader.endsNumber(isWhole: isWhole),
      let moved = CalendarTime(
        year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second
      ).moved(by: offset.seconds)
    else { return .none }
    var result = [UInt8](reader.text[start..<reader.index])
    result.replaceSubrange(0..<3, with: days[moved.weekday])
    result.overwrite(moved.day, digits: 2, at: 5)
    result.replaceSubrange(8..<11, with: months[moved.month - 1])
    result.overwrite(moved.year, digits: 4, at: 12)
    result.overwrite(moved, at: 17)
    return .found(end: reader.index, replacement: result)
  }

  /// `Monday, 08-Oct-18 09:00:00`: two-digit years from 70 to 99 are in the 20th century.
  private static func long(_ reader: inout DateReader, isWhole: Bool, offset: DateOffset) -> DateLook {
    guard reader.take(" "), let day = reader.number(2), reader.take("-"), let month = reader.word(months, length: 3),
      reader.take("-"), let year = reader.number(2), reader.take(" "), let (hour, minute, second) = time(&reader),
      reader.endsNumber(isWhole: isWhole),
      let moved = CalendarTime(
        year: year < 70 ? 2000 + year : 1900 + year, month: month + 1, day: day, hour: hour, minute: minute,
        second: second
      ).moved(by: offset.seconds), 1970..<2070 ~= moved.year
    else { return .none }
    var result = days[moved.weekday] + longDays[moved.weekday] + Array(", 00-".utf8) + months[moved.month - 1]
    let place = result.count - 6
    result += Array("-00 00:00:00".utf8)
    result.overwrite(moved.day, digits: 2, at: place)
    result.overwrite(moved.year % 100, digits: 2, at: place + 7)
    result.overwrite(moved, at: place + 10)
    return .found(end: reader.index, replacement: result)
  }

  /// `Mon Oct  8 09:00:00 2018`: a one-digit day is preceded by a space.
  private static func asctime(
    _ reader: inout DateReader, from start: Int, isWhole: Bool, offset: DateOffset
  ) -> DateLook {
    guard let month = reader.word(months, length: 3), reader.take(" ") else { return .none }
    let hasSpace = reader.take(" ")
    guard !reader.isCut, let day = reader.number(hasSpace ? 1 : 2), reader.take(" "),
      let (hour, minute, second) = time(&reader), reader.take(" "), let year = reader.number(4),
      reader.endsNumber(isWhole: isWhole),
      let moved = CalendarTime(
        year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second
      ).moved(by: offset.seconds)
    else { return .none }
    var result = [UInt8](reader.text[start..<reader.index])
    result.replaceSubrange(0..<3, with: days[moved.weekday])
    result.replaceSubrange(4..<7, with: months[moved.month - 1])
    result.overwrite(moved.day, digits: 2, at: 8)
    if moved.day < 10 { result[8] = UInt8(ascii: " ") }
    result.overwrite(moved, at: 11)
    result.overwrite(moved.year, digits: 4, at: 20)
    return .found(end: reader.index, replacement: result)
  }

  private static func time(_ reader: inout DateReader) -> (Int, Int, Int)? {
    guard let hour = reader.number(2), reader.take(":"), let minute = reader.number(2), reader.take(":"),
      let second = reader.number(2)
    else { return nil }
    return (hour, minute, second)
  }
}

extension [UInt8] {
  /// Overwrites a time of day such as `09:00:00`.
  fileprivate mutating func overwrite(_ time: CalendarTime, at place: Int) {
    for (offset, number) in [time.hour, time.minute, time.second].enumerated() {
      overwrite(number, digits: 2, at: place + 3 * offset)
    }
  }
}
