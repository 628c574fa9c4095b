import LaunchContract

/// `HOST:PORT` of the control API; only this machine can be named, since nobody else is to get in.
package struct ControlAddress: Sendable, Equatable, Codable {
  /// Nil: a free one, which stays the same over restarts.
  package var port: UInt16?

  package init(port: UInt16? = nil) { self.port = port }

  /// - Throws: a ``ConfigurationError`` for another host than this machine, or no port.
  package init(_ text: String) throws(ConfigurationError) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
      throw ConfigurationError("'\(text)' is no HOST:PORT; give one such as 127.0.0.1:4010, or port 0 for a free one")
    }
    guard ["127.0.0.1", "localhost"].contains(text[..<colon].lowercased()) else {
      throw ConfigurationError(
        "'\(text[..<colon])' is not this machine alone; the control API listens on 127.0.0.1 only: give 127.0.0.1:\(port)"
      )
    }
    self.port = port == 0 ? nil : port
  }

  package init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    do throws(ConfigurationError) {
      try self.init(text)
    } catch {
      throw ContractError("control: \(error)")
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode("127.0.0.1:\(port ?? 0)")
  }
}
