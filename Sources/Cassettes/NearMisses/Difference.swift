import LaunchContract

/// One point in which a request is not the recorded one.
package struct Difference: Sendable, Equatable, CustomStringConvertible {
  /// What part of the request it is about.
  package enum Kind: String, Sendable {
    case method, upstream, path, query, header, body
    /// Other rules fit the recorded request.
    case rules
    /// It is not its turn: ``location`` says why.
    case order
    /// There is none: the request is recorded, but every recording of it has been played.
    case exhausted
  }

  package let kind: Kind
  /// Where it lies, such as ``query item `page` `` or `body $.user.name`.
  ///
  /// Segments of a path and repeats of a name count from 1, bytes and elements of an array from 0.
  package let location: String
  /// What the recording has there; nil where it has nothing.
  package let recorded: String?
  /// What the request has there; nil where it has nothing.
  package let actual: String?

  /// Both values are kept up to ``Preview/longest`` characters.
  init(_ kind: Kind, _ location: String, recorded: String?, actual: String?) {
    self.kind = kind
    self.location = location
    self.recorded = recorded.map { Preview.shortened($0, to: Preview.longest) }
    self.actual = actual.map { Preview.shortened($0, to: Preview.longest) }
  }

  /// The request is recorded, and used up.
  static let exhausted = Difference(.exhausted, "request", recorded: nil, actual: nil)

  /// The request is recorded, but it is not its turn.
  static func order(_ reason: String) -> Difference { Difference(.order, reason, recorded: nil, actual: nil) }

  /// One line as a person would say it, such as ``query item `page`: recorded `1`, got `2` ``.
  package var description: String {
    switch (recorded, actual) {
    case (let recorded?, let actual?): "\(location): recorded \(quoted(recorded)), got \(quoted(actual))"
    case (let recorded?, nil): "\(location): recorded \(quoted(recorded)), missing in the request"
    case (nil, let actual?): "\(location): not recorded, got \(quoted(actual))"
    case (nil, nil) where kind == .order: location
    case (nil, nil): "the request is recorded, but every recording of it has been played"
    }
  }

  private func quoted(_ value: String) -> String {
    let text = Preview.shortened(value, to: Preview.usual).escapedForTerminal
    switch kind {
    case .path, .query, .header, .upstream: return "`\(text)`"
    case .body where location.contains("form item"): return "`\(text)`"
    case .method, .body, .rules, .order, .exhausted: return text
    }
  }
}

/// Values as they stand in a sentence.
package enum Preview {
  /// Characters of a value in a description.
  package static let usual = 80
  /// Bytes of a text that fit with their marks.
  package static let excerpt = usual - 4
  /// Characters of a value in a difference.
  package static let longest = 1000

  /// The text, or its beginning and an ellipsis.
  package static func shortened(_ text: String, to count: Int) -> String {
    text.utf8.count > count && text.count > count ? text.prefix(count - 1) + "…" : text
  }

  /// A body in a sentence: its beginning where it is text, else its length.
  package static func body(_ bytes: UnsafeRawBufferPointer) -> String {
    let start = UnsafeRawBufferPointer(rebasing: bytes.prefix(longest * 4))
    let text = String(decoding: start, as: UTF8.self)
    let isText = !text.unicodeScalars.dropLast(1).contains { $0 == "\u{FFFD}" || $0 == "\0" }
    return isText ? "`\(shortened(text, to: usual))`" : Self.bytes(bytes.count)
  }

  /// What stands around a byte, or the whole where that is short; nil where it is no text of which a person makes something.
  package static func text(_ bytes: UnsafeRawBufferPointer, around index: Int) -> String? {
    // Between characters: a continuation byte belongs to the one before.
    func boundary(_ place: Int) -> Int {
      var place = max(0, min(place, bytes.count))
      while place > 0, place < bytes.count, bytes[place] & 0xC0 == 0x80 { place -= 1 }
      return place
    }
    let isShort = bytes.count <= excerpt
    let start = isShort ? 0 : boundary(index - excerpt / 4)
    let end = isShort ? bytes.count : boundary(start + excerpt)
    let window = UnsafeRawBufferPointer(rebasing: bytes[start..<max(start, end)])
    guard let text = String(validating: window, as: UTF8.self),
      !text.unicodeScalars.contains(where: {
        $0.properties.generalCategory == .control && !["\t", "\r", "\n"].contains($0)
      })
    else { return nil }
    return "`\(start > 0 ? "…" : "")\(text)\(end < bytes.count ? "…" : "")`"
  }

  /// How many bytes.
  package static func bytes(_ count: Int) -> String { count == 1 ? "1 byte" : "\(count) bytes" }

  /// `0x61 'a'`, or `0x00` where there is no such character.
  package static func byte(_ byte: UInt8) -> String {
    let hex = "0x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
    return 0x20...0x7E ~= byte ? "\(hex) '\(Character(Unicode.Scalar(byte)))'" : hex
  }
}
