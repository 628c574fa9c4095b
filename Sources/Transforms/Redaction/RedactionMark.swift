/// What stands in a secret's place: `<redacted>`, for a credential `<redacted:SERVICE/ACCOUNT>`, so that two of them stay
/// two when requests are matched.
///
/// It never depends on the secret itself: of a weak one even a hash would tell.
package struct RedactionMark: Sendable, Equatable {
  /// How a mark has to be written where it stands.
  package enum Spelling: Sendable {
    /// As it is: header fields, JSON strings, plain text, what is no text.
    case plain
    /// Percent-encoded: URLs and forms.
    case percent
    /// With entities: XML and HTML.
    case markup
  }

  /// What a rule has found.
  static let plain = RedactionMark(nil)

  /// As it is.
  let text: String
  private let percent: String
  private let markup: String

  /// - Parameter name: of the credential; characters other than letters, digits, `.`, `_`, `-` and `/` become `_`.
  init(_ name: String?) {
    let name = name.map { name in
      String(name.prefix(200).map { $0.isASCII && ($0.isLetter || $0.isNumber) || "._-/".contains($0) ? $0 : "_" })
    }
    let words = "redacted" + (name.map { ":\($0)" } ?? "")
    text = "<\(words)>"
    percent = "%3C\(words.replacing(":", with: "%3A").replacing("/", with: "%2F"))%3E"
    markup = "&lt;\(words)&gt;"
  }

  func spelled(_ spelling: Spelling) -> String {
    switch spelling {
    case .plain: text
    case .percent: percent
    case .markup: markup
    }
  }
}
