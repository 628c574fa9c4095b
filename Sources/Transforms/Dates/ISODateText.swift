import Cassettes

/// Dates with times in the formats of ISO 8601 and RFC 3339, in any text: `2018-10-08T09:00:00Z`, `2018-10-08
/// 10:00:00.25+01:00`, `2018-10-08T09:00Z`, `20181008T090000Z`, and in URLs `2018-10-08T09%3A00%3A00Z`.
///
/// Only the digits from year to second are overwritten, in the date's own zone. Fraction, zone, separators and length
/// stay.
enum ISODateText {
  /// Looks for a date at a digit that does not follow another digit. `isWhole` means that no more text follows.
  static func look(
    at index: Int, in text: UnsafeBufferPointer<UInt8>, isWhole: Bool, offset: DateOffset
  ) -> DateLook {
    var reader = DateReader(text, at: index)
    let look = extended(&reader, from: index, isWhole: isWhole, offset: offset)
    return reader.isCut && !isWhole && look == .none ? .more : look
  }

  /// Moves a date without a time that is the whole text: `2018-10-08`.
  static func movedDay(_ text: [UInt8], offset: DateOffset) -> [UInt8]? {
    text.withUnsafeBufferPointer { text in
      var reader = DateReader(text, at: 0)
      guard let year = reader.number(4), reader.take("-"), let month = reader.number(2), reader.take("-"),
        let day = reader.number(2), reader.index == text.count,
        let moved = CalendarTime(year: year, month: month, day: day).moved(by: offset.days * 86_400)
      else { return nil }
      var result = [UInt8](text)
      result.overwrite(moved.year, digits: 4, at: 0)
      result.overwrite(moved.month, digits: 2, at: 5)
      result.overwrite(moved.day, digits: 2, at: 8)
      return result
    }
  }

  private static func extended(
    _ reader: inout DateReader, from start: Int, isWhole: Bool, offset: DateOffset
  ) -> DateLook {
    guard let year = reader.number(4) else { return .none }
    guard reader.take("-") else {
      return reader.isCut ? .none : basic(&reader, year: year, from: start, offset: offset)
    }
    guard let month = reader.number(2), reader.take("-"), let day = reader.number(2) else { return .none }
    // In a query, a space is written as `+` or `%20`.
    guard reader.take("T", "t") || reader.take("+") || reader.take(" ", orEscaped: ("2", "0")) else { return .none }
    var places = [reader.index]
    guard let hour = reader.number(2), reader.take(":", orEscaped: ("3", "A")) else { return .none }
    places.append(reader.index)
    guard let minute = reader.number(2) else { return .none }
    let minuteEnd = reader.index
    var second: Int?
    if reader.take(":", orEscaped: ("3", "A")) {
      places.append(reader.index)
      second = reader.number(2)
      guard second != nil else { return .none }
    } else if reader.isCut, !isWhole {
      return .none
    } else {
      reader.index = minuteEnd
    }
    let end = reader.index
    guard reader.endsNumber(isWhole: isWhole) else { return .none }
    // Without seconds, only an offset in whole minutes can be undone exactly.
    let seconds = second == nil ? Int((Double(offset.seconds) / 60).rounded()) * 60 : offset.seconds
    let time = CalendarTime(year: year, month: month, day: day, hour: hour, minute: minute, second: second ?? 0)
    guard let moved = time.moved(by: seconds) else { return .none }
    var result = [UInt8](reader.text[start..<end])
    result.overwrite(moved.year, digits: 4, at: 0)
    result.overwrite(moved.month, digits: 2, at: 5)
    result.overwrite(moved.day, digits: 2, at: 8)
    for (place, number) in zip(places, [moved.hour, moved.minute, moved.second]) {
      result.overwrite(number, digits: 2, at: place - start)
    }
    return .found(end: end, replacement: result)
  }

  /// `20181008T090000Z`, only in UTC: other digits around a T may have any meaning.
  private static func basic(
    _ reader: inout DateReader, year: Int, from start: Int, offset: DateOffset
  ) -> DateLook {
    guard let month = reader.number(2), let day = reader.number(2), reader.take("T"), let hour = reader.number(2),
      let minute = reader.number(2), let second = reader.number(2), reader.take("Z")
    else { return .none }
    let time = CalendarTime(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    guard let moved = time.moved(by: offset.seconds) else { return .none }
    var result = [UInt8](reader.text[start..<reader.index])
    result.overwrite(moved.year, digits: 4, at: 0)
    result.overwrite(moved.month, digits: 2, at: 4)
    result.overwrite(moved.day, digits: 2, at: 6)
    for (place, number) in zip([9, 11, 13], [moved.hour, moved.minute, moved.second]) {
      result.overwrite(number, digits: 2, at: place)
    }
    return .found(end: reader.index, replacement: result)
  }
}
