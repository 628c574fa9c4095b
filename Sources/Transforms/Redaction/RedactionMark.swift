/// The replacement for a secret: `<redacted>`, or `<redacted:SERVICE/ACCOUNT>` for a credential, so that different
/// credentials stay different when requests are matched.
///
/// A mark never depends on the secret itself: even a hash would reveal a weak secret.
package struct RedactionMark: Sendable, Equatable {
  /// How to write a mark in its context.
  package enum Spelling: Sendable {
    /// Literally, in header fields, JSON strings, plain text and binary data.
    case plain
    /// Percent-encoded, in URLs and forms.
    case percent
    /// With entities, in XML and HTML.
    case markup
    /// As asterisks of the secret's length, in formats that contain lengths, such as Protocol Buffers.
    case filled
  }

  /// The mark for a secret that a rule found.
  static let plain = RedactionMark(nil)

  /// The plain spelling.
  let text: String
  private let percent: String
  private let markup: String

  /// - Parameter name: the name of the credential. Characters other than letters, digits, `.`, `_`, `-` and `/` become
  ///   `_`.
  init(_ name: String?) {
    let name = name.map { name in
      String(name.prefix(200).map { $0.isASCII && ($0.isLetter || $0.isNumber) || "._-/".contains($0) ? $0 : "_" })
    }
    let words = "redacted" + (name.map { ":\($0)" } ?? "")
    text = "<\(words)>"
    percent = "%3C\(words.replacing(":", with: "%3A").replacing("/", with: "%2F"))%3E"
    markup = "&lt;\(words)&gt;"
  }

  /// Whether a text is a mark in its plain or percent-encoded spelling, such as a credential's.
  static func isMark(_ text: some BidirectionalCollection<UInt8>) -> Bool {
    text.starts(with: "<redacted".utf8) && text.last == UInt8(ascii: ">")
      || text.starts(with: "%3Credacted".utf8) && text.suffix(3).elementsEqual("%3E".utf8)
  }

  /// - Parameters:
  ///   - spelling: how to write the mark.
  ///   - length: the length in bytes of the secret.
  /// - Returns: the text that replaces the secret.
  func spelled(_ spelling: Spelling, length: Int) -> String {
    switch spelling {
    case .plain: text
    case .percent: percent
    case .markup: markup
    case .filled: String(repeating: "*", count: length)
    }
  }
}
