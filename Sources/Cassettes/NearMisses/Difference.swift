package import Basics
import LaunchContract

/// A difference between a request and a recorded one.
package struct Difference: Sendable, Equatable, CustomStringConvertible {
  /// The part of the request that differs.
  package enum Kind: String, Sendable {
    case method, upstream, path, query, header, body
    /// Different rules apply to the recorded request.
    case rules
    /// The request is recorded, but not its turn; ``location`` explains why.
    case order
    /// The requests are equal, but every recording has been played.
    case exhausted
  }

  /// The part of a request that a rule can ignore.
  package enum Place: Sendable, Equatable {
    /// A segment of the path, from 1.
    case segment(Int)
    case query(String), header(String)
    /// A form item, or a part of a multipart body.
    case form(String)
    case json([JSONPath.Child])
    /// Within a body that is not compared by its parts.
    case text

    /// The name that says what the value means; empty if there is none.
    package var name: String {
      switch self {
      case .query(let name), .header(let name), .form(let name): name
      case .json(let steps):
        steps.lazy.reversed().compactMap { step in if case .name(let name) = step { name } else { nil } }.first ?? ""
      case .segment, .text: ""
      }
    }
  }

  package let kind: Kind
  /// The location, such as ``query item `page` `` or `body $.user.name`.
  ///
  /// Path segments and repeats of a name count from 1, bytes and array elements from 0.
  package let location: String
  /// The recorded value; nil if missing.
  package let recorded: String?
  /// The value in the request; nil if missing.
  package let actual: String?
  /// Nil if no rule can ignore it.
  package let place: Place?
  /// Both values without quotes; nil unless there are two.
  package let values: Values?

  package struct Values: Sendable, Equatable {
    package let recorded: String
    package let actual: String
  }

  /// Truncates all values to ``Preview/longest`` characters.
  ///
  /// - Parameters:
  ///   - kind: the part of the request.
  ///   - location: the location in descriptions.
  ///   - recorded: the recorded value; nil if missing.
  ///   - actual: the value in the request; nil if missing.
  ///   - place: what a rule can ignore.
  ///   - plain: both values without quotes; nil if they have none.
  init(
    _ kind: Kind, _ location: String, recorded: String?, actual: String?, place: Place? = nil,
    plain: (recorded: String, actual: String)? = nil
  ) {
    self.kind = kind
    self.location = location
    self.recorded = recorded.map { Preview.shortened($0, to: Preview.longest) }
    self.actual = actual.map { Preview.shortened($0, to: Preview.longest) }
    self.place = place
    if let plain {
      values = Values(
        recorded: Preview.shortened(plain.recorded, to: Preview.longest),
        actual: Preview.shortened(plain.actual, to: Preview.longest))
    } else if let recorded = self.recorded, let actual = self.actual {
      values = Values(recorded: recorded, actual: actual)
    } else {
      values = nil
    }
  }

  /// The difference with another place and values.
  func located(at place: Place?, _ values: (recorded: String, actual: String)) -> Difference {
    Difference(kind, location, recorded: recorded, actual: actual, place: place, plain: values)
  }

  /// The request is recorded, but every recording has been played.
  static let exhausted = Difference(.exhausted, "request", recorded: nil, actual: nil)

  /// The request is recorded, but not its turn.
  static func order(_ reason: String) -> Difference { Difference(.order, reason, recorded: nil, actual: nil) }

  /// One line such as ``query item `page`: recorded `1`, got `2` ``.
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

/// Formats values for descriptions.
package enum Preview {
  /// The maximum number of characters of a value in a description.
  package static let usual = 80
  /// The maximum number of bytes of an excerpt, without its ellipses and quotes.
  package static let excerpt = usual - 4
  /// The maximum number of characters of a value in a ``Difference``.
  package static let longest = 1000

  /// The text, or its beginning and an ellipsis.
  package static func shortened(_ text: String, to count: Int) -> String {
    text.utf8.count > count && text.count > count ? text.prefix(count - 1) + "…" : text
  }

  /// A body's beginning if it is text, otherwise its length.
  package static func body(_ bytes: UnsafeRawBufferPointer) -> String {
    let start = UnsafeRawBufferPointer(rebasing: bytes.prefix(longest * 4))
    let text = String(decoding: start, as: UTF8.self)
    let isText = !text.unicodeScalars.dropLast(1).contains { $0 == "\u{FFFD}" || $0 == "\0" }
    return isText ? "`\(shortened(text, to: usual))`" : Self.bytes(bytes.count)
  }

  /// An excerpt around a byte, or the whole text if it is short; nil if it is not readable text.
  package static func text(_ bytes: UnsafeRawBufferPointer, around index: Int) -> String? {
    // Never split a character: continuation bytes belong to the one before.
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

  /// A number of bytes with its unit.
  package static func bytes(_ count: Int) -> String { count == 1 ? "1 byte" : "\(count) bytes" }

  /// `0x61 'a'`, or `0x00` for a byte that is not printable ASCII.
  package static func byte(_ byte: UInt8) -> String {
    let hex = "0x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
    return 0x20...0x7E ~= byte ? "\(hex) '\(Character(Unicode.Scalar(byte)))'" : hex
  }
}
