extension StringProtocol {
  /// The string without leading and trailing spaces and tabs (RFC 9110, section 5.6.1).
  var trimmingBlanks: String {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    var rest = self[startIndex...].drop(while: isBlank)
    while let last = rest.last, isBlank(last) { rest.removeLast() }
    return String(rest)
  }
}
