import LaunchContract

/// `LOW-HIGH`: the ports of a pool.
package struct PortRange: Sendable, Equatable, Codable {
  package let lowest: UInt16
  package let highest: UInt16

  /// Below what Linux hands out for outgoing connections (`ip_local_port_range`).
  package init() {
    lowest = 20_000
    highest = 32_767
  }

  /// - Throws: a ``ConfigurationError`` for anything else than two ports from 1024 up, the lower one first.
  package init(_ text: String) throws(ConfigurationError) {
    let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { UInt16($0) }
    guard ends.count == 2, let low = ends[0], let high = ends[1], low >= 1024, low <= high else {
      throw ConfigurationError("'\(text)' is no LOW-HIGH of ports from 1024 to 65535; give one such as 20000-32767")
    }
    lowest = low
    highest = high
  }

  package var range: ClosedRange<UInt16> { lowest...highest }

  package init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    do throws(ConfigurationError) {
      try self.init(text)
    } catch {
      throw ContractError("ports: \(error)")
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode("\(lowest)-\(highest)")
  }
}
