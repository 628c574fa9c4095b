/// Recognizes names that are data and not part of a format: ids and dates as object keys or path segments.
package enum ChangingName {
  /// Whether a name looks like an id: digits, a UUID, a long hexadecimal or mixed token, a date, or an email address.
  package static func matches(_ name: some StringProtocol) -> Bool {
    let bytes = Array(name.utf8)
    guard bytes.count <= 200 else { return true }
    var digits = 0
    var hexadecimal = 0
    var letters = 0
    var at: Int?
    for (index, byte) in bytes.enumerated() {
      switch byte {
      case 0x30...0x39: digits += 1
      case 0x41...0x46, 0x61...0x66: hexadecimal += 1
      case 0x47...0x5A, 0x67...0x7A: letters += 1
      case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: ":"): break
      case UInt8(ascii: "@"): at = index
      default: return false
      }
    }
    if let at { return at > 0 && bytes[at...].contains(UInt8(ascii: ".")) }
    guard digits > 0 else { return false }
    // Numbers and dates contain no letters except the T and Z of a time.
    if hexadecimal == 0, letters <= 2 { return isNumberOrDate(bytes) }
    if letters == 0 { return digits + hexadecimal >= 8 }
    return bytes.count >= 16 && digits >= 3
  }

  /// Replaces each path segment that looks like an id with `{}`. The result is equal for all resources of a kind.
  package static func template(ofPath path: some StringProtocol) -> String {
    path.split(separator: "/", omittingEmptySubsequences: false)
      .map { matches($0) ? "{}" : String($0) }.joined(separator: "/")
  }

  /// Matches `12`, `-3`, `2018-10-08`, `2018-10-08T09:00:00Z`, but not `v1` or `1.2.x`.
  private static func isNumberOrDate(_ bytes: [UInt8]) -> Bool {
    var isDigitBefore = false
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "T"), UInt8(ascii: "Z"):
        guard isDigitBefore else { return false }
      case 0x41...0x5A, 0x61...0x7A: return false
      default: break
      }
      isDigitBefore = 0x30...0x39 ~= byte
    }
    return true
  }
}
