import Basics

/// The Base64 encodings of a secret, on its own or within something longer.
enum Base64Forms {
  /// Shorter encodings would match too much.
  private static let shortest = 6

  /// All encodings, in the alphabets of RFC 4648, sections 4 and 5.
  static func all(of secret: [UInt8]) -> [[UInt8]] {
    var all: [[UInt8]] = []
    for alphabet in [Base64.Alphabet.standard, .url] {
      func digits(_ bytes: [UInt8]) -> [UInt8] {
        Base64.encode(bytes, alphabet).utf8.filter { $0 != UInt8(ascii: "=") }
      }
      let bare = digits(secret)
      let padding = [UInt8](repeating: UInt8(ascii: "="), count: (4 - bare.count % 4) % 4)
      // Preceding bytes can shift the secret by one or two bytes. Characters at its ends that encode other bytes too
      // are left out.
      let cores = (0...2).map { offset in
        let shifted = digits([UInt8](repeating: 0, count: offset) + secret)
        return Array(shifted[..<((offset + secret.count) * 8 / 6)].dropFirst(offset == 0 ? 0 : offset + 1))
      }
      for form in [bare + padding, bare] + cores where form.count >= shortest && !all.contains(form) {
        all.append(form)
      }
    }
    return all
  }
}
