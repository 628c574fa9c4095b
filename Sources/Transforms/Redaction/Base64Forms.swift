/// The Base64 encodings of a secret, on its own or within something longer.
enum Base64Forms {
  /// Shorter encodings would match too much.
  private static let shortest = 6
  private static let standard = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let forURLs = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// All encodings, in the alphabets of RFC 4648, sections 4 and 5.
  static func all(of secret: [UInt8]) -> [[UInt8]] {
    var all: [[UInt8]] = []
    for alphabet in [standard, forURLs] {
      let bare = digits(of: secret, in: alphabet)
      let padding = [UInt8](repeating: UInt8(ascii: "="), count: (4 - bare.count % 4) % 4)
      // Preceding bytes can shift the secret by one or two bytes. Characters at its ends that encode other bytes too
      // are left out.
      let cores = (0...2).map { offset in
        let digits = digits(of: [UInt8](repeating: 0, count: offset) + secret, in: alphabet)
        return Array(digits[..<((offset + secret.count) * 8 / 6)].dropFirst(offset == 0 ? 0 : offset + 1))
      }
      for form in [bare + padding, bare] + cores where form.count >= shortest && !all.contains(form) {
        all.append(form)
      }
    }
    return all
  }

  /// The encoding without padding.
  private static func digits(of bytes: [UInt8], in alphabet: [UInt8]) -> [UInt8] {
    var digits: [UInt8] = []
    digits.reserveCapacity((bytes.count + 2) / 3 * 4)
    var bits: UInt32 = 0
    var count = 0
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      count += 8
      while count >= 6 {
        count -= 6
        digits.append(alphabet[Int(bits >> UInt32(count) & 63)])
      }
    }
    if count > 0 { digits.append(alphabet[Int(bits << UInt32(6 - count) & 63)]) }
    return digits
  }
}
