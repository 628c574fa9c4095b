import Foundation

/// How a secret looks where it has been written in base64, alone or in the middle of something.
enum Base64Forms {
  /// Below so many characters the middle of something could be anything.
  private static let shortest = 6

  /// All forms, in the alphabets of RFC 4648, 4 and 5.
  static func all(of secret: [UInt8]) -> [[UInt8]] {
    let whole = Data(secret).base64EncodedString()
    let bare = String(whole.prefix { $0 != "=" })
    // What stands before it moves it by one or two bytes; the characters at its ends that it shares are not its own.
    let cores = (0...2).map { offset -> String in
      let text = Data([UInt8](repeating: 0, count: offset) + secret).base64EncodedString()
      let characters = (offset + secret.count) * 8 / 6
      return String(text.prefix(characters).dropFirst(offset == 0 ? 0 : offset + 1))
    }
    let forms = [whole, bare] + cores
    let all = Set(
      forms + forms.map { $0.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_") })
    return all.filter { $0.utf8.count >= shortest }.map { Array($0.utf8) }
  }
}
