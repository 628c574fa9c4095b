package import Foundation

/// A port held for an owner until it is released, the lease expires, or the owner is gone.
package struct PortLease: Hashable, Sendable, Codable {
  package let port: UInt16
  /// Its purpose.
  package let name: String?
  /// The process that owns it. The port is released when the process ends.
  package let owner: PortOwner?
  /// The environment that owns it. The port is released when the environment ends.
  package let environment: String?
  /// The program on another machine that leased it.
  package var client: String?
  package let since: Date
  /// When it expires.
  package let endsAt: Date?
  /// Whether a silent socket holds the port, for a program that binds with `SO_REUSEADDR`.
  package let holds: Bool

  package init(
    port: UInt16, name: String? = nil, owner: PortOwner? = nil, environment: String? = nil, since: Date,
    endsAt: Date? = nil, holds: Bool = true
  ) {
    self.port = port
    self.name = name
    self.owner = owner
    self.environment = environment
    self.since = since
    self.endsAt = endsAt
    self.holds = holds
  }

  /// An environment's endpoint: the daemon binds it itself.
  var isEndpoint: Bool { environment != nil && !holds }
}

/// A request for ports.
package struct PortRequest: Sendable {
  package var count: Int
  /// The purpose of each port; at most `count` names.
  package var names: [String]
  /// The process that owns the ports. They are released when it ends.
  package var owner: PortOwner?
  /// How long the lease lasts.
  package var ttl: Duration?
  /// The environment that owns the ports. They are released when it ends.
  package var environment: String?
  /// The program on another machine that asks.
  package var client: String?
  /// Whether a silent socket holds the ports, for a program that binds with `SO_REUSEADDR`.
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

  /// Whether the program that gets the port sets `SO_REUSEADDR`, so a former user's connections in `TIME_WAIT` do not
  /// prevent it from binding.
  var reuses: Bool { holds || environment != nil }

  private static let longestName = 128
  private static let longestTime = Duration.seconds(366 * 86_400)

  /// Validates the request.
  ///
  /// - Parameter most: the maximum number of leases.
  /// - Throws: ``PortError`` of kind `invalid`.
  func check(most: Int) throws(PortError) {
    guard count >= 1 else {
      throw PortError(.invalid, "the number of ports is \(count); request 1 or more")
    }
    guard count <= most else {
      throw PortError(.invalid, "\(count) ports requested, but at most \(most) can be leased; request fewer")
    }
    guard names.count <= count else {
      throw PortError(
        .invalid, "\(names.count) names for \(count) ports; pass at most one name per port, or a larger count")
    }
    var seen = Set<String>()
    for name in names {
      let scalars = name.unicodeScalars
      guard (1...Self.longestName).contains(scalars.count),
        scalars.allSatisfy({ $0.properties.generalCategory != .control })
      else {
        throw PortError(
          .invalid, "a port name is empty, longer than \(Self.longestName) characters, or contains control characters")
      }
      guard seen.insert(name).inserted else {
        throw PortError(.invalid, "two ports are named '\(name)'; use a different name for each")
      }
    }
    if let ttl, ttl <= .zero || ttl > Self.longestTime {
      throw PortError(
        .invalid, "the lease time is \(ttl); use more than 0 and at most 366 days (31622400 seconds)")
    }
  }

  /// Creates the lease of one of the ports.
  func lease(of port: UInt16, index: Int, now: Date) -> PortLease {
    var lease = PortLease(
      port: port, name: index < names.count ? names[index] : nil, owner: owner, environment: environment, since: now,
      endsAt: ttl.map { now.addingTimeInterval($0 / .seconds(1)) }, holds: holds)
    lease.client = client
    return lease
  }
}

/// A port could not be leased or released.
package struct PortError: Error, CustomStringConvertible, Equatable {
  package enum Kind: Sendable, CaseIterable {
    /// No port is free, or the limit of leases is reached.
    case exhausted
    /// The port is not leased.
    case notLeased
    /// The request is invalid.
    case invalid
    /// The change could not be stored, and was not made.
    case notRecorded
    /// The system refuses sockets, because too many are open.
    case system
  }

  package let kind: Kind
  /// What happened, where, and what to do next, in one line.
  package let message: String

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  package var description: String { message }
}

/// A change for a pool to store, so it survives a restart.
package enum PortChange: Sendable, Equatable {
  case leased([PortLease])
  case released([UInt16])
}
