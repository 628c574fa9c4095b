import HTTPMessages
import LaunchContract

extension HAR {
  /// `request.cookies`: the pairs of all `Cookie` fields (RFC 6265, 4.2).
  static func requestCookies(_ headers: Headers) -> JSON {
    .array(
      headers.all("Cookie").flatMap { $0.utf8.split(separator: UInt8(ascii: ";")) }.map { part in
        let (name, value) = nameAndValue(part)
        return .object([.init("name", .string(name)), .init("value", .string(value ?? ""))])
      })
  }

  /// `response.cookies`: one for each `Set-Cookie` field (RFC 6265, 4.1).
  ///
  /// HAR has no member for `Max-Age` and `SameSite`; the header itself keeps them.
  static func responseCookies(_ headers: Headers) -> JSON {
    .array(
      headers.all("Set-Cookie").map { field in
        let parts = field.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        let (name, value) = nameAndValue(parts[0])
        var members: [JSON.Member] = [.init("name", .string(name)), .init("value", .string(value ?? ""))]
        for part in parts.dropFirst() {
          let (attribute, value) = nameAndValue(part)
          switch attribute.lowercased() {
          case "path": members.append(.init("path", .string(value ?? "")))
          case "domain": members.append(.init("domain", .string(value ?? "")))
          case "expires":
            if let date = value.flatMap(cookieDate) { members.append(.init("expires", .string(date))) }
          case "httponly": members.append(.init("httpOnly", .bool(true)))
          case "secure": members.append(.init("secure", .bool(true)))
          default: break
          }
        }
        return .object(
          members.reduce(into: []) { kept, member in
            // A repeated attribute's last value counts (RFC 6265, 5.2 and 5.3); a JSON name stands once.
            if let index = kept.firstIndex(where: { $0.key == member.key }) {
              kept[index] = member
            } else {
              kept.append(member)
            }
          })
      })
  }

  private static func nameAndValue(_ part: Substring.UTF8View) -> (String, String?) {
    guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { return (trimmed(part), nil) }
    return (trimmed(part[..<equals]), trimmed(part[equals...].dropFirst()))
  }

  private static func trimmed(_ part: Substring.UTF8View) -> String {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
    var part = part.drop(while: isBlank)
    while let last = part.last, isBlank(last) { part.removeLast() }
    return String(Substring(part))
  }

  /// An `Expires` date in any form that browsers read (RFC 6265, 5.1.1), as RFC 3339 in UTC.
  package static func cookieDate(_ text: String) -> String? {
    let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    var time: [Int]?
    var day: Int?
    var month: Int?
    var year: Int?
    let isWord = { (character: Character) in character.isLetter || character.isNumber || character == ":" }
    for token in text.lowercased().split(whereSeparator: { !isWord($0) }) {
      let numbers = token.split(separator: ":", omittingEmptySubsequences: false).compactMap { Int($0) }
      if time == nil, numbers.count == 3 {
        time = numbers
      } else if day == nil, let number = Int(token), token.utf8.count <= 2 {
        day = number
      } else if month == nil, let index = months.firstIndex(of: String(token.prefix(3))) {
        month = index + 1
      } else if year == nil, let number = Int(token) {
        year = number < 70 ? number + 2000 : number < 100 ? number + 1900 : number
      }
    }
    guard let time, let day, let month, let year, 1...31 ~= day, 1601...9999 ~= year, 0...23 ~= time[0],
      0...59 ~= time[1], 0...59 ~= time[2]
    else { return nil }
    let days = Timestamp.days(year: year, month: month, day: day)
    return Timestamp.text(seconds: days * 86_400 + time[0] * 3600 + time[1] * 60 + time[2])
  }
}
