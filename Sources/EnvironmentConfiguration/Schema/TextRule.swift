import Foundation
import LaunchContract

/// What a text has to look like, and how long it may be.
package struct TextRule: Sendable {
  /// The kinds of text that the control API has.
  package enum Form: Sendable, Equatable {
    /// Anything.
    case any
    /// One of these.
    case word([String])
    /// No control characters, so that it stays one line wherever it is shown.
    case line
    /// An instant of RFC 3339.
    case instant
    /// Bytes in base64, with padding.
    case base64
    /// A path, from the caller's folder where it is relative.
    case path
    /// A path from the root, without `..`, that stays on one line.
    case absolutePath
    /// `http://` or `https://` and a host, perhaps a port.
    case origin
    /// An environment's id.
    case identifier
  }

  package let form: Form
  /// In Unicode scalars, as JSON Schema counts.
  package let count: ClosedRange<Int>

  package init(_ form: Form, count: ClosedRange<Int>) {
    self.form = form
    self.count = count
  }

  /// What is wrong with a text, without showing it: it may be a secret.
  package func problem(with text: String) -> String? {
    if case .word(let words) = form {
      guard !words.contains(text) else { return nil }
      let name = String(text.prefix(60))
      return "'\(name)' is not valid; "
        + (EditDistance.likely(name, among: words).map { "did you mean '\($0)'? Choose" } ?? "choose")
        + " from \(words.joined(separator: ", "))"
    }
    let length = text.unicodeScalars.count
    guard count ~= length else {
      return length < count.lowerBound
        ? (length == 0 ? "it is empty" : "it has \(length) characters, and \(count.lowerBound) are the fewest")
        : "it has \(length) characters, and \(count.upperBound) are the most"
    }
    guard !fits(text) else { return nil }
    // Other texts may be secrets.
    return (form == .instant ? "'\(text)'" : "it") + " is not \(name)"
  }

  private func fits(_ text: String) -> Bool {
    let bytes = text.utf8
    return switch form {
    case .any: true
    case .word(let words): words.contains(text)
    case .line, .path: !Self.hasControl(text)
    case .instant: RFC3339.parse(text) != nil
    case .base64: Self.isBase64(bytes)
    case .absolutePath:
      text.isAbsolutePath && !Self.hasControl(text) && !text.leadsUp
    case .origin: Self.isOrigin(text)
    case .identifier: bytes.allSatisfy(Self.isOfIdentifier)
    }
  }

  /// As in a sentence: `it is not an absolute path`.
  private var name: String {
    switch form {
    case .any: "a text"
    case .word: "one of the words"
    case .line, .path: "a text without control characters"
    case .instant: "an instant such as 2018-10-08T09:00:00Z"
    case .base64: "base64 with its padding"
    case .absolutePath: "an absolute path without '..', such as /home/me/Cassettes/booking"
    case .origin: "an origin such as https://api.example.com"
    case .identifier: "an id: letters, digits, '.', '_' and '-'"
    }
  }

  private static func isOfIdentifier(_ byte: UInt8) -> Bool { Acknowledgement.isNameByte(byte) }

  /// Whether it has a character of the general category Cc.
  private static func hasControl(_ text: String) -> Bool {
    text.unicodeScalars.contains { $0.value < 0x20 || 0x7F...0x9F ~= $0.value }
  }

  private static func isBase64(_ bytes: String.UTF8View) -> Bool {
    guard bytes.count % 4 == 0 else { return false }
    let padding = bytes.suffix(2).count { $0 == UInt8(ascii: "=") }
    return bytes.dropLast(padding).allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "+"), UInt8(ascii: "/"): true
      default: false
      }
    } && (padding < 2 || bytes.last == UInt8(ascii: "="))
  }

  private static func isOrigin(_ text: String) -> Bool {
    guard let mark = text.range(of: "://"), ["http", "https"].contains(text[..<mark.lowerBound].lowercased()) else {
      return false
    }
    // What follows is taken apart where it is used; here it only has to be something, on one line.
    let rest = text[mark.upperBound...].utf8
    return !rest.isEmpty && rest.allSatisfy { $0 > 0x20 && $0 < 0x7F }
  }
}

// As the system reads a path, which is by bytes: to a `Character` a slash before an accent is another slash.
extension String {
  /// What stands between slashes.
  package var pathSegments: [Substring] { utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) } }

  /// Whether it begins at the root.
  package var isAbsolutePath: Bool { utf8.first == UInt8(ascii: "/") }

  /// Whether a part of it leads up.
  package var leadsUp: Bool { pathSegments.contains("..") }
}
