/// A string that must not be logged: printing, interpolating or dumping it shows `<secret>`.
package struct Secret: Sendable, Equatable, Codable {
  /// The string itself, to be accessed only where it is used.
  package let revealed: String

  package init(_ text: String) {
    revealed = text
  }

  package init(from decoder: any Decoder) throws {
    revealed = try decoder.singleValueContainer().decode(String.self)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(revealed)
  }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "<secret>" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: [:]) }
}
