extension StringProtocol {
  /// Without the blanks and tabulators around it, as a list in a header field allows them (RFC 9110, 5.6.1).
  var trimmingBlanks: String {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    var rest = self[startIndex...].drop(while: isBlank)
    while let last = rest.last, isBlank(last) { rest.removeLast() }
    return String(rest)
  }
}
