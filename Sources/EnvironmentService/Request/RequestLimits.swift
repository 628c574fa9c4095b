import Basics
import LaunchContract

/// How much a program may ask for at once.
enum RequestLimits {
  /// Bytes of a name.
  static let name = 200
  /// Bytes of a path, a URL, a command.
  static let text = 4096
  /// Upstreams, each of which has a port of its own.
  static let upstreams = 64
  /// Ports for the app to bind.
  static let ports = 64
  /// Toggles, defaults and values, each.
  static let values = 10_000
  /// Credentials.
  static let credentials = 1000
  /// Bytes of a secret.
  static let secret = 64 << 10
  /// Seconds that an environment lives: thirty days.
  static let lifetime = 0.1...2_592_000.0

  /// - Throws: a ``CodedError`` of kind `usage` for a text that is empty, too long or has control characters.
  static func check(
    _ text: String, _ member: String, limit: Int = name, mayBeEmpty: Bool = false
  ) throws(CodedError) {
    guard mayBeEmpty || !text.isEmpty else { throw usage(member, "it is empty") }
    guard text.utf8.count <= limit else { throw usage(member, "it has \(text.utf8.count) bytes, more than \(limit)") }
    guard !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
      throw usage(member, "it has control characters")
    }
  }

  /// - Throws: a ``CodedError`` of kind `usage` where there are too many.
  static func check(count: Int, _ member: String, limit: Int) throws(CodedError) {
    guard count <= limit else { throw usage(member, "there are \(count), more than \(limit)") }
  }

  /// A word out of a list.
  ///
  /// - Throws: a ``CodedError`` of kind `usage` that names the list.
  static func word<Word: RawRepresentable & CaseIterable>(
    _ text: String, _ member: String, _ type: Word.Type
  ) throws(CodedError) -> Word where Word.RawValue == String {
    guard let word = Word(rawValue: text) else {
      let words = Word.allCases.map(\.rawValue)
      let nearest = EditDistance.nearest(to: String(text.prefix(60)), among: words).first ?? ""
      throw usage(
        member, "'\(text.prefix(60))' is none; did you mean '\(nearest)'? There are \(words.joined(separator: ", "))")
    }
    return word
  }

  static func usage(_ member: String, _ problem: String) -> CodedError {
    CodedError(.usage, "\(member): \(problem)")
  }
}
