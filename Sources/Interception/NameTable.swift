import Basics

/// The addresses of the names that programs have asked for. Each name gets one, in the order of the first questions, and
/// keeps it.
///
/// The addresses are those of 198.18.0.0/15, which RFC 2544 reserves for benchmarks, so no server on the internet has one.
package final class NameTable: Sendable {
  private struct State {
    var names: [String] = []
    var numbers: [String: Int] = [:]
    var isFullReported = false
  }

  /// 198.18.0.0.
  private static let base: UInt32 = 198 << 24 | 18 << 16
  /// 198.18.0.0 is no host's address, and the last 256, 198.19.255.0/24, belong to the network itself, such as its
  /// gateway and its name server.
  package static let maximumCount = (1 << 17) - 1 - 256

  private let state = Guarded(State())
  private let capacity: Int

  /// Creates an empty table.
  package init() { capacity = Self.maximumCount }

  /// - Parameter capacity: the maximum number of names.
  init(capacity: Int) { self.capacity = capacity }

  /// Returns the address of a name, and assigns one if it has none.
  ///
  /// - Parameter name: in lower case, without a trailing dot.
  /// - Returns: the IPv4 address in host byte order; nil if the table is full.
  func address(of name: String) -> UInt32? {
    let number = state.withLock { state -> Int? in
      if let number = state.numbers[name] { return number }
      guard state.names.count < capacity else { return nil }
      state.numbers[name] = state.names.count
      state.names.append(name)
      return state.names.count - 1
    }
    return number.map { Self.base + UInt32($0) + 1 }
  }

  /// The name that an address was assigned to; nil if it has none.
  func name(of address: UInt32) -> String? {
    guard address > Self.base, address - Self.base - 1 < Self.maximumCount else { return nil }
    return state.withLock { state in
      let number = Int(address - Self.base - 1)
      return number < state.names.count ? state.names[number] : nil
    }
  }

  /// Returns the name that an address was assigned to.
  ///
  /// - Parameter address: an IPv4 address as text, such as `198.18.0.1`.
  /// - Returns: the name in lower case; nil if the address has none.
  package func name(of address: String) -> String? { IPv4.number(address).flatMap(name(of:)) }

  /// Whether this is the first time that a name found no room.
  func reportsFull() -> Bool {
    state.withLock { state in
      defer { state.isFullReported = true }
      return !state.isFullReported
    }
  }
}

/// IPv4 addresses as text.
enum IPv4 {
  /// - Returns: the address in host byte order; nil if the text is not four decimal numbers.
  static func number(_ text: String) -> UInt32? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var number: UInt32 = 0
    for part in parts {
      guard part.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let byte = UInt8(part) else { return nil }
      number = number << 8 | UInt32(byte)
    }
    return number
  }

  static func text(_ number: UInt32) -> String {
    "\(number >> 24).\(number >> 16 & 255).\(number >> 8 & 255).\(number & 255)"
  }
}
