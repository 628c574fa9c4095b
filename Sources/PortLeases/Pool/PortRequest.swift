import Foundation

/// What somebody wants ports for.
package struct PortRequest: Sendable {
  package var count: Int
  /// What each is for; at most as many as `count`.
  package var names: [String]
  /// Whose end frees them.
  package var owner: PortOwner?
  /// They come back after so long.
  package var ttl: Duration?
  /// The environment with which they come back.
  package var environment: String?
  /// Whether a silent socket keeps others out, for a program that binds with `SO_REUSEADDR`.
  package var holds: Bool

  package init(
    count: Int = 1, names: [String] = [], owner: PortOwner? = nil, ttl: Duration? = nil, environment: String? = nil,
    holds: Bool = true
  ) {
    self.count = count
    self.names = names
    self.owner = owner
    self.ttl = ttl
    self.environment = environment
    self.holds = holds
  }

  /// Whether the program that gets the port sets `SO_REUSEADDR`, so that connections of a former user that still wait
  /// for their time to pass do not stop it.
  var reuses: Bool { holds || environment != nil }

  private static let longestName = 128
  private static let longestTime = Duration.seconds(366 * 86_400)

  /// Whether it makes sense at all.
  ///
  /// - Parameter most: how many ports there can be.
  /// - Throws: ``PortError`` of kind `invalid`.
  func check(most: Int) throws(PortError) {
    guard count >= 1 else {
      throw PortError(.invalid, "the count of ports is \(count): ask for 1 or more")
    }
    guard count <= most else {
      throw PortError(.invalid, "\(count) ports are asked for, and at most \(most) can be leased: ask for fewer")
    }
    guard names.count <= count else {
      throw PortError(
        .invalid, "there are \(names.count) names for \(count) ports: give at most one name a port, or a larger count")
    }
    var seen = Set<String>()
    for name in names {
      let scalars = name.unicodeScalars
      guard (1...Self.longestName).contains(scalars.count),
        scalars.allSatisfy({ $0.properties.generalCategory != .control })
      else {
        throw PortError(
          .invalid, "a port's name is empty, longer than \(Self.longestName) characters, or has control characters")
      }
      guard seen.insert(name).inserted else {
        throw PortError(.invalid, "two ports are to be called '\(name)': give each its own name")
      }
    }
    if let ttl, ttl <= .zero || ttl > Self.longestTime {
      throw PortError(
        .invalid, "the time of a lease is \(ttl): give more than nothing and at most 366 days (31622400 seconds)")
    }
  }

  /// The lease of one of the ports.
  func lease(of port: UInt16, index: Int, now: Date) -> PortLease {
    PortLease(
      port: port, name: index < names.count ? names[index] : nil, owner: owner, environment: environment, since: now,
      endsAt: ttl.map { now.addingTimeInterval($0 / .seconds(1)) }, holds: holds)
  }
}
